import { expect, test } from 'vitest';
import { joinBytes } from './join-bytes.ts';

test('behavior: bytes are joined in memory that they share with no others', () => {
  const joined = joinBytes([Buffer.from('ab'), new Uint8Array(0), Buffer.from('c')]);
  expect(Buffer.from(joined).toString()).toBe('abc');
  expect(joined.buffer.byteLength).toBe(3);
  expect(joinBytes([])).toHaveLength(0);
});
