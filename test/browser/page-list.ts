import { type BrowserWorld, dataset } from './browser-world.ts';
import type { ListedPage } from './listed-page.ts';

interface Line {
  readonly header: { readonly number: number };
  readonly transactions?: readonly {
    readonly signatures: readonly string[];
    readonly err: object | null;
    readonly feePayer: string;
  }[];
}

/** Every page of the application, with addresses that occur in the ledger. */
export async function listPages(world: BrowserWorld): Promise<readonly ListedPage[]> {
  const lines = await world.post<Line>('/stream', {
    fromBlock: 0,
    toBlock: 60,
    fields: { transaction: { signatures: true, err: true, feePayer: true } },
    transactions: [{}],
  });
  const all = lines.flatMap(({ transactions = [] }) => transactions);
  const good = all.find(({ err }) => err === null);
  const failed = all.find(({ err }) => err !== null);
  const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
  const block = lines.find(({ transactions = [] }) => transactions.length > 3)?.header.number;
  return [
    { name: 'overview', path: '/', ready: '.card .sparkline-line' },
    { name: 'missing', path: '/foo', ready: '.notice', expected: /status of 404/ },
    { name: 'live', path: `/live/${dataset}`, ready: '.flow-row a' },
    { name: 'block', path: `/block/${dataset}/${block}`, ready: '.tx-row a' },
    {
      name: 'block-missing',
      path: `/block/${dataset}/99999999`,
      ready: '.notice',
      expected: /status of 404/,
    },
    {
      name: 'transaction',
      path: `/transaction/${dataset}/${good?.signatures[0]}`,
      ready: '.calls',
    },
    {
      name: 'transaction-failed',
      path: `/transaction/${dataset}/${failed?.signatures[0]}`,
      ready: '.callout.bad',
    },
    { name: 'account', path: `/account/${dataset}/${good?.feePayer}`, ready: '.history-slot a' },
    { name: 'program', path: `/program/${dataset}/${token}`, ready: '.counts' },
    { name: 'activity', path: `/activity/${dataset}`, ready: '.counts' },
    { name: 'workbench', path: `/workbench/${dataset}`, ready: '.run-button:not([disabled])' },
    { name: 'docs', path: '/docs', ready: 'h2#errors' },
    { name: 'docs-query', path: '/docs/query', ready: '.prose h2' },
  ];
}
