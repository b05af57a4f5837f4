/** The interface for people, from the same tables as everything else; works without a network. */
import { fieldRows, KINDS, RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import type { QueryLimits } from '@sluice/protocol/query-limits';
import { filterRows, relationRows } from '@sluice/protocol/request-table';
import { ERRORS, type ErrorRow } from '../base/errors.ts';
import { escapeHtml, htmlPage, table } from './html.ts';
import type { HttpLimits } from './http-limits.ts';

export interface DocsContext {
  readonly queryLimits: QueryLimits;
  readonly limits: HttpLimits;
  readonly version: string;
}

export function buildDocsPage(context: DocsContext): string {
  const body = [
    `<h1>Sluice ${escapeHtml(context.version)}</h1>`,
    '<p>Blocks of a ledger, filtered, as JSON lines. The same as data: <a href="/openapi.json">openapi.json</a>. Live: <a href="/">datasets</a>.</p>',
    '<h2>Addresses</h2>',
    table(['Method', 'Path', 'Answer'], ADDRESSES.map(codeFirst(2))),
    '<h2>A query</h2>',
    `<pre>${escapeHtml(EXAMPLE)}</pre>`,
    table(['Key', 'Meaning'], QUERY_KEYS.map(codeFirst(1))),
    ...RECORD_ARRAY_NAMES.map(describeItem),
    '<h2>Fields</h2>',
    ...KINDS.map(describeKind),
    '<h2>Limits</h2>',
    table(
      ['Limit', 'Value'],
      Object.entries({ ...context.queryLimits, ...context.limits }).map(([name, value]) => [
        `<code>${name}</code>`,
        String(value),
      ]),
    ),
    '<h2>Errors</h2>',
    table(['Status', 'Code', 'Meaning'], errorRows()),
  ];
  return htmlPage('Sluice: the interface', body.join('\n'));
}

function codeFirst(count: number): (cells: readonly string[]) => string[] {
  return (cells) =>
    cells.map((cell, i) => (i < count ? `<code>${escapeHtml(cell)}</code>` : escapeHtml(cell)));
}

const ADDRESSES = [
  ['POST', '/datasets/{name}/stream', 'blocks that match, the newest included'],
  ['POST', '/datasets/{name}/finalized-stream', 'the same, finalized blocks only'],
  ['GET', '/datasets/{name}/metadata', 'name, aliases, whether it is live, lowest slot'],
  ['GET', '/datasets/{name}/head', 'number and hash of the highest block, or null'],
  ['GET', '/datasets/{name}/finalized-head', 'the same of the highest finalized block'],
  ['GET', '/datasets/{name}/status', 'stored range, sources, lag, alarms'],
  ['GET', '/datasets/{name}/timestamps/{seconds}/block', 'first block at or after a unix second'],
  ['GET', '/datasets', 'all datasets'],
] as const;

const QUERY_KEYS = [
  ['fromBlock', 'first slot; required'],
  ['toBlock', 'last slot, inclusive; without it the stream follows the ledger'],
  [
    'parentBlockHash',
    'expected hash of the block before the first one; a wrong one is answered with 409',
  ],
  ['includeAllBlocks', 'blocks without selected records too; false by default'],
  ['fields', 'which fields to send, for each kind'],
  ['type', 'the dialect of the answer'],
] as const;

const EXAMPLE = `curl -N -H 'Content-Type: application/json' --compressed http://127.0.0.1:8080/datasets/ledger-beta/stream -d '
{"fromBlock":0,"fields":{"block":{"number":true,"hash":true},"instruction":{"programId":true,"data":true}},
 "instructions":[{"programId":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","d1":"0x03","transaction":true}]}'`;

function describeItem(array: (typeof RECORD_ARRAY_NAMES)[number]): string {
  const filters = filterRows(array).map(([name, row]) => [name, 'filter', row.text]);
  const relations = relationRows(array).map(([name, row]) => [name, 'pulls in', row.text]);
  return `<h3>Items of <code>${array}</code></h3>${table(
    ['Key', '', 'Meaning'],
    [...filters, ...relations].map(codeFirst(1)),
  )}`;
}

function describeKind(kind: (typeof KINDS)[number]): string {
  const rows = fieldRows(kind).map(([name, row]) => [name, row.wire, row.text]);
  return `<h3><code>fields.${kind}</code></h3>${table(['Field', 'Form', 'Meaning'], rows.map(codeFirst(1)))}`;
}

function errorRows(): string[][] {
  const rows = Object.entries<ErrorRow>(ERRORS).filter(([, row]) => row.status !== undefined);
  return rows
    .sort(([, a], [, b]) => (a.status ?? 0) - (b.status ?? 0))
    .map(([code, row]) => [String(row.status), `<code>${code}</code>`, escapeHtml(row.text)]);
}
