/** Returns a controller that also aborts when a signal aborts. */
export function linkedController(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener('abort', () => controller.abort(), { signal: controller.signal });
  return controller;
}
