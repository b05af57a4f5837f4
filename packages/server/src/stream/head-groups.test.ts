import { afterEach, expect, test } from 'vitest';
import type { LinePiece } from './line-piece.ts';
import type { LineStream } from './line-stream.ts';
import { settle } from './testing/manual-clock.ts';
import { MemoryDataset } from './testing/memory-dataset.ts';
import { StreamFixture } from './testing/stream-fixture.ts';

let fixture: StreamFixture;
afterEach(() => fixture.close());

/** A stream at the head. New blocks are sent to it directly while its socket accepts data; otherwise it reads them itself. */
class Reader {
  readonly #lines: LineStream;
  readonly sent: LinePiece[] = [];
  readonly given: LinePiece[] = [];
  hasRoom = true;
  end: string | undefined;

  constructor(lines: LineStream) {
    this.#lines = lines;
    lines.sendTo({
      offer: (piece) => {
        if (this.hasRoom) this.sent.push(piece);
        return this.hasRoom;
      },
    });
    void this.#read();
  }

  get all(): number[] {
    return slotsOf([...this.sent, ...this.given]);
  }

  async #read(): Promise<void> {
    for (;;) {
      const next = await this.#lines.next();
      if (next.done === true) {
        this.end = next.value;
        return;
      }
      this.given.push(next.value);
    }
  }
}

function slotsOf(pieces: readonly LinePiece[]): number[] {
  const text = pieces.map(({ parts }) => Buffer.concat(parts).toString()).join('');
  return [...text.matchAll(/"number":(\d+)/g)].map(([, slot]) => Number(slot));
}

/** Creates streams of all blocks that wait at the head. */
async function waitAt(head: number, count: number): Promise<Reader[]> {
  const dataset = new MemoryDataset();
  dataset.extend(Array.from({ length: head + 1 }, (_, i) => i));
  fixture = new StreamFixture(dataset);
  const readers: Reader[] = [];
  for (let i = 0; i < count; i++) {
    const opened = await fixture.open({ fromBlock: head, includeAllBlocks: true });
    if (opened.kind !== 'lines') throw opened;
    readers.push(new Reader(opened.lines));
  }
  await settle();
  return readers;
}

async function grow(...slots: readonly number[]): Promise<void> {
  fixture.dataset.extend(slots);
  await settle();
}

test('default: all waiting streams are sent the same pieces directly', async () => {
  const readers = await waitAt(5, 3);
  await grow(6);
  await grow(7, 8);
  for (const { sent, given } of readers) {
    expect([slotsOf(given), slotsOf(sent)]).toEqual([[5], [6, 7, 8]]);
    sent.forEach((piece, i) => {
      expect(piece).toBe(readers[0]?.sent[i]);
    });
  }
  expect(readers[0]?.sent.length).toBe(2);
});

test('behavior: a stream with a full socket reads the blocks itself, and is sent the next ones directly again', async () => {
  const [full, other] = await waitAt(5, 2);
  if (full === undefined || other === undefined) throw new TypeError('two readers');
  full.hasRoom = false;
  await grow(6);
  full.hasRoom = true;
  await grow(7);
  await grow(8);
  expect([slotsOf(full.given), slotsOf(full.sent)]).toEqual([
    [5, 6],
    [7, 8],
  ]);
  expect(other.all).toEqual([6, 7, 8, 5]);
});

test('behavior: a stream that joins later is sent the blocks after its own position', async () => {
  const [first] = await waitAt(5, 1);
  await grow(6);
  const opened = await fixture.open({ fromBlock: 6, includeAllBlocks: true });
  if (opened.kind !== 'lines') throw opened;
  const late = new Reader(opened.lines);
  await settle();
  await grow(7);
  expect([slotsOf(late.given), slotsOf(late.sent)]).toEqual([[6], [7]]);
  expect(slotsOf(first?.sent ?? [])).toEqual([6, 7]);
});

test('behavior: a fork ends all streams, and none was sent a block of the other branch', async () => {
  const readers = await waitAt(5, 3);
  await grow(6);
  fixture.dataset.fork(5, [7], 'b');
  await settle();
  for (const { sent, end } of readers) expect([slotsOf(sent), end]).toEqual([[6], 'fork']);
});

test('behavior: a fork that skips the newest slot ends all streams, also if all blocks below are sealed', async () => {
  const readers = await waitAt(5, 3);
  await grow(6);
  fixture.dataset.finalize(5);
  fixture.dataset.seal(5);
  fixture.dataset.fork(5, [7], 'b');
  await settle();
  for (const { sent, end } of readers) expect([slotsOf(sent), end]).toEqual([[6], 'fork']);
});

test('behavior: a stream that was sent blocks for 300 s ends', async () => {
  const [reader] = await waitAt(5, 1);
  for (let second = 0; second < 290; second += 10) {
    await fixture.clock.advance(10_000);
    await grow(6 + second / 10);
  }
  expect(reader?.end).toBeUndefined();
  await fixture.clock.advance(11_000);
  expect(reader?.end).toBe('time');
});

test('behavior: a stream ends 30 s after the last block that it was sent', async () => {
  const [quiet] = await waitAt(5, 1);
  await fixture.clock.advance(20_000);
  await grow(6);
  await fixture.clock.advance(29_000);
  expect(quiet?.end).toBeUndefined();
  await fixture.clock.advance(2_000);
  expect(quiet?.end).toBe('quiet');
});
