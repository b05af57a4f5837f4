import { groups } from 'virtual:docs';
import { Notice } from '../../components/notice.tsx';
import type { PageProps } from '../../page-props.ts';
import { DocsNavigation } from './docs-navigation.tsx';
import { DocumentView } from './document-view.tsx';
import { ServiceReference } from './service-reference.tsx';
import './docs.css';

export function DocsPage({ parameters }: PageProps) {
  const [slug] = parameters;
  const page = groups.flatMap(({ pages }) => pages).find((candidate) => candidate.slug === slug);
  return (
    <div class="docs">
      <DocsNavigation slug={slug} />
      <div class="docs-main">
        {slug === undefined ? (
          <ServiceReference />
        ) : page === undefined ? (
          <Notice title="There is no such page">
            <p>The list beside this text has all pages.</p>
          </Notice>
        ) : (
          <DocumentView key={page.slug} page={page} />
        )}
      </div>
    </div>
  );
}
