import { expect, test } from 'vitest';
import { emptySnapshot } from '../chain/chain-snapshot.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import { makeHash } from '../stream/testing/make-block.ts';
import { MemoryDataset } from '../stream/testing/memory-dataset.ts';
import { buildMetadata, buildStatus, countBlocks, lagSeconds } from './describe-dataset.ts';
import { makeChain } from './testing/http-fixture.ts';

const served = { dialects: ['ledger'] as const, ledgerUnixMs: () => 1_738_368_112_400 };

test('default: the status counts sealed and hot blocks', () => {
  const reader = makeChain();
  reader.seal(102);
  const { segments } = reader.snapshot();
  expect(buildStatus({ ...served, reader, ingest: () => null })).toEqual({
    dataset: 'ledger-test',
    aliases: ['ledger-alias'],
    real_time: true,
    dialects: ['ledger'],
    votes: 'drop',
    allow_missing: [],
    genesis_hash: null,
    start_block: 99,
    head: { number: 110, hash: makeHash('a', 110) },
    finalized_head: { number: 103, hash: makeHash('a', 103) },
    block_count: 9,
    sealed_bytes: segments[0]?.byteLength,
    head_lag_seconds: 2,
    behind_slots: null,
    storage: { kind: 'open' },
    sources: [],
    backfill: null,
    alarms: [],
    counters: {},
  });
  expect(segments[0]?.byteLength).toBeGreaterThan(0);
  expect(countBlocks(reader.snapshot())).toBe(9);
});

test('behavior: the status of a followed dataset has the state of its sources', () => {
  const ingest = {
    behindSlots: 0,
    sources: [{ name: 'one' }],
    backfill: { to: 5 },
  } as unknown as IngestStatus;
  const status = buildStatus({ ...served, reader: makeChain(), ingest: () => ingest });
  expect(status).toMatchObject({
    behind_slots: 0,
    sources: [{ name: 'one' }],
    backfill: { to: 5 },
  });
});

test('behavior: the lag is unknown without a block, and metadata without a start', () => {
  expect(lagSeconds(emptySnapshot, 1_000)).toBe(null);
  expect(buildMetadata(new MemoryDataset({ isStarted: false }))).toBe(undefined);
  expect(lagSeconds(makeChain().snapshot(), 1_738_368_109_600)).toBe(0);
});
