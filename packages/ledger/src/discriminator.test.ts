import { base58 } from '@scure/base';
import { expect, test } from 'vitest';
import { discriminator } from './discriminator.ts';

test('default: the discriminator is the first bytes in lower-case hex', () => {
  const data = base58.encode(Uint8Array.from([0xe4, 0x45, 0xa5, 0x2e, 0x51, 0xcb, 0x9a, 0x1d, 7]));
  expect(discriminator(data, 1)).toBe('0xe4');
  expect(discriminator(data, 2)).toBe('0xe445');
  expect(discriminator(data, 4)).toBe('0xe445a52e');
  expect(discriminator(data, 8)).toBe('0xe445a52e51cb9a1d');
});

test('behavior: data that is too short has no discriminator, and leading zero bytes are kept', () => {
  expect(discriminator('', 1)).toBeNull();
  expect(discriminator('', 0)).toBe('0x');
  const three = base58.encode(Uint8Array.from([0, 0, 5]));
  expect(discriminator(three, 1)).toBe('0x00');
  expect(discriminator(three, 2)).toBe('0x0000');
  expect(discriminator(three, 3)).toBe('0x000005');
  expect(discriminator(three, 4)).toBeNull();
  const seven = base58.encode(Uint8Array.from([0, 0, 0, 0, 0, 0, 0]));
  expect(seven).toBe('1111111');
  expect(discriminator(seven, 4)).toBe('0x00000000');
  expect(discriminator(seven, 8)).toBeNull();
  const eight = base58.encode(Uint8Array.from([255, 255, 255, 255, 255, 255, 255, 255]));
  expect(discriminator(eight, 8)).toBe('0xffffffffffffffff');
});
