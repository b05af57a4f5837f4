/**
 * Whether the service can be reached and whether it accepts the key. Every request goes through `watchedFetch`, so a
 * lost connection and a refused key are noticed by whichever request comes first.
 */
import { signal } from '@preact/signals';
import { clock } from '../base/clock.ts';

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'online' }
  /** No answer. */
  | { readonly kind: 'lost'; readonly sinceMs: number }
  /** It answers that it is starting, stopping or overloaded. */
  | { readonly kind: 'unavailable'; readonly sinceMs: number };

/** `missing` and `wrong` are what the service said about the last request. */
export type KeyState = 'accepted' | 'missing' | 'wrong';

const storageName = 'sluice-key';

export const connection = signal<Connection>({ kind: 'connecting' });
export const keyState = signal<KeyState>('accepted');
/** Kept for this tab only, and never in an address. */
export const apiKey = signal<string | null>(sessionStorage.getItem(storageName));
/** Grows with every new key, so that whatever was refused is asked for again. */
export const keyVersion = signal(0);

export function acceptKey(key: string): void {
  sessionStorage.setItem(storageName, key);
  apiKey.value = key;
  keyState.value = 'accepted';
  keyVersion.value++;
}

export function forgetKey(): void {
  sessionStorage.removeItem(storageName);
  apiKey.value = null;
  keyVersion.value++;
}

export const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init);
    noteAnswer(response);
    return response;
  } catch (error) {
    if (init?.signal?.aborted !== true) become('lost');
    throw error;
  }
};

function noteAnswer({ status }: Response): void {
  if (status === 401) keyState.value = apiKey.value === null ? 'missing' : 'wrong';
  if (status === 503) become('unavailable');
  else if (connection.value.kind !== 'online') connection.value = { kind: 'online' };
}

function become(kind: 'lost' | 'unavailable'): void {
  if (connection.value.kind === kind) return;
  connection.value = { kind, sinceMs: clock.nowMs() };
}
