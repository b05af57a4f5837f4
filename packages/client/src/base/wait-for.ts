import type { Clock } from './clock.ts';

export const timedOut = Symbol('timed out');

export interface WaitOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly ms?: number;
}

/**
 * Resolves with the value, or with `timedOut` after `ms`. Rejects with the signal's reason immediately when the signal aborts. A later
 * result of the promise is ignored.
 */
export async function waitFor<Value>(
  promise: Promise<Value>,
  options: Omit<WaitOptions, 'ms'>,
): Promise<Value>;
export async function waitFor<Value>(
  promise: Promise<Value>,
  options: WaitOptions,
): Promise<Value | typeof timedOut>;
export async function waitFor<Value>(
  promise: Promise<Value>,
  { clock, signal, ms }: WaitOptions,
): Promise<Value | typeof timedOut> {
  promise.catch(() => undefined);
  signal.throwIfAborted();
  const ended = new AbortController();
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  const late = (): typeof timedOut => timedOut;
  const timer = ms === undefined ? [] : [clock.sleep(ms, ended.signal).then(late)];
  try {
    return await Promise.race([promise, aborted, ...timer]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    ended.abort();
  }
}
