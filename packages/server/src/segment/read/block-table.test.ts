import { expect, test } from 'vitest';
import { BlockHeaders } from './block-table.ts';

test('error: segment-damaged: a count of blocks that the table does not have is refused', () => {
  const columns = {
    blockCount: 2 ** 31,
    readBlockInts: () => new Uint32Array(1),
    readBlockLongs: () => new BigUint64Array(1),
    readBlockBytes: () => new Uint8Array(32),
  };
  expect(() => new BlockHeaders(columns)).toThrow(
    expect.objectContaining({ code: 'segment-damaged' }),
  );
});
