import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { type ArrowBatch, ArrowStreamReader, valuesOf } from '@sluice/arrow/ipc-reader';
import { ARROW_STREAM_TYPE, COVERED_KEY, FINALIZED_KEY } from '@sluice/protocol/arrow-table';
import { CLOSING_KEY } from '@sluice/protocol/closing-record';
import { tableFromIPC } from 'apache-arrow';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MATCH } from '../stream/testing/make-block.ts';
import { MemoryDataset } from '../stream/testing/memory-dataset.ts';
import { type Portal, startPortal } from './testing/start-portal.ts';

let dataset: MemoryDataset;
let portal: Portal;
beforeEach(async () => {
  dataset = new MemoryDataset({ anchor: 98 });
  dataset.extend([100, 101, 102, 103, 106, 107, 108, 109, 110]);
  dataset.finalize(103);
  portal = await startPortal(dataset);
});
afterEach(() => portal.close());

const match = { rewards: [{ pubkey: [MATCH] }] };
const all = { rewards: [{}] };

function send(body: object, parameters: string, headers: Record<string, string> = {}) {
  return fetch(`${portal.url}/stream?${parameters}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: ARROW_STREAM_TYPE, ...headers },
    body: JSON.stringify(body),
  });
}

interface ReadStream {
  readonly batches: readonly ArrowBatch[];
  readonly isEnded: boolean;
  readonly slots: readonly number[];
}

function readStream(bytes: Uint8Array): ReadStream {
  const reader = new ArrowStreamReader();
  const batches = reader.push(bytes);
  const [slot] = reader.fields ?? [];
  const slots = batches.flatMap(({ columns: [column], dictionary }) =>
    slot === undefined || column === undefined
      ? []
      : valuesOf(slot, column, dictionary).map(Number),
  );
  return { batches, isEnded: reader.isEnded, slots };
}

async function readAll(response: Response): Promise<ReadStream> {
  return readStream(new Uint8Array(await response.arrayBuffer()));
}

const coveredBy = ({ metadata }: ArrowBatch) =>
  JSON.parse(metadata.get(COVERED_KEY) ?? 'null') as object;

test('default: a query is answered with the rows of one table, and the last batch says how far they are complete', async () => {
  const response = await send({ fromBlock: 100, toBlock: 110, ...match }, 'table=rewards');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe(ARROW_STREAM_TYPE);
  expect(response.headers.get('vary')).toBe('Accept, Accept-Encoding');
  expect(response.headers.get('x-ledger-finalized-head-number')).toBe('103');
  const bytes = new Uint8Array(await response.arrayBuffer());
  const table = tableFromIPC(bytes);
  expect(table.schema.fields.map(({ name, type }) => `${name}: ${String(type)}`)).toEqual([
    'block_slot: Uint64',
    'block_time: Timestamp<SECOND, UTC>',
    'parent_slot: Uint64',
    'block_height: Uint64',
    'pubkey: Dictionary<Int32, Utf8>',
    'lamports: Int64',
    'post_balance: Uint64',
    'reward_type: Utf8',
    'commission: Uint32',
  ]);
  const rows = table.toArray().map((row) => row.toJSON() as Record<string, unknown>);
  expect(rows.map((row) => row['block_slot'])).toEqual([102n, 108n]);
  expect(rows[0]).toMatchObject({
    block_time: (1_738_368_000 + 102) * 1000,
    block_height: null,
    pubkey: MATCH,
    lamports: 2n ** 53n + 1n,
    post_balance: 2n ** 64n - 1n,
    reward_type: 'Fee',
    commission: null,
  });
  const { batches, isEnded } = readStream(bytes);
  expect(isEnded).toBe(true);
  expect(batches.map(coveredBy).at(-1)).toEqual({ ...dataset.refAt(110) });
});

test('behavior: a compressed stream has the same rows', async () => {
  const body = { fromBlock: 100, toBlock: 110, ...all };
  const before = await readAll(await send(body, 'table=rewards'));
  expect(before.slots).toEqual([100, 101, 102, 103, 106, 107, 108, 109, 110]);
  const compressed = await new Promise<Buffer>((resolve, reject) => {
    const headers = {
      ...{ 'content-type': 'application/json', accept: ARROW_STREAM_TYPE },
      'accept-encoding': 'gzip',
    };
    request(`${portal.url}/stream?table=rewards`, { method: 'POST', headers }, async (answer) => {
      expect(answer.headers['content-encoding']).toBe('gzip');
      const chunks: Uint8Array[] = [];
      for await (const chunk of answer) chunks.push(chunk as Uint8Array);
      resolve(Buffer.concat(chunks));
    })
      .on('error', reject)
      .end(JSON.stringify(body));
  });
  const read = readStream(new Uint8Array(gunzipSync(compressed)));
  expect([read.slots, read.isEnded]).toEqual([before.slots, true]);
});

test('behavior: a client resumes after the covered block, and a replaced one is a conflict', async () => {
  const first = await readAll(
    await send({ fromBlock: 100, toBlock: 107, ...match }, 'table=rewards'),
  );
  const covered = coveredBy(first.batches.at(-1) as ArrowBatch) as { number: number; hash: string };
  expect([first.slots, covered.number]).toEqual([[102], 107]);
  const next = { fromBlock: 108, toBlock: 110, parentBlockHash: covered.hash, ...match };
  expect((await readAll(await send(next, 'table=rewards'))).slots).toEqual([108]);
  dataset.fork(106, [107, 108], 'b');
  const conflict = await send(next, 'table=rewards');
  expect(conflict.status).toBe(409);
  const { previousBlocks } = (await conflict.json()) as { previousBlocks: object[] };
  expect(previousBlocks.at(-1)).toEqual({ ...dataset.refAt(107) });
});

test('behavior: a follower gets new blocks, and its stream ends with the marker after a fork', async () => {
  const response = await send({ fromBlock: 109, ...all }, 'table=rewards');
  const reader = new ArrowStreamReader();
  const batches: ArrowBatch[] = [];
  let isFork = false;
  for await (const bytes of response.body ?? []) {
    batches.push(...reader.push(bytes as Uint8Array));
    const covered = batches.at(-1);
    if (covered === undefined) continue;
    const { number } = coveredBy(covered) as { number: number };
    if (number === 110) dataset.extend([111]);
    if (number === 111 && !isFork) dataset.fork(109, [110, 112], 'b');
    isFork ||= number === 111;
  }
  expect(reader.isEnded).toBe(true);
  expect(batches.reduce((sum, { length }) => sum + length, 0)).toBe(3);
});

test('behavior: the table of blocks has those with a selected record, or all of them', async () => {
  const body = { fromBlock: 100, toBlock: 110, fields: { block: { hash: true } }, ...match };
  expect((await readAll(await send(body, 'table=blocks'))).slots).toEqual([102, 108]);
  const every = { ...body, includeAllBlocks: true };
  const table = tableFromIPC(await (await send(every, 'table=blocks')).arrayBuffer());
  expect(table.numRows).toBe(9);
  expect(table.getChild('block_hash')?.get(0)).toBe(dataset.refAt(100).hash);
});

test('behavior: the finalized head is in the metadata if the query selects it', async () => {
  const fields = { block: { finalizedHead: true }, reward: { lamports: true } };
  const response = await send({ fromBlock: 100, toBlock: 110, fields, ...all }, 'table=rewards');
  const { batches, slots } = await readAll(response);
  expect(slots).toHaveLength(9);
  for (const { metadata } of batches)
    expect(JSON.parse(metadata.get(FINALIZED_KEY) ?? '')).toEqual({ ...dataset.refAt(103) });
});

test('behavior: a table without rows is a schema, the covered block and the end', async () => {
  const none = await readAll(await send({ fromBlock: 100, toBlock: 110, ...all }, 'table=logs'));
  expect([none.slots, none.isEnded]).toEqual([[], true]);
  expect(none.batches.map(coveredBy)).toEqual([{ ...dataset.refAt(110) }]);
  const skipped = await readAll(await send({ fromBlock: 104, toBlock: 105, ...all }, 'table=logs'));
  expect(skipped).toEqual({ batches: [], isEnded: true, slots: [] });
});

test('error: parameter-invalid', async () => {
  const body = { fromBlock: 100, toBlock: 110, ...all };
  const refusal = async (parameters: string, headers: Record<string, string> = {}) => {
    const response = await send(body, parameters, headers);
    const { error } = (await response.json()) as { error: { code: string; path: string } };
    return [response.status, error.code, error.path];
  };
  expect(await refusal('')).toEqual([400, 'parameter-invalid', 'table']);
  expect(await refusal('table=nonsense')).toEqual([400, 'parameter-invalid', 'table']);
  expect(await refusal('table=logs&addresses=hex')).toEqual([
    400,
    'parameter-invalid',
    'addresses',
  ]);
  expect(await refusal('table=logs&rows=1')).toEqual([400, 'parameter-invalid', 'rows']);
  expect(await refusal('table=logs', { accept: '*/*' })).toEqual([
    400,
    'parameter-invalid',
    'table',
  ]);
  const lines = await send(body, '', { accept: `${ARROW_STREAM_TYPE};q=0.1, application/jsonl` });
  expect(lines.headers.get('content-type')).toBe('application/jsonl');
  expect((await lines.text()).split('\n')).toHaveLength(10);
});

test.each([
  ['the end of the range', { fromBlock: 100, toBlock: 105 }, 105, 103],
  ['a range without a block', { fromBlock: 104, toBlock: 105 }, 105, undefined],
])(
  'behavior: with closing, the last record says what was covered and why it ended: %s',
  async (_, range, toBlock, last) => {
    const expected = {
      reason: 'complete',
      fromBlock: range.fromBlock,
      toBlock,
      lastBlock: last === undefined ? null : { ...dataset.refAt(last) },
    };
    const lines = await send({ ...range, ...match }, 'closing=true', { accept: '*/*' });
    const texts = (await lines.text()).trimEnd().split('\n');
    expect(JSON.parse(texts.at(-1) ?? '')).toEqual({ [CLOSING_KEY]: expected });
    expect(texts.filter((text) => text.includes(CLOSING_KEY))).toHaveLength(1);
    const arrow = await send({ ...range, ...match }, 'table=rewards&closing=true');
    const bytes = new Uint8Array(await arrow.arrayBuffer());
    const { batches, isEnded, slots } = readStream(bytes);
    expect(JSON.parse(batches.at(-1)?.metadata.get(CLOSING_KEY) ?? '')).toEqual(expected);
    expect([isEnded, slots]).toEqual([true, last === undefined ? [] : [102]]);
    expect(tableFromIPC(bytes).numRows).toBe(slots.length);
    const without = await send({ ...range, ...match }, '', { accept: '*/*' });
    expect(await without.text()).not.toContain(CLOSING_KEY);
  },
);

test('behavior: with closing, the record after a fork names the replaced block', async () => {
  const response = await send({ fromBlock: 109, ...all }, 'closing=true', { accept: '*/*' });
  const replaced = { ...dataset.refAt(110) };
  let text = '';
  for await (const bytes of response.body ?? []) {
    if (text === '') dataset.fork(109, [111], 'b');
    text += Buffer.from(bytes as Uint8Array).toString();
  }
  const closing = { reason: 'fork', fromBlock: 109, toBlock: 110, lastBlock: replaced };
  expect(JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')).toEqual({ closing });
});

test('error: parameter-invalid for another value of closing', async () => {
  const response = await send({ fromBlock: 100, ...match }, 'closing=1', { accept: '*/*' });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { path: 'closing' } });
});

const transferColumns = 'table=instructions&decoded=11111111111111111111111111111111.transferSol';

test.each([
  [
    'table=rewards&decoded=11111111111111111111111111111111.transferSol',
    'only with table=instructions',
  ],
  ['table=instructions&decoded=transferSol', 'PROGRAM.INSTRUCTION'],
  [`table=instructions&decoded=${MATCH}.transferSol`, 'a program with an IDL'],
  ['table=instructions&decoded=11111111111111111111111111111111.send', 'transferSol'],
  ['table=instructions&event=11111111111111111111111111111111.Sent', 'an event of this program'],
  ['table=logs&event=11111111111111111111111111111111.Sent', 'an event of this program: none'],
  [`${transferColumns}&event=11111111111111111111111111111111.Sent`, 'only without decoded'],
  [`${transferColumns}&accounts=source`, 'only with event'],
  [`${transferColumns}&decimals=accounts.sauce`, 'accounts.source'],
  ['table=instructions&decimals=accounts.source', 'PROGRAM.NAME'],
])('error: parameter-invalid for %s says what is allowed', async (parameters, allowed) => {
  const response = await send({ fromBlock: 100, toBlock: 103, instructions: [{}] }, parameters);
  expect(response.status).toBe(400);
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  expect(error.code).toBe('parameter-invalid');
  expect(error.message).toContain(allowed);
});

test('default: the columns of a decoded instruction are in the schema, also without rows', async () => {
  const parameters = `${transferColumns}&decimals=accounts.source`;
  const response = await send({ fromBlock: 100, toBlock: 103, instructions: [{}] }, parameters);
  const table = tableFromIPC(await response.arrayBuffer());
  const names = table.schema.fields.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining([
      ...['args_amount', 'accounts_source', 'decimals_accounts_source', 'decoding_error'],
    ]),
  );
});
