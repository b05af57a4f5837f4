/**
 * Returns a controller that also aborts when a signal aborts. Node never frees the result of `AbortSignal.any` while something listens
 * to it, nor later listeners of a signal that ends the listening to another one, so neither is used.
 */
export function linkedController(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (signal.aborted) {
    abort();
    return controller;
  }
  signal.addEventListener('abort', abort, { once: true });
  const unlink = () => signal.removeEventListener('abort', abort);
  controller.signal.addEventListener('abort', unlink, { once: true });
  return controller;
}
