import { constants, crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { LinePiece } from './line-piece.ts';

function lend(text: string) {
  const memory = Buffer.from(text);
  let releaseCount = 0;
  const release = () => {
    releaseCount++;
    memory.fill(0);
  };
  const piece = LinePiece.ofReusable([memory], { release });
  return { piece, releases: () => releaseCount };
}

const textOf = (piece: LinePiece) => Buffer.concat(piece.parts).toString();

test('behavior: reused memory is released once', () => {
  const { piece, releases } = lend('line\n');
  expect(piece.isReusable).toBe(true);
  piece.release();
  piece.release();
  expect(piece.isReusable).toBe(false);
  expect(releases()).toBe(1);
});

test('behavior: a kept piece releases its memory and stays valid', async () => {
  const { piece, releases } = lend('line\n');
  const kept = LinePiece.keep([piece]);
  expect(releases()).toBe(1);
  expect(textOf(kept)).toBe('line\n');
  kept.release();
  piece.release();
  expect(releases()).toBe(1);
  expect((await kept.deflated())[0]?.plainLength).toBe(5);
});

test('behavior: several kept pieces become one piece with its own memory', async () => {
  const [one, two] = [lend('one\n'), lend('two\n')];
  const kept = LinePiece.keep([one.piece, new LinePiece(Buffer.from('own\n')), two.piece]);
  expect([one.releases(), two.releases(), kept.isReusable]).toEqual([1, 1, false]);
  expect(kept.parts.map((part) => Buffer.from(part).toString())).toEqual(['one\nown\ntwo\n']);
  expect((await kept.deflated()).map(({ plainLength }) => plainLength)).toEqual([12]);
});

test('behavior: a piece with only compressed bytes stays compressed when kept and joined', async () => {
  const memory = deflateRawSync('line\n', { finishFlush: constants.Z_SYNC_FLUSH });
  const part = { bytes: memory, crc: crc32('line\n'), plainLength: 5 };
  const release = () => void memory.fill(0);
  const piece = LinePiece.ofReusable([], { release, deflated: [part] });
  expect(piece.byteLength).toBe(memory.length);
  const joined = LinePiece.join([piece, new LinePiece(Buffer.from('next\n'))]);
  const [both] = await joined.deflated();
  const kept = LinePiece.keep([piece]);
  expect(memory[0]).toBe(0);
  const textOfDeflated = (bytes: Uint8Array) =>
    inflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
  expect(kept.deflatedParts?.map(({ bytes }) => textOfDeflated(bytes))).toEqual(['line\n']);
  expect(textOfDeflated(both?.bytes ?? Buffer.of())).toBe('line\nnext\n');
  expect(both).toMatchObject({ crc: crc32('line\nnext\n'), plainLength: 10 });
  // Plain text is also available.
  expect(textOf(LinePiece.join([kept, kept]))).toBe('line\nline\n');
  expect(textOf(kept)).toBe('line\n');
});

test('behavior: long lines are compressed in parts, and other tasks run in between', async () => {
  const text = Buffer.from(Array.from({ length: 60_000 }, (_, i) => `{"slot":${i}}\n`).join(''));
  const piece = new LinePiece(text.subarray(0, 700_000), text.subarray(700_000));
  const turns: string[] = [];
  setImmediate(() => turns.push('other'));
  const parts = await piece.deflated().finally(() => turns.push('done'));
  expect(turns).toEqual(['other', 'done']);
  expect(parts.map(({ plainLength }) => plainLength)).toEqual([
    262_144,
    262_144,
    175_712,
    text.length - 700_000,
  ]);
  const stream = Buffer.concat(parts.map(({ bytes }) => bytes));
  const options = { finishFlush: constants.Z_SYNC_FLUSH };
  expect(inflateRawSync(stream, options).equals(text)).toBe(true);
  expect(LinePiece.join([piece, piece]).deflatedParts).toMatchObject([
    { crc: crc32(Buffer.concat([text, text])), plainLength: 2 * text.length },
  ]);
});

test('default: a piece with its own memory is neither copied nor released', () => {
  const bytes = Buffer.from('line\n');
  const piece = new LinePiece(bytes);
  expect(piece.isReusable).toBe(false);
  expect(LinePiece.keep([piece])).toBe(piece);
  expect(piece.parts[0]).toBe(bytes);
});

test('behavior: a joined piece releases the memory of all its pieces; one piece is not joined', () => {
  const [one, two] = [lend('one\n'), lend('two\n')];
  const joined = LinePiece.join([one.piece, new LinePiece(Buffer.from('own\n')), two.piece]);
  expect([joined.isReusable, textOf(joined)]).toEqual([true, 'one\nown\ntwo\n']);
  joined.release();
  expect([one.releases(), two.releases()]).toEqual([1, 1]);
  expect(LinePiece.join([one.piece])).toBe(one.piece);
  const own = LinePiece.join([new LinePiece(Buffer.from('a')), new LinePiece(Buffer.from('b'))]);
  expect(own.isReusable).toBe(false);
});

test('behavior: joined pieces are compressed once each', async () => {
  const [one, two] = [new LinePiece(Buffer.from('one\n')), new LinePiece(Buffer.from('two\n'))];
  const joined = LinePiece.join([one, two]);
  expect(one.deflatedParts).toBeUndefined();
  const [whole] = await joined.deflated();
  const parts = [one, two].flatMap(({ deflatedParts }) => deflatedParts ?? []);
  expect(parts).toHaveLength(2);
  expect(Buffer.from(whole?.bytes ?? [])).toEqual(Buffer.concat(parts.map(({ bytes }) => bytes)));
});

test('behavior: a piece that was given both forms has both, and empty parts are left out', () => {
  const bytes = deflateRawSync('line\n', { finishFlush: constants.Z_SYNC_FLUSH });
  const deflated = [{ bytes, crc: crc32('line\n'), plainLength: 5 }];
  const plain = Buffer.from('line\n');
  const both = LinePiece.ofReusable([plain], { release: () => undefined, deflated });
  expect([both.parts[0], both.deflatedParts, both.byteLength]).toEqual([plain, deflated, 5]);
  expect(both.parts[0]).toBe(plain);
  const none = LinePiece.ofReusable([new Uint8Array(0)], { release: () => undefined });
  expect([none.parts, none.byteLength, none.deflatedParts]).toEqual([[], 0, undefined]);
});

test('behavior: short lines are compressed without giving other tasks a turn', async () => {
  const turns: string[] = [];
  setImmediate(() => turns.push('other'));
  const parts = await new LinePiece(Buffer.from('line\n')).deflated();
  expect([parts.length, turns]).toEqual([1, []]);
});
