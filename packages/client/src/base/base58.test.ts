import { base58 } from '@scure/base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeBase58, encodeBase58, isAddress, parseAddress } from './base58.ts';
import { anchorDiscriminator, dataPrefix, toHex } from './discriminator.ts';
import { isSluiceError } from './sluice-error.ts';

const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

test('property: base58 agrees with another implementation in both directions', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      const text = encodeBase58(bytes);
      expect(text).toBe(base58.encode(bytes));
      expect(decodeBase58(text)).toEqual(bytes);
    }),
  );
});

test('default: an address is base58 of 32 bytes', () => {
  expect(parseAddress(tokenProgram)).toBe(tokenProgram);
  expect(isAddress('1'.repeat(32))).toBe(true);
  expect(isAddress('1'.repeat(31))).toBe(false);
  expect(isAddress(`${tokenProgram}1`)).toBe(false);
});

test('error: base58-invalid contains the text, and shortens a long one', () => {
  const thrown = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      return isSluiceError(error, 'base58-invalid') ? error.message : String(error);
    }
    return undefined;
  };
  expect(thrown(() => decodeBase58('0OIl'))).toContain('"0OIl"');
  expect(thrown(() => parseAddress('abc'))).toContain('32 bytes');
  expect(thrown(() => decodeBase58(`0${'1'.repeat(500)}`))?.length).toBeLessThan(400);
  expect(thrown(() => decodeBase58('1'.repeat(30_000)))).toBeDefined();
});

test('behavior: discriminators are computed from a name or from data', async () => {
  // The well-known one of Anchor's events: the first eight bytes of sha256("anchor:event"), reversed, are 0xe445a52e51cb9a1d.
  expect(await anchorDiscriminator('event', 'anchor')).toBe('0x1d9acb512ea545e4');
  expect(await anchorDiscriminator('swap')).toBe('0xf8c69e91e17587c8');
  expect(dataPrefix(encodeBase58(Uint8Array.of(3, 255, 0, 1)), 2)).toBe('0x03ff');
  expect(dataPrefix(encodeBase58(Uint8Array.of(3)), 2)).toBeUndefined();
  expect(toHex(new Uint8Array())).toBe('0x');
});
