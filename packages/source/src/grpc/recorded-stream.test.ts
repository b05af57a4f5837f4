/** Replays a recorded stream of mainnet over real HTTP/2. It has slots, entries and block metas; its transactions are made up. */
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Random } from '@sluice/base/random';
import {
  type BlockMeta,
  readSubscribeUpdate,
  type SubscribeUpdate,
} from '@sluice/grpc/subscribe-update';
import { toSlot } from '@sluice/ledger/primitives';
import { afterEach, describe, expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import { GrpcSource } from './grpc-source.ts';
import { partOf, ScriptedServer, type ScriptedStream } from './testing/scripted-server.ts';

const recorded = new URL(
  '../../../../../shared/data/binary/stream-mainnet-slots.bin.gz',
  import.meta.url,
);

interface Message {
  readonly bytes: Uint8Array;
  readonly update: SubscribeUpdate;
}

/** Each message comes after its length. */
function readRecorded(): Message[] {
  const file = gunzipSync(readFileSync(recorded));
  const messages: Message[] = [];
  for (let at = 0; at < file.length; ) {
    const bytes = file.subarray(at + 4, at + 4 + file.readUInt32BE(at));
    messages.push({ bytes, update: readSubscribeUpdate(bytes) });
    at += 4 + bytes.length;
  }
  return messages;
}

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(): Promise<{ source: GrpcSource; stream: ScriptedStream }> {
  const server = await ScriptedServer.start();
  const parts = { subscribe: 'transactions', commitment: 'processed' } as const;
  const source = new GrpcSource(
    { kind: 'grpc', name: 'grpc-1', url: server.url, ...parts },
    { clock: new ManualClock(), random: Random.fromSeed(1) },
  );
  const stop = new AbortController();
  const running = source.notices.run(stop.signal);
  closers.push(
    () => server.stop(),
    async () => {
      stop.abort();
      await running;
    },
  );
  return { source, stream: await server.next() };
}

/** Sends the transactions of a block, the last one first. */
async function sendTransactions(
  stream: ScriptedStream,
  { slot, transactionCount }: BlockMeta,
): Promise<void> {
  for (let index = transactionCount - 1; index >= 0; index--) {
    stream.send({ kind: 'transaction', slot, transaction: partOf(slot, index) });
  }
  await stream.flush();
}

describe.skipIf(!existsSync(recorded))('a recorded stream of mainnet (skipped if absent)', () => {
  const messages = existsSync(recorded) ? readRecorded() : [];
  const metas = messages.flatMap(({ update }) =>
    update.kind === 'block-meta' ? [update.meta] : [],
  );
  const lastSlotOf = (status: string) =>
    messages.reduce(
      (last, { update }) =>
        update.kind === 'slot' && update.status === status ? Math.max(last, update.slot) : last,
      0,
    );

  test('error: block metas whose transactions never come give no block', async () => {
    const { source, stream } = await start();
    for (const { bytes } of messages) stream.call.send(bytes);
    // The recorded ping is answered too, so the first answer may be to that one.
    for (let i = 0; i < 2; i++) await stream.flush();
    expect(metas).toHaveLength(50);
    expect(await source.slot('confirmed')).toMatchObject({ reason: 'pending' });
  });

  test('behavior: each block is used when its transactions are there and its slot is confirmed', async () => {
    const { source, stream } = await start();
    for (const { bytes, update } of messages) {
      if (update.kind === 'block-meta') await sendTransactions(stream, update.meta);
      stream.call.send(bytes);
    }
    for (let i = 0; i < 2; i++) await stream.flush();
    const confirmed = lastSlotOf('confirmed');
    const used = metas.filter(({ slot }) => slot <= confirmed);
    expect(used.length).toBeGreaterThan(40);
    const range = { first: used[0]?.slot ?? 0, last: confirmed };
    const listed = await source.listSlots(range, 'confirmed');
    expect(listed).toEqual({ kind: 'ok', value: used.map(({ slot }) => slot) });
    const finalized = lastSlotOf('finalized');
    expect(finalized).toBeGreaterThan(range.first);
    expect(await source.slot('finalized')).toEqual({ kind: 'ok', value: finalized });
    for (const { slot, blockhash, parentSlot, parentBlockhash } of used) {
      expect(await source.header(toSlot(slot), 'confirmed')).toMatchObject({
        value: { number: slot, hash: blockhash, parentSlot, parentHash: parentBlockhash },
      });
    }
  });
});
