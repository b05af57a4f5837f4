import { Readable } from 'node:stream';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { expect, test } from 'vitest';
import { buildDraft } from './build-body.ts';

const from = (text: string) => ({ stdin: Readable.from([Buffer.from(text)]), isTable: false });

test('default: a query from stdin is used unchanged', async () => {
  const query = { fromBlock: 1, logs: [{}], fields: { log: { message: true } } };
  expect(await buildDraft({ query: '-' }, from(JSON.stringify(query)))).toEqual(query);
});

test('behavior: --fields replaces the fields of the query', async () => {
  const draft = await buildDraft({ query: '-', fields: ['log.message'] }, from('{"logs":[{}]}'));
  expect(draft.fields).toEqual({ block: { number: true, hash: true }, log: { message: true } });
});

test('behavior: without a filter every block is selected', async () => {
  expect(await buildDraft({}, from(''))).toMatchObject({ includeAllBlocks: true });
});

test.each([
  ['{', 'query-not-json'],
  ['[]', 'query-value-invalid'],
  [' '.repeat(QUERY_LIMITS.bodyBytesMax + 1), 'cli-file-too-large'],
])('error: a text from stdin that is not a query is refused', async (text, code) => {
  await expect(buildDraft({ query: '-' }, from(text))).rejects.toMatchObject({ code });
});
