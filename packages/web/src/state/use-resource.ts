import { useEffect, useState } from 'preact/hooks';
import { keyVersion } from './connection.ts';

export type Resource<Value> =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: unknown; readonly retry: () => void }
  | { readonly kind: 'ready'; readonly value: Value };

/**
 * Loads a value when `key` changes, and again after a new API key. The signal aborts when the component is removed or the key changes, so
 * a late response never replaces a newer one.
 */
export function useResource<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
): Resource<Value> {
  const [state, setState] = useState<Resource<Value> & { readonly of?: string }>({
    kind: 'loading',
  });
  const [attempt, setAttempt] = useState(0);
  const version = keyVersion.value;
  // `key` contains everything that `load` depends on.
  useEffect(() => {
    const stop = new AbortController();
    setState({ kind: 'loading', of: key });
    load(stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) setState({ kind: 'ready', value, of: key });
      },
      (error: unknown) => {
        const retry = () => setAttempt((count) => count + 1);
        if (!stop.signal.aborted) setState({ kind: 'failed', error, retry, of: key });
      },
    );
    return () => stop.abort();
  }, [key, version, attempt]);
  return state.of === key ? state : { kind: 'loading' };
}
