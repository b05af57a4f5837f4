/** The pages by address. Each page is a separate chunk, which is loaded when the page is first shown. */
import { DATASET_NAME } from '@sluice/protocol/dataset-name';
import type { Page } from './page-props.ts';

interface RouteEntry {
  readonly pattern: RegExp;
  readonly page: Page;
  /** Whether the page shows no data and therefore needs no key. */
  readonly isOpen?: true;
}

const dataset = `(${DATASET_NAME})`;

const routes: readonly RouteEntry[] = [
  {
    pattern: /^\/$/,
    page: {
      name: 'overview',
      load: async () => (await import('./pages/overview/overview-page.tsx')).OverviewPage,
    },
  },
  {
    pattern: new RegExp(`^/live/${dataset}$`),
    page: {
      name: 'live',
      load: async () => (await import('./pages/live/live-page.tsx')).LivePage,
    },
  },
  {
    pattern: new RegExp(`^/block/${dataset}/(\\d+)$`),
    page: {
      name: 'block',
      load: async () => (await import('./pages/block/block-page.tsx')).BlockPage,
    },
  },
  {
    pattern: new RegExp(`^/transaction/${dataset}/(\\w+)$`),
    page: {
      name: 'transaction',
      load: async () => (await import('./pages/transaction/transaction-page.tsx')).TransactionPage,
    },
  },
  {
    pattern: new RegExp(`^/account/${dataset}/(\\w+)$`),
    page: {
      name: 'account',
      load: async () => (await import('./pages/account/account-page.tsx')).AccountPage,
    },
  },
  {
    pattern: new RegExp(`^/program/${dataset}/(\\w+)$`),
    page: {
      name: 'program',
      load: async () => (await import('./pages/program/program-page.tsx')).ProgramPage,
    },
  },
  {
    pattern: new RegExp(`^/activity/${dataset}$`),
    page: {
      name: 'activity',
      load: async () => (await import('./pages/activity/activity-page.tsx')).ActivityPage,
    },
  },
  {
    pattern: new RegExp(`^/workbench/${dataset}$`),
    page: {
      name: 'workbench',
      load: async () => (await import('./pages/workbench/workbench-page.tsx')).WorkbenchPage,
    },
  },
  {
    pattern: /^\/docs(?:\/([a-z0-9/_-]+))?$/,
    isOpen: true,
    page: {
      name: 'docs',
      load: async () => (await import('./pages/docs/docs-page.tsx')).DocsPage,
    },
  },
];

const missing: Page = {
  name: 'missing',
  load: async () => (await import('./pages/missing-page.tsx')).MissingPage,
};

export interface FoundPage {
  readonly page: Page;
  readonly parameters: readonly string[];
  readonly isOpen: boolean;
}

export function findPage(path: string): FoundPage {
  for (const { pattern, page, isOpen = false } of routes) {
    const match = pattern.exec(path);
    if (match !== null) return { page, parameters: match.slice(1), isOpen };
  }
  return { page: missing, parameters: [], isOpen: true };
}

/** Begins to load the chunk of a page. A failure shows when the page is rendered. */
export function preloadPage(path: string): void {
  findPage(path)
    .page.load()
    .catch(() => undefined);
}
