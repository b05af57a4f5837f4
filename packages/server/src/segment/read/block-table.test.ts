import { expect, test } from 'vitest';
import { PlaneInts } from '../encoding/plane-ints.ts';
import { BlockHeaders } from './block-table.ts';

test('error: segment-damaged: a count of blocks that the table does not have is refused', () => {
  const columns = {
    blockCount: 2 ** 31,
    readBlockInts: () => new PlaneInts(Uint8Array.of(1), 1, 1, false),
    readBlockBytes: () => new Uint8Array(32),
  };
  expect(() => new BlockHeaders(columns)).toThrow(
    expect.objectContaining({ code: 'segment-damaged' }),
  );
});
