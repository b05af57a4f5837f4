import type { DocPage } from 'virtual:docs';
import { useEffect, useRef } from 'preact/hooks';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { useTitle } from '../../components/use-title.ts';
import { currentDataset } from '../../state/datasets.ts';
import { route } from '../../state/router.ts';
import { useResource } from '../../state/use-resource.ts';
import { workbenchLink } from '../workbench/query-link.ts';

/** One page of the documentation. Its HTML was rendered from our own Markdown by the build. */
export function DocumentView({ page }: { readonly page: DocPage }) {
  useTitle(page.title);
  const loaded = useResource(page.slug, () => page.load());
  const body = useRef<HTMLElement>(null);
  const { hash } = route.value;
  const dataset = currentDataset.value;
  useEffect(() => {
    if (loaded.kind !== 'ready') return;
    if (hash !== '') document.getElementById(decodeURIComponent(hash.slice(1)))?.scrollIntoView();
  }, [loaded.kind, hash]);
  useEffect(() => {
    if (loaded.kind === 'ready' && body.current !== null && dataset !== undefined) {
      addTryLinks(body.current, dataset);
    }
  }, [loaded.kind, dataset]);
  if (loaded.kind === 'loading') return <Skeleton lines={12} />;
  if (loaded.kind === 'failed') return <ErrorNotice error={loaded.error} retry={loaded.retry} />;
  return (
    <div class="docs-columns">
      <article ref={body} class="prose" dangerouslySetInnerHTML={{ __html: loaded.value.html }} />
      {page.sections.length > 1 && (
        <aside class="docs-toc no-print" aria-label="On this page">
          <h2 class="label">On this page</h2>
          <ul class="plain">
            {page.sections.map(({ anchor, title }) => (
              <li key={anchor}>
                <a href={`#${anchor}`}>{title}</a>
              </li>
            ))}
          </ul>
        </aside>
      )}
    </div>
  );
}

/** Adds a link to the workbench next to every query of the page. */
function addTryLinks(article: HTMLElement, dataset: string): void {
  for (const old of article.querySelectorAll('.try')) old.remove();
  for (const code of article.querySelectorAll<HTMLElement>('.code[data-query]')) {
    const link = document.createElement('a');
    link.className = 'button compact try no-print';
    link.textContent = 'Try it';
    link.href = workbenchLink(dataset, JSON.parse(code.dataset['query'] ?? '{}') as object);
    code.append(link);
  }
}
