import { connection } from '../state/connection.ts';

/** Shows that the service cannot be reached. The page retries, and continues by itself. */
export function ConnectionBanner() {
  const { kind } = connection.value;
  return (
    <div role="status" aria-live="assertive">
      {kind === 'lost' && (
        <div class="banner">
          <span>Connection lost: the service does not respond.</span>
          <span>This page may be out of date. Reconnecting…</span>
        </div>
      )}
      {kind === 'unavailable' && (
        <div class="banner waiting">
          <span>The service is starting, stopping or overloaded.</span>
          <span>Trying again…</span>
        </div>
      )}
    </div>
  );
}
