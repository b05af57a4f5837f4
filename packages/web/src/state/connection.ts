/**
 * Whether the service can be reached and whether it accepts the key. Every request uses `watchedFetch`, so any request detects a lost
 * connection or a refused key.
 */
import { signal } from '@preact/signals';
import { clock } from '../base/clock.ts';

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'online' }
  /** The service does not respond. */
  | { readonly kind: 'lost'; readonly sinceMs: number }
  /** The service is starting, stopping or overloaded. */
  | { readonly kind: 'unavailable'; readonly sinceMs: number };

/** `missing` and `wrong` come from the response to the last request. */
export type KeyState = 'accepted' | 'missing' | 'wrong';

const storageName = 'sluice-key';

export const connection = signal<Connection>({ kind: 'connecting' });
export const keyState = signal<KeyState>('accepted');
/** The key is kept for this tab only, and never in an address. */
export const apiKey = signal<string | null>(sessionStorage.getItem(storageName));
/** Incremented with every new key, so that refused requests are sent again. */
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
    noteResponse(response);
    return response;
  } catch (error) {
    if (init?.signal?.aborted !== true) become('lost');
    throw error;
  }
};

function noteResponse({ status }: Response): void {
  if (status === 401) keyState.value = apiKey.value === null ? 'missing' : 'wrong';
  if (status === 503) become('unavailable');
  else if (connection.value.kind !== 'online') connection.value = { kind: 'online' };
}

function become(kind: 'lost' | 'unavailable'): void {
  if (connection.value.kind === kind) return;
  connection.value = { kind, sinceMs: clock.nowMs() };
}
