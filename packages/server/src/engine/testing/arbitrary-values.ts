/** Random values of a ledger: few addresses, so that filters match, and every extreme value of a record. */
import { base58 } from '@scure/base';
import type { Address, BlockHash, Signature } from '@sluice/ledger/primitives';
import fc, { type Arbitrary } from 'fast-check';

/** Addresses with texts of every length from 32 to 44, some with the same start. */
export const ADDRESS_POOL = [
  '11111111111111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'So11111111111111111111111111111111111111112',
  'So11111111111111111111111111111111111111113',
  ...[1, 9, 27, 31].map((zeroCount) =>
    base58.encode(new Uint8Array(32).fill(0, 0, zeroCount).fill(77 + zeroCount, zeroCount)),
  ),
  ...[1, 2, 255].map((byte) => base58.encode(new Uint8Array(32).fill(byte))),
] as unknown as readonly [Address, ...Address[]];

/** An address that no block has. */
export const ABSENT_ADDRESS = base58.encode(new Uint8Array(32).fill(200)) as Address;

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });

export const arbitraryAddress: Arbitrary<Address> = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...ADDRESS_POOL) },
  { weight: 1, arbitrary: bytes32.map((bytes) => base58.encode(bytes) as Address) },
);

export const arbitraryHash: Arbitrary<BlockHash> = bytes32.map(
  (bytes) => base58.encode(bytes) as BlockHash,
);

const arbitrarySignatureBytes = fc.uint8Array({ minLength: 64, maxLength: 64 });
// Encoding long values as base58 is slow, so most signatures come from a pool.
const signaturePool = Array.from({ length: 8 }, (_, at) => new Uint8Array(64).fill(at * 36, at));

export const arbitrarySignature: Arbitrary<Signature> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(...signaturePool.map((bytes) => encodeSignature(bytes))),
  },
  { weight: 1, arbitrary: arbitrarySignatureBytes.map(encodeSignature) },
);

function encodeSignature(bytes: Uint8Array): Signature {
  return base58.encode(bytes) as Signature;
}

export const arbitraryU64: Arbitrary<bigint> = fc.oneof(
  fc.constantFrom(0n, 1n, 9n, 10n, 5_000n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n),
  fc.constantFrom(2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 2n, 2n ** 64n - 1n),
  fc.constantFrom(9_999_999_999_999_999_999n, 10_000_000_000_000_000_000n),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
);

export const arbitraryI64: Arbitrary<bigint> = fc.oneof(
  fc.constantFrom(0n, -1n, 1n, -(2n ** 53n) - 1n, 2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
);

/** Typical log text, and unusual text. */
export const arbitraryText: Arbitrary<string> = fc.oneof(
  fc.constantFrom('', ' ', 'Instruction: Swap', 'ray_log: A9Y2l2ZwZXJz', 'x'.repeat(300)),
  fc.constantFrom('two\nlines\r\nand\u2028more\u2029', 'null', '{"json":"inside"}', '/path\\file'),
  fc.constantFrom(
    '"\\\b\f\n\r\t\u0000\u0001\u001f\u007f\u0080',
    'é ß 中文',
    '😀 𝔘 \u{10ffff}',
    '\ufeff\ufffe',
  ),
  fc.constantFrom(
    `${'a'.repeat(15)}"`,
    `${'a'.repeat(16)}"`,
    `${'a'.repeat(17)}\n${'é'.repeat(33)}`,
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

/** The starts of data that queries filter by. */
const dataStarts = [
  '',
  '09',
  '0300',
  '02000000',
  '00000000',
  'e445a52e51cb9a1d',
  '0000000000000000ff',
].map((hex) => Uint8Array.from(Buffer.from(hex, 'hex')));

const arbitraryDataTail = fc.oneof(
  { weight: 4, arbitrary: fc.uint8Array({ maxLength: 2 }) },
  { weight: 3, arbitrary: fc.uint8Array({ maxLength: 24 }) },
  { weight: 1, arbitrary: fc.uint8Array({ minLength: 25, maxLength: 200 }) },
);

const longestData = base58.encode(new Uint8Array(1232).map((_, at) => (at * 31) % 256));

export const arbitraryData: Arbitrary<string> = fc.oneof(
  {
    weight: 40,
    arbitrary: fc
      .tuple(fc.constantFrom(...dataStarts), arbitraryDataTail)
      .map(([start, tail]) => base58.encode(Uint8Array.of(...start, ...tail))),
  },
  { weight: 1, arbitrary: fc.constant(longestData) },
);

export const orNull = <Value>(arbitrary: Arbitrary<Value>): Arbitrary<Value | null> =>
  fc.option(arbitrary, { nil: null, freq: 4 });
