/** The pages for people. They contain no data and need no key. */
import type { QueryLimits } from '@sluice/protocol/query-limits';
import { buildMetadata } from './describe-dataset.ts';
import { buildDocsPage } from './docs-page.ts';
import type { HttpLimits } from './http-limits.ts';
import { livePage, readPageScript } from './live-page.ts';
import type { RouteRow } from './request-checks.ts';
import type { DatasetDirectory } from './served-dataset.ts';

export interface PageContext {
  readonly datasets: DatasetDirectory;
  readonly limits: HttpLimits;
  readonly queryLimits: QueryLimits;
  readonly version: string;
}

interface Page {
  readonly type: string;
  readonly body: string;
}

export interface PageRoute extends RouteRow {
  /** Returns the function that builds the page; `host` is how the client addresses this service. */
  readonly build: (context: PageContext) => (host: string) => Page;
}

const open = { method: 'GET', isOpen: true } as const;

export const PAGE_ROUTES: readonly PageRoute[] = [
  { ...open, url: '/', build: () => () => html(livePage) },
  { ...open, url: '/page.js', build: servePageScript },
  { ...open, url: '/docs', build: serveDocs },
];

function html(body: string): Page {
  return { type: 'text/html; charset=utf-8', body };
}

function servePageScript(): () => Page {
  const body = readPageScript();
  return () => ({ type: 'text/javascript; charset=utf-8', body });
}

function serveDocs(context: PageContext): (host: string) => Page {
  // Built for each request, because a reload may change the limits on it.
  return (host) => {
    const [first] = context.datasets.all;
    const metadata = first === undefined ? undefined : buildMetadata(first.reader);
    return html(buildDocsPage({ ...context, host, metadata }));
  };
}
