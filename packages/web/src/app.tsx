import { KeyPrompt } from './components/key-prompt.tsx';
import { LazyPage } from './components/lazy-page.tsx';
import { TopBar } from './components/top-bar.tsx';
import { findPage } from './routes.ts';
import { connection, keyState } from './state/connection.ts';
import { route } from './state/router.ts';

export function App() {
  const { path } = route.value;
  const { page, parameters, isOpen } = findPage(path);
  const isLocked = keyState.value !== 'accepted' && !isOpen;
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <TopBar />
      <ConnectionBanner />
      <main id="main" class="page" tabIndex={-1}>
        {isLocked ? (
          <KeyPrompt />
        ) : (
          <LazyPage key={page.name} page={page} parameters={parameters} />
        )}
      </main>
      <footer class="footer">
        <div class="footer-inner">
          <span>Sluice</span>
          <a href="/docs">Documentation</a>
          <a href="/openapi.json">openapi.json</a>
        </div>
      </footer>
    </div>
  );
}

/** Shows that the service cannot be reached. The page retries, and continues by itself. */
function ConnectionBanner() {
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
