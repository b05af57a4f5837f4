/**
 * The behavior that existing clients of this protocol family rely on, in the way they use it: headers are read once per response, responses
 * are read completely, and `parentHash` is always selected.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeHash } from '../stream/testing/make-block.ts';
import { settle } from '../stream/testing/manual-clock.ts';
import { MemoryDataset } from '../stream/testing/memory-dataset.ts';
import { errorOf, HttpFixture, type HttpResponse } from './testing/http-fixture.ts';

let fixture: HttpFixture;
beforeEach(async () => {
  fixture = await HttpFixture.start({ dialects: ['ledger', 'solana'] });
});
afterEach(() => fixture.close());

async function restart(dataset: MemoryDataset): Promise<void> {
  await fixture.close();
  fixture = await HttpFixture.start({ dialects: ['ledger', 'solana'], dataset });
}

const finalizedPath = '/datasets/ledger-test/finalized-stream';

/** A request as these clients send it. Resolves with the whole response. */
function ask(fromBlock: number, path = '/datasets/ledger-test/stream'): Promise<HttpResponse> {
  const block = { number: true, hash: true, parentHash: true, timestamp: true };
  const fields = { block, reward: { pubkey: true } };
  return fixture.query({ type: 'solana', fromBlock, fields }, { path });
}

interface Header {
  readonly number: number;
  readonly parentHash: unknown;
}

function headersOf(answer: HttpResponse): Header[] {
  const lines = answer.body.toString().split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { header: Header }).header);
}

async function waitForWaiter(): Promise<void> {
  while (fixture.streams.waiterCount < 1) await settle();
}

test('behavior: a followed response ends after 10 s, and the next one names a newer finalized head', async () => {
  const first = ask(109);
  await waitForWaiter();
  fixture.dataset.extend([111]);
  fixture.dataset.finalize(109);
  await fixture.manualClock.advance(9_800);
  fixture.dataset.extend([112]);
  await fixture.manualClock.advance(400);
  const whole = await first;
  expect(whole.isComplete).toBe(true);
  expect(headersOf(whole).at(-1)?.number).toBe(112);
  expect(whole.headers['x-sqd-finalized-head-number']).toBe('103');
  const second = ask(112);
  await waitForWaiter();
  await fixture.manualClock.advance(10_200);
  expect((await second).headers['x-sqd-finalized-head-number']).toBe('109');
});

test('behavior: the dialect ledger follows for longer', async () => {
  const answer = fixture.query({ fromBlock: 109 });
  await waitForWaiter();
  let isOver = false;
  void answer.then(() => (isOver = true));
  await fixture.manualClock.advance(20_000);
  expect(isOver).toBe(false);
  await fixture.manualClock.advance(11_000);
  expect(headersOf(await answer).at(-1)?.number).toBe(110);
});

describe('the finalized stream', () => {
  test('behavior: a response sends no block above the finalized head of its own headers', async () => {
    const answer = await ask(99, finalizedPath);
    expect(headersOf(answer).map(({ number }) => number)).toEqual([102, 103]);
    expect(answer.headers).toMatchObject({
      'x-sqd-finalized-head-number': '103',
      'x-sqd-finalized-head-hash': makeHash('a', 103),
      'x-sqd-head-number': '103',
    });
    // A range that reaches further ends there too, and is read at once.
    const bounded = await fixture.query(
      { type: 'solana', fromBlock: 99, toBlock: 108, fields: {} },
      { path: finalizedPath },
    );
    expect(headersOf(bounded).at(-1)?.number).toBe(103);
  });

  test('behavior: the next request waits for finality and returns what became final', async () => {
    const next = ask(104, finalizedPath);
    await waitForWaiter();
    fixture.dataset.finalize(108);
    const answer = await next;
    expect(answer.headers['x-sqd-finalized-head-number']).toBe('108');
    expect(headersOf(answer).at(-1)?.number).toBe(108);
  });
});

test('behavior: slot 0 names the parent hash that a node reports, in both dialects', async () => {
  const dataset = new MemoryDataset();
  dataset.extend([0, 1, 2]);
  dataset.finalize(2);
  await restart(dataset);
  for (const type of ['ledger', 'solana']) {
    const answer = await fixture.query({
      type,
      fromBlock: 0,
      toBlock: 2,
      includeAllBlocks: true,
      fields: { block: { parentHash: true } },
    });
    expect(headersOf(answer).map(({ parentHash }) => parentHash)).toEqual([
      '1'.repeat(32),
      makeHash('a', 0),
      makeHash('a', 1),
    ]);
  }
});

test('behavior: every 200 and 204 names real_time as the source of its data', async () => {
  const lines = await fixture.query({ type: 'solana', fromBlock: 99, toBlock: 103, fields: {} });
  expect([lines.status, lines.headers['x-sqd-data-source']]).toEqual([200, 'real_time']);
  const above = fixture.query({ type: 'solana', fromBlock: 111, fields: {} });
  await waitForWaiter();
  await fixture.manualClock.advance(5_200);
  const { status, headers } = await above;
  expect([status, headers['x-sqd-data-source']]).toEqual([204, 'real_time']);
  const ledger = await fixture.query({ fromBlock: 99, toBlock: 103 });
  expect(ledger.headers['x-sqd-data-source']).toBeUndefined();
});

test('behavior: a wrong parent hash is a 409 with the blocks below, and resuming from them works', async () => {
  const wrong = { type: 'solana', fromBlock: 108, fields: {}, parentBlockHash: makeHash('x', 107) };
  const conflict = await fixture.query(wrong);
  const { previousBlocks } = JSON.parse(conflict.body.toString()) as {
    previousBlocks: { number: number; hash: string }[];
  };
  expect([conflict.status, previousBlocks.at(-1)]).toEqual([
    409,
    { number: 107, hash: makeHash('a', 107) },
  ]);
  const right = { ...wrong, toBlock: 108, parentBlockHash: previousBlocks.at(-1)?.hash };
  expect((await fixture.query(right)).status).toBe(200);
});

describe('the other paths of such services', () => {
  test('default: metadata, heights and the stored range are available', async () => {
    const read = async (path: string) => (await fixture.get(path)).body.toString();
    expect(await read('/datasets/ledger-test')).toBe(await read('/datasets/ledger-test/metadata'));
    expect(await read('/datasets/ledger-test/height')).toBe('103');
    const height = await fixture.get('/datasets/ledger-test/finalized-stream/height');
    expect([height.body.toString(), height.headers['content-type']]).toEqual([
      '103',
      'text/plain; charset=utf-8',
    ]);
    expect(JSON.parse(await read('/datasets/ledger-test/state'))).toEqual({
      worker_ranges: { 'ledger-test': { ranges: [{ begin: 99, end: 110 }] } },
      height: 110,
    });
  });

  test('error: dataset-starting if there is no finalized block', async () => {
    await restart(new MemoryDataset({ isStarted: false }));
    const answer = await fixture.get('/datasets/ledger-test/height');
    expect([answer.status, errorOf(answer).code]).toEqual([503, 'dataset-starting']);
    const state = await fixture.get('/datasets/ledger-test/state');
    expect(JSON.parse(state.body.toString())).toEqual({
      worker_ranges: { 'ledger-test': { ranges: [] } },
      height: null,
    });
  });

  test('error: path-unknown if the dataset does not allow the dialect', async () => {
    await fixture.close();
    fixture = await HttpFixture.start();
    for (const path of ['', '/height', '/finalized-stream/height', '/state']) {
      const answer = await fixture.get(`/datasets/ledger-test${path}`);
      expect([answer.status, errorOf(answer).code]).toEqual([404, 'path-unknown']);
    }
  });
});
