import { styler } from '@sluice/base/terminal';
import { expect, test } from 'vitest';
import type { ReadBlock } from './block-writer.ts';
import { createJsonWriter, toExactJson } from './exact-json.ts';
import { chooseKind, createRowSource } from './record-rows.ts';
import { renderCurl, renderTypeScript } from './render-request.ts';
import { createCsvWriter, createTableWriter } from './table-writer.ts';

const largest = 2n ** 64n - 1n;
const block: ReadBlock = {
  header: { number: 7, hash: 'H7', timestamp: 1_738_368_000n },
  transactions: [{ transactionIndex: 1, signatures: ['S1', 'S2'], fee: largest, err: null }],
  instructions: [{ transactionIndex: 1, instructionAddress: [2, 0], data: 'a,"b"' }],
  logs: [],
};
const query = {
  fromBlock: 0,
  fields: {
    block: { number: true, hash: true },
    transaction: { transactionIndex: true, signatures: true, fee: true },
    instruction: { transactionIndex: true, instructionAddress: true, data: true },
  },
  instructions: [{ transaction: true }],
} as const;

test('behavior: 64-bit integers are written with every digit, and texts that look like integers stay texts', () => {
  const value = { a: largest, b: -1n, c: '\\ud80012', d: '12', e: [1n] };
  expect(toExactJson(value)).toBe(
    String.raw`{"a":18446744073709551615,"b":-1,"c":"\\ud80012","d":"12","e":[1]}`,
  );
});

test('default: a JSON line is a block as the service sends it, without empty arrays', () => {
  const { write } = createJsonWriter({ dialect: 'ledger', isPretty: false });
  expect(write(block)).toBe(
    '{"header":{"number":7,"hash":"H7","timestamp":1738368000},"transactions":[{"transactionIndex":1,"signatures":["S1","S2"],"fee":18446744073709551615,"err":null}],"instructions":[{"transactionIndex":1,"instructionAddress":[2,0],"data":"a,\\"b\\""}]}\n',
  );
});

test('behavior: in the dialect solana quantities are texts and times are not', () => {
  const { write } = createJsonWriter({ dialect: 'solana', isPretty: false });
  const line = JSON.parse(write(block)) as { header: object; transactions: object[] };
  expect(line.transactions[0]).toMatchObject({ fee: '18446744073709551615' });
  expect(line.header).toMatchObject({ timestamp: 1_738_368_000 });
});

test('default: CSV has the records that the query selects, with quotes where they are needed', () => {
  const { begin, write } = createCsvWriter(createRowSource(query, chooseKind(query)));
  expect(begin() + write(block)).toBe(
    `slot,hash,transactionIndex,instructionAddress,data,signature,transaction.fee\n7,H7,1,2.0,"a,""b""",S1,${largest}\n`,
  );
});

test('behavior: another kind or the headers can be chosen', () => {
  const rows = (kind: 'transactions' | 'blocks') => createRowSource(query, kind);
  expect(rows('transactions').rows(block)).toEqual([['7', 'H7', '1', 'S1 S2', String(largest)]]);
  expect(rows('blocks')).toMatchObject({ columns: ['slot', 'hash'] });
});

test('behavior: a table that is too wide for the terminal shortens values, but no column names', () => {
  const rows = {
    columns: ['slot', 'transactionIndexes'],
    rows: () => [['1', 'abcdefghijklmnopqrstuvwxyz']],
  };
  const table = (width: number | undefined) => {
    const { write, flush, end } = createTableWriter(rows, { width, style: styler(false) });
    return write(block) + flush() + end();
  };
  expect(table(20)).toBe('slot  transactionIndexes\n1     abcdef…uvwxyz\n');
  expect(table(undefined)).toContain('abcdefghijklmnopqrstuvwxyz');
});

test('behavior: a table prints its sample when a batch ends, and holds no row back after that', () => {
  const rows = { columns: ['slot'], rows: () => [['1']] };
  const { write, flush } = createTableWriter(rows, { width: 80, style: styler(false) });
  expect([write(block), flush(), flush(), write(block)]).toEqual(['', 'slot\n1\n', '', '1\n']);
});

test('behavior: curl arguments are quoted for a shell, and the TypeScript program reads the key from its variable', () => {
  const url = 'http://127.0.0.1:8080/datasets/mine';
  const asked = { url, query: { fromBlock: 1, parentBlockHash: "it's" }, finalized: false };
  expect(renderCurl({ ...asked, hasKey: true })).toBe(
    `curl -N --compressed -H 'Content-Type: application/json' -H "Authorization: Bearer $SLUICE_KEY" ${url}/stream -d '{"fromBlock":1,"parentBlockHash":"it'\\''s"}'\n`,
  );
  const program = renderTypeScript({ ...asked, finalized: true, hasKey: true });
  expect(program).toContain('key: process.env.SLUICE_KEY');
  expect(program).toContain('  fromBlock: 1,\n');
  expect(program).toContain('client.stream(query, { finalized: true })');
});
