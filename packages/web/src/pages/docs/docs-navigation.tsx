import { groups } from 'virtual:docs';
import { useState } from 'preact/hooks';
import { pagePath } from '../../state/page-path.ts';
import { DocsSearch } from './docs-search.tsx';

/** Long groups that are rarely read are collapsed. */
const foldedGroups = new Set(['Decisions', 'Measurements']);

export function DocsNavigation({ slug }: { readonly slug: string | undefined }) {
  const [isSearching, setSearching] = useState(false);
  const current = groups.find(({ pages }) => pages.some((page) => page.slug === slug))?.title;
  return (
    <nav class="docs-nav no-print" aria-label="Documentation">
      <DocsSearch onActive={setSearching} />
      {!isSearching && (
        <details class="docs-menu" open={matchMedia('(min-width: 60rem)').matches}>
          <summary>All pages</summary>
          <a href={pagePath.docs()} aria-current={slug === undefined ? 'page' : undefined}>
            This service
          </a>
          {groups.map(({ title, pages }) => (
            <details key={title} open={!foldedGroups.has(title) || title === current}>
              <summary>{title}</summary>
              <ul class="plain">
                {pages.map((page) => (
                  <li key={page.slug}>
                    <a
                      href={pagePath.docs(page.slug)}
                      aria-current={page.slug === slug ? 'page' : undefined}
                    >
                      {page.title}
                    </a>
                  </li>
                ))}
              </ul>
            </details>
          ))}
        </details>
      )}
    </nav>
  );
}
