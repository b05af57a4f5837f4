/** Calls the registered callback at every SIGHUP. A signal before the registration is not lost and does not end the process. */
export function reloadSignal(): (reload: () => void) => void {
  let isWanted = false;
  let act: (() => void) | undefined;
  process.on('SIGHUP', () => {
    isWanted = true;
    act?.();
  });
  return (reload) => {
    act = reload;
    if (isWanted) reload();
  };
}
