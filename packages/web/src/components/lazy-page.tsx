import type { FunctionComponent } from 'preact';
import { useErrorBoundary, useLayoutEffect, useState } from 'preact/hooks';
import type { Page, PageProps } from '../page-props.ts';
import { ErrorNotice } from './error-notice.tsx';
import { PanelSkeleton } from './skeleton.tsx';

interface LazyPageProps extends PageProps {
  readonly page: Page;
}

type Loaded =
  | { readonly kind: 'loading' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'ready'; readonly component: FunctionComponent<PageProps> };

/** Loads the chunk of a page. A page that throws shows the error instead of an empty screen. */
export function LazyPage({ page, parameters }: LazyPageProps) {
  const [loaded, setLoaded] = useState<Loaded>({ kind: 'loading' });
  const [attempt, setAttempt] = useState(0);
  const [fault, resetFault] = useErrorBoundary();
  // A retry loads the same page again. A page that is already loaded is shown in the first frame.
  useLayoutEffect(() => {
    let isGone = false;
    page.load().then(
      (component) => !isGone && setLoaded({ kind: 'ready', component }),
      (error: unknown) => !isGone && setLoaded({ kind: 'failed', error }),
    );
    return () => {
      isGone = true;
    };
  }, [page, attempt]);
  if (fault !== undefined) return <ErrorNotice error={fault} retry={resetFault} />;
  if (loaded.kind === 'loading') return <PanelSkeleton />;
  if (loaded.kind === 'failed') {
    return <ErrorNotice error={loaded.error} retry={() => setAttempt((count) => count + 1)} />;
  }
  const Component = loaded.component;
  return <Component parameters={parameters} />;
}
