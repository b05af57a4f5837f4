import { Readable } from 'node:stream';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { expect, test } from 'vitest';
import { buildDraft } from './build-body.ts';
import type { Output, QueryOptions } from './query-options.ts';

const address = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const from = (text: string, output: Output = 'jsonl') => ({
  stdin: Readable.from([Buffer.from(text)]),
  output,
});
const rowsOf = async (options: QueryOptions, output: Output = 'csv') => {
  const { draft, rows } = await buildDraft(options, from('', output));
  return { draft, columns: rows?.columns };
};
const usage = (fault: unknown) => ({
  code: 'cli-usage',
  detail: expect.objectContaining({ fault }),
});

test('default: a query from stdin is used unchanged', async () => {
  const query = { fromBlock: 1, logs: [{}], fields: { log: { message: true } } };
  expect(await buildDraft({ query: '-' }, from(JSON.stringify(query)))).toMatchObject({
    draft: query,
  });
});

test('behavior: --fields replaces the fields of the query', async () => {
  const { draft } = await buildDraft(
    { query: '-', fields: ['log.message'] },
    from('{"logs":[{}]}'),
  );
  expect(draft.fields).toEqual({ block: { number: true, hash: true }, log: { message: true } });
});

test('behavior: without a filter every block is selected', async () => {
  expect(await buildDraft({}, from(''))).toMatchObject({ draft: { includeAllBlocks: true } });
});

test('behavior: every selected field is a column of CSV, and the query reads what the columns need', async () => {
  const fields = [
    'instruction.data',
    'transaction.signatures',
    'transaction.fee',
    'block.timestamp',
  ];
  const { draft, columns } = await rowsOf({ program: [address], fields });
  expect(columns).toEqual(['slot', 'timestamp', 'data', 'signature', 'transaction.fee']);
  expect(draft).toMatchObject({
    instructions: [{ programId: [address], transaction: true }],
    fields: {
      block: { timestamp: true },
      instruction: { transactionIndex: true, data: true },
      transaction: { transactionIndex: true, signatures: true, fee: true },
    },
  });
});

test('behavior: the columns of a log may come from its instruction and its transaction', async () => {
  const fields = ['log.message', 'instruction.d8', 'transaction.feePayer'];
  const { draft, columns } = await rowsOf({ logs: true, fields });
  expect(columns).toEqual(['slot', 'message', 'transaction.feePayer', 'instruction.d8']);
  expect(draft).toMatchObject({
    logs: [{ transaction: true, instruction: true }],
    fields: { log: { transactionIndex: true, instructionAddress: true, message: true } },
  });
});

test('default: CSV has the time of the block and the signature of the transaction', async () => {
  const { draft, columns } = await rowsOf({ mint: [address] });
  expect(columns?.slice(0, 3)).toEqual(['slot', 'timestamp', 'transactionIndex']);
  expect(columns?.at(-1)).toBe('signature');
  expect(draft).toMatchObject({ tokenBalances: [{ mint: [address], transaction: true }] });
});

test('behavior: without a filter, --kind selects all records of the kind', async () => {
  expect((await rowsOf({ kind: 'rewards' })).draft).toMatchObject({ rewards: [{}] });
});

test.each<[string, QueryOptions, Output, string]>([
  ['a field of another kind', { program: [address], fields: ['log.message'] }, 'csv', 'log'],
  ['the same in a table', { program: [address], fields: ['log.message'] }, 'table', 'log'],
  ['records of another kind', { program: [address], with: ['logs'] }, 'csv', 'log'],
])(
  'error: cli-usage for a column that rows cannot have: %s',
  async (_what, options, output, kind) => {
    const fault = `rows of instructions have no columns for fields of the kind ${kind}; choose the rows with --kind, or use --output jsonl`;
    await expect(rowsOf(options, output)).rejects.toMatchObject(usage(fault));
  },
);

test('behavior: --kind chooses the records to show of a query that selects several kinds', async () => {
  const options = { program: [address], with: ['logs'], kind: 'instructions' } as const;
  expect((await rowsOf(options)).columns).toContain('d8');
});

test.each([
  ['{', 'query-not-json'],
  ['[]', 'query-value-invalid'],
  [' '.repeat(QUERY_LIMITS.bodyBytesMax + 1), 'cli-file-too-large'],
])('error: a text from stdin that is not a query is refused', async (text, code) => {
  await expect(buildDraft({ query: '-' }, from(text))).rejects.toMatchObject({ code });
});
