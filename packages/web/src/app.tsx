import { ConnectionBanner } from './components/connection-banner.tsx';
import { KeyPrompt } from './components/key-prompt.tsx';
import { LazyPage } from './components/lazy-page.tsx';
import { TopBar } from './components/top-bar.tsx';
import { findPage } from './routes.ts';
import { keyState } from './state/connection.ts';
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
