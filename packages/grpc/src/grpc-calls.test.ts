import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { listeningPort } from '@sluice/base/listening-port';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { encodeFrame, FrameReader } from './frame-reader.ts';
import { GrpcChannel } from './grpc-channel.ts';
import { createGrpcServer, type GrpcServer, type ServedCall } from './grpc-server.ts';
import type { GrpcStatus } from './grpc-status.ts';
import { MessageReader } from './message-reader.ts';
import {
  encodePing,
  encodeSubscribeRequest,
  readSubscribeRequest,
  SUBSCRIBE_PATH,
} from './subscribe-request.ts';
import {
  encodeSubscribeUpdate,
  readSubscribeUpdate,
  SLOT_STATUSES,
  type SubscribeUpdate,
} from './subscribe-update.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(serve: (call: ServedCall) => void): Promise<GrpcChannel> {
  const grpc: GrpcServer = createGrpcServer(serve);
  grpc.server.listen(0, '127.0.0.1');
  await once(grpc.server, 'listening');
  closers.push(() => grpc.stop());
  const channel = new GrpcChannel(`http://127.0.0.1:${listeningPort(grpc.server)}`);
  closers.push(() => channel.close());
  return channel;
}

function open(channel: GrpcChannel, messageBytesMax = 1_000_000) {
  const messages: Uint8Array[] = [];
  const call = channel.open({
    path: SUBSCRIBE_PATH,
    metadata: { 'x-token': 'secret' },
    messageBytesMax,
    onMessage: (message) => messages.push(message),
  });
  return { call, messages };
}

describe('calls', () => {
  test('default: messages go both ways and the call ends with the status of the server', async () => {
    const seen: unknown[] = [];
    const channel = await start((call) => {
      seen.push(call.path, call.metadata['x-token']);
      call.onMessage = (message) => {
        for (let copy = 0; copy < 3; copy++) call.send(message);
        call.end({ code: 13, message: 'lagged: 100 % behind' });
      };
    });
    const { call, messages } = open(channel);
    const sent = new Uint8Array(300_000).map((_, i) => i);
    call.send(sent);
    expect(await call.ended).toEqual({ code: 13, message: 'lagged: 100 % behind' });
    expect(messages.map((message) => Buffer.compare(message, sent))).toEqual([0, 0, 0]);
    expect(seen).toEqual([SUBSCRIBE_PATH, 'secret']);
  });

  test('limit: a message above the limit ends the call before it is received', async () => {
    const channel = await start((call) => {
      call.send(new Uint8Array(100));
      call.send(new Uint8Array(101));
    });
    const { call, messages } = open(channel, 100);
    const message = 'a message of 101 bytes is larger than the limit of 100';
    expect(await call.ended).toEqual({ code: 8, message });
    expect(messages).toHaveLength(1);
  });

  test('error: a connection that is refused or breaks off is unavailable, without the address', async () => {
    const nobody = new GrpcChannel('http://127.0.0.1:1');
    closers.push(() => nobody.close());
    expect(await open(nobody).call.ended).toEqual({ code: 14, message: 'ECONNREFUSED' });
    const channel = await start((call) => {
      call.onMessage = () => call.destroy();
      call.send(new Uint8Array(3));
    });
    const { call } = open(channel);
    call.send(new Uint8Array(1));
    const { code, message } = await call.ended;
    expect([code, message.includes('127.0.0.1')]).toEqual([14, false]);
  });

  test('behavior: a window of 32 MB carries blocks while nobody reads the acknowledgments', async () => {
    const block = new Uint8Array(4 * 1024 * 1024);
    const channel = await start((call) => {
      call.onMessage = () => {
        for (let sent = 0; sent < 6; sent++) call.send(block);
        call.end({ code: 0, message: '' });
      };
    });
    const { call, messages } = open(channel, block.length);
    call.send(new Uint8Array());
    expect((await call.ended).code).toBe(0);
    expect(messages.map(({ length }) => length)).toEqual(Array(6).fill(block.length));
  });
});

describe('frames', () => {
  test('property: messages do not depend on how their bytes are divided', () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 30 });
    const lists = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 });
    fc.assert(
      fc.property(lists, cuts, (messages, sizes) => {
        const bytes = Buffer.concat(messages.map(encodeFrame));
        const read: Uint8Array[] = [];
        const frames = new FrameReader(40, (message) => read.push(Uint8Array.from(message)));
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          expect(frames.push(bytes.subarray(at, at + size))).toBeUndefined();
          at += size;
        }
        expect(frames.isAtEnd).toBe(true);
        expect(read).toEqual(messages);
      }),
    );
  });

  test('error: a compressed message ends the call', () => {
    const frame = encodeFrame(new Uint8Array(2));
    frame[0] = 1;
    const status: GrpcStatus | undefined = new FrameReader(9, () => undefined).push(frame);
    expect(status?.code).toBe(13);
  });
});

describe('messages', () => {
  const bytes = () => fc.uint8Array({ maxLength: 20 });
  const optional = () => fc.option(bytes(), { nil: undefined });
  const slot = () => fc.maxSafeNat();
  const part = fc.record({ index: fc.nat(), transaction: bytes(), meta: optional() });
  const meta = fc.record({
    slot: slot(),
    blockhash: fc.string(),
    parentSlot: slot(),
    parentBlockhash: fc.string(),
    transactionCount: fc.nat(),
    rewards: fc.array(bytes(), { maxLength: 3 }),
    blockTime: optional(),
    blockHeight: optional(),
  });
  const anyUpdate: fc.Arbitrary<SubscribeUpdate> = fc.oneof(
    fc.record({
      kind: fc.constant('slot' as const),
      slot: slot(),
      status: fc.constantFrom(...SLOT_STATUSES),
    }),
    fc.record({ kind: fc.constant('transaction' as const), slot: slot(), transaction: part }),
    fc.record({ kind: fc.constant('block-meta' as const), meta }),
    fc.record({ kind: fc.constant('block' as const), meta, transactions: fc.array(part) }),
    fc.constantFrom({ kind: 'ping' } as const, { kind: 'pong' } as const),
  );

  test('property: every update is read as it was written', () => {
    fc.assert(
      fc.property(anyUpdate, (update) => {
        const read = readSubscribeUpdate(encodeSubscribeUpdate(update));
        expect(toPlain(read)).toEqual(toPlain(update));
      }),
    );
  });

  test('property: a damaged update is read or rejected with grpc-message-invalid', () => {
    const anyDamage = fc.record({ at: fc.nat(), value: fc.nat({ max: 255 }), cut: fc.nat() });
    fc.assert(
      fc.property(anyUpdate, anyDamage, (update, { at, value, cut }) => {
        const encoded = Uint8Array.from(encodeSubscribeUpdate(update));
        encoded[at % encoded.length] = value;
        const damaged = encoded.subarray(0, encoded.length - (cut % encoded.length));
        try {
          readSubscribeUpdate(damaged);
        } catch (error) {
          expect(error).toMatchObject({ code: 'grpc-message-invalid' });
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('default: a request is encoded by the numbers of the public schema', () => {
    const request = {
      slots: true,
      blocks: true,
      transactions: false,
      blockMetas: false,
      commitment: 'confirmed' as const,
      fromSlot: 300,
    };
    const encoded = encodeSubscribeRequest(request);
    const entry = '0a06736c75696365';
    expect(Buffer.from(encoded).toString('hex')).toBe(
      `120a${entry}12002210${entry}1206100118002000300158ac02`,
    );
    expect(readSubscribeRequest(encoded)).toEqual({ ...request, pingId: undefined });
    expect(Buffer.from(encodePing(1)).toString('hex')).toBe('4a020801');
    expect(readSubscribeRequest(encodePing(1)).pingId).toBe(1);
  });

  test.each([
    ['a length beyond the end', '1a05'],
    ['an integer that does not end', '18ffffffffffffffffffff'],
    ['the field 0', '00'],
    ['a group', '0b'],
    ['a text that is not UTF-8', '3a03120180'],
  ])('error: grpc-message-invalid for %s', (_, hex) => {
    const read = () => readSubscribeUpdate(Buffer.from(hex, 'hex'));
    expect(read).toThrow(expect.objectContaining({ code: 'grpc-message-invalid' }));
  });

  test('behavior: integers of ten bytes and fixed ones are skipped', () => {
    const reader = new MessageReader(
      Buffer.from('08ffffffffffffffffff0109000000000000000015000000001807', 'hex'),
    );
    let last = 0;
    while (reader.next()) {
      if (reader.isInteger(3)) last = reader.integer();
      else reader.skip();
    }
    expect(last).toBe(7);
  });
});

/** Buffers and arrays of bytes with the same content are equal. */
function toPlain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, part: unknown) => {
      const isBytes = part instanceof Uint8Array;
      if (isBytes) return Buffer.from(part).toString('hex');
      const isBuffer = typeof part === 'object' && part !== null && 'data' in part;
      return isBuffer ? Buffer.from(part.data as number[]).toString('hex') : part;
    }),
  );
}

const recorded = fileURLToPath(
  new URL('../../../../shared/data/binary/stream-mainnet-slots.bin.gz', import.meta.url),
);

describe.skipIf(!existsSync(recorded))('a recorded stream of mainnet (skipped if absent)', () => {
  test('default: slots, block metas and a ping are read, entries are left out', () => {
    const file = gunzipSync(readFileSync(recorded));
    const counts: Record<string, number> = {};
    const metas: Extract<SubscribeUpdate, { kind: 'block-meta' }>['meta'][] = [];
    for (let at = 0; at < file.length; ) {
      const end = at + 4 + file.readUInt32BE(at);
      const update = readSubscribeUpdate(file.subarray(at + 4, end));
      const name = update.kind === 'slot' ? `slot ${update.status}` : update.kind;
      counts[name] = (counts[name] ?? 0) + 1;
      if (update.kind === 'block-meta') metas.push(update.meta);
      at = end;
    }
    const { other, ping, 'block-meta': metaCount, ...slots } = counts;
    expect([other, ping, metaCount]).toEqual([39_840, 1, 50]);
    expect(Object.values(slots).reduce((sum, count) => sum + count, 0)).toBe(295);
    const bySlot = new Map(metas.map((meta) => [meta.slot, meta]));
    const linked = metas.filter(
      ({ parentSlot, parentBlockhash }) => bySlot.get(parentSlot)?.blockhash === parentBlockhash,
    );
    expect(linked.length).toBe(metas.length - 1);
    expect(metas.every(({ transactionCount }) => transactionCount > 500)).toBe(true);
  });
});
