/** The interface for people, from the same tables as everything else; works without a network. */
import { DIALECT_DEFAULT, DIALECTS } from '@sluice/protocol/dialect';
import { fieldRows, KINDS, RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import type { QueryLimits } from '@sluice/protocol/query-limits';
import { describeValues, filterRows, relationRows } from '@sluice/protocol/request-table';
import { ERRORS, type ErrorRow } from '../base/errors.ts';
import type { MetadataBody } from './describe-dataset.ts';
import { escapeHtml, htmlPage, table } from './html.ts';
import type { HttpLimits } from './http-limits.ts';

export interface DocsContext {
  readonly queryLimits: QueryLimits;
  readonly limits: HttpLimits;
  readonly version: string;
  /** As the reader calls this service. */
  readonly host: string;
  /** Of a dataset to ask. */
  readonly metadata: MetadataBody | undefined;
}

export function buildDocsPage(context: DocsContext): string {
  const body = [
    `<h1>Sluice ${escapeHtml(context.version)}</h1>`,
    '<p>Blocks of a ledger, filtered, as JSON lines. The same as data: <a href="/openapi.json">openapi.json</a>. Live: <a href="/">datasets</a>.</p>',
    '<h2>Addresses</h2>',
    table(['Method', 'Path', 'Answer'], ADDRESSES.map(codeFirst(2))),
    '<h2>A query</h2>',
    `<pre>${escapeHtml(buildExample(context))}</pre>`,
    table(['Key', 'Meaning'], QUERY_KEYS.map(codeFirst(1))),
    FILTERS,
    ...RECORD_ARRAY_NAMES.map(describeItem),
    '<h2>Answers of a stream</h2>',
    ANSWERS,
    table(['Status', 'When'], STATUSES.map(codeFirst(1))),
    table(['Header', 'Meaning'], HEADERS.map(codeFirst(1))),
    '<h2>Fields</h2>',
    ...KINDS.map(describeKind),
    '<h2>Limits</h2>',
    table(['Limit', 'Value', 'Of what'], limitRows(context)),
    '<h2>Errors</h2>',
    table(['Status', 'Code', 'Meaning'], errorRows()),
  ];
  return htmlPage('Sluice: the interface', body.join('\n'));
}

function codeFirst(count: number): (cells: readonly string[]) => string[] {
  return (cells) =>
    cells.map((cell, i) => (i < count ? `<code>${escapeHtml(cell)}</code>` : withCode(cell)));
}

/** Texts of our own mark code as the documents do. */
function withCode(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
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
  ['GET', '/datasets/{name}', 'the metadata; only where the dialect `solana` is allowed'],
  ['GET', '/datasets/{name}/height', 'the finalized slot, a bare number; likewise'],
  ['GET', '/datasets/{name}/finalized-stream/height', 'the same; likewise'],
  ['GET', '/datasets/{name}/state', 'the stored range; likewise'],
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
  [
    'type',
    `the dialect of the answer: ${DIALECTS.map((name) => `\`${name}\``).join(' or ')}, \`${DIALECT_DEFAULT}\` by default; a dataset's \`/status\` lists those it answers`,
  ],
  [
    RECORD_ARRAY_NAMES.join(', '),
    'items that select records, below; a record comes if any item of any array selects it',
  ],
] as const;

/** A name that could be a host's; anything else in that header is no one's to paste. */
const hostPattern = /^[\w.:[\]-]{1,255}$/;

function buildExample({ host, metadata }: DocsContext): string {
  const origin = `http://${hostPattern.test(host) ? host : '127.0.0.1:8080'}`;
  const { dataset = 'NAME', start_block = 0 } = metadata ?? {};
  return `curl -N -H 'Content-Type: application/json' --compressed ${origin}/datasets/${dataset}/stream -d '
{"fromBlock":${start_block},"fields":{"block":{"number":true,"hash":true},
  "instruction":{"transactionIndex":true,"instructionAddress":true,"accounts":true,"data":true}},
 "instructions":[{"programId":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","d1":["0x03","0x0c"]}]}'`;
}

const FILTERS = `<p>A filter takes a value, or a list of which any may match: <code>"d1":"0x03"</code> or <code>"d1":["0x03","0x0c"]</code>. All filters of an
item must match; a filter that is absent asks for nothing, an empty list matches nothing, and the item <code>{}</code> is every record of its kind.
What is marked as pulled in comes with a match where the key is <code>true</code>.</p>`;

const ANSWERS = `<p>One block a line, slots ascending. A line comes for every block with a selected record, and always for the last block covered: ask
again from the slot after it, with its hash as <code>parentBlockHash</code>. Without <code>toBlock</code> the answer stays open and new blocks come as they are
stored, until the service ends it, always after a whole line.</p>`;

const STATUSES = [
  ['200', 'lines; none at all if the range is bounded and every slot of it was skipped'],
  ['204', 'the whole range is above the data, also after a wait'],
  [
    '409',
    'the sent `parentBlockHash` is proved wrong: `{"previousBlocks":[{"number","hash"}]}`, up to 100 blocks below, ascending',
  ],
] as const;

const HEADERS = [
  ['X-Ledger-Finalized-Head-Number, -Hash', 'the finalized head, both or neither, on 200 and 204'],
  ['X-Ledger-Head-Number', 'the head, likewise'],
  ['X-Sqd-…', 'the same three in the dialect `solana`, and `X-Sqd-Data-Source: real_time`'],
  ['X-Request-Id', 'on everything; one that a client sends is kept if it is plain'],
] as const;

type LimitRow = readonly [keyof QueryLimits | keyof HttpLimits, string];

const LIMITS: readonly LimitRow[] = [
  ['bodyBytesMax', 'bytes of a body, on the wire and decoded'],
  ['depthMax', 'levels of objects and arrays'],
  ['itemCountMax', 'items of all arrays together'],
  ['listValueCountMax', 'values of one list'],
  ['valueCountMax', 'values of all lists together'],
  ['headerBytesMax', 'bytes of headers'],
  ['headersMsMax', 'milliseconds for the headers to come'],
  ['requestMsMax', 'milliseconds for a whole request to come'],
  ['stallMsMax', 'milliseconds after which a reader that takes no byte is cut'],
  ['connectionCountMax', 'connections'],
  ['streamCountMax', 'open streams'],
];

function limitRows({ queryLimits, limits }: DocsContext): string[][] {
  const values = { ...queryLimits, ...limits };
  return LIMITS.map(([name, text]) => [`<code>${name}</code>`, String(values[name]), text]);
}

function describeItem(array: (typeof RECORD_ARRAY_NAMES)[number]): string {
  const filters = filterRows(array).map(([name, row]) => [
    ...[name, 'filter', describeValues(row), row.text],
  ]);
  const relations = relationRows(array).map(([name, row]) => [
    ...[name, 'pulls in', '`true` or `false`', row.text],
  ]);
  return `<h3>Items of <code>${array}</code></h3>${table(
    ['Key', '', 'Value', 'Meaning'],
    [...filters, ...relations].map(codeFirst(1)),
  )}`;
}

function describeKind(kind: (typeof KINDS)[number]): string {
  const rows = fieldRows(kind).map(([name, row]) => [name, row.wire, row.text]);
  return `<h3><code>fields.${kind}</code></h3>${table(['Field', 'Form', 'Meaning'], rows.map(codeFirst(1)))}`;
}

/** Of the simulated node's control port and of the operator's listener. */
const elsewhere = /^(simulator|operator)-/;

function errorRows(): string[][] {
  const rows = Object.entries<ErrorRow>(ERRORS).filter(
    ([code, row]) => row.status !== undefined && !elsewhere.test(code),
  );
  return rows
    .sort(([, a], [, b]) => (a.status ?? 0) - (b.status ?? 0))
    .map(([code, row]) => [String(row.status), `<code>${code}</code>`, escapeHtml(row.text)]);
}
