import { expect, test } from 'vitest';
import { LinePiece } from './line-piece.ts';

function lend(text: string) {
  const memory = Buffer.from(text);
  let releaseCount = 0;
  const release = () => {
    releaseCount++;
    memory.fill(0);
  };
  const piece = LinePiece.ofLent([memory], { release });
  return { piece, releases: () => releaseCount };
}

const textOf = (piece: LinePiece) => Buffer.concat(piece.parts).toString();

test('behavior: lent memory is given back once', () => {
  const { piece, releases } = lend('line\n');
  expect(piece.isLent).toBe(true);
  piece.release();
  piece.release();
  expect(piece.isLent).toBe(false);
  expect(releases()).toBe(1);
});

test('behavior: a piece that is kept gives its memory back and stays', async () => {
  const { piece, releases } = lend('line\n');
  piece.keep();
  expect(releases()).toBe(1);
  expect(textOf(piece)).toBe('line\n');
  piece.release();
  expect(releases()).toBe(1);
  expect((await piece.deflated())[0]?.plainLength).toBe(5);
});

test('default: a piece of its own memory is neither copied nor released', () => {
  const bytes = Buffer.from('line\n');
  const piece = new LinePiece(bytes);
  expect(piece.isLent).toBe(false);
  piece.keep();
  expect(piece.parts[0]).toBe(bytes);
});
