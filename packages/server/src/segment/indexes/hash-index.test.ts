import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildHashIndex, type HashIndex, lookUp } from './hash-index.ts';

/** Looks a hash up like a reader, and checks that reads stay inside the arrays. */
function find(index: HashIndex, hash: number): number[] {
  return lookUp(hash, index.blocks.length, (part, offset, length) => {
    const array = index[part];
    expect(offset + length).toBeLessThanOrEqual(array.length);
    return array.subarray(offset, offset + length);
  });
}

/** Pseudo-random hashes, the same in every run. */
function noise(length: number, seed: number): Uint32Array {
  let state = seed;
  return Uint32Array.from({ length }, () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x9e37_79b9;
    return Math.imul(state ^ (state >>> 13), 0x297a_2d39) >>> 0;
  });
}

const indexOf = (hashes: Uint32Array) =>
  buildHashIndex({ hashes, values: hashes.map((_, i) => i) });

test('property: every entry is found, and every result has the bucket and fingerprint of the hash', () => {
  const hash = fc.oneof(fc.nat(0xffff_ffff), fc.constantFrom(0, 1, 0xff, 0xffff_ffff));
  const entries = fc.array(fc.tuple(hash, fc.nat(0xff_ffff)), { maxLength: 700 });
  fc.assert(
    fc.property(entries, (all) => {
      const hashes = Uint32Array.from(all, ([own]) => own);
      const index = buildHashIndex({ hashes, values: Uint32Array.from(all, ([, value]) => value) });
      expect(index.fingerprints.length).toBe(all.length);
      for (const [own, value] of all) {
        const found = find(index, own);
        expect(found).toContain(value);
        for (const other of found)
          expect(all.some(([h, v]) => v === other && (h & 0xff) === (own & 0xff))).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

test('behavior: an empty index finds nothing', () => {
  expect(find(indexOf(new Uint32Array(0)), 12_345)).toEqual([]);
  expect(lookUp(1, 0, () => expect.fail('nothing to read'))).toEqual([]);
});

test('limit: about 3 % of absent keys pass the fingerprints if the buckets are as full as possible', () => {
  const index = indexOf(noise(8 << 10, 7));
  const absent = noise(40_000, 99);
  const passed = absent.filter((hash) => find(index, hash).length > 0).length;
  expect(passed / absent.length).toBeGreaterThan(0.025);
  expect(passed / absent.length).toBeLessThan(0.036);
});

test('behavior: a lookup reads about a hundred bytes for any size of the index', () => {
  const index = indexOf(noise(200_000, 3));
  let most = 0;
  for (const hash of noise(2_000, 5)) {
    let read = 0;
    lookUp(hash, index.blocks.length, (part, offset, length) => {
      read += length;
      return index[part].subarray(offset, offset + length);
    });
    most = Math.max(most, read);
  }
  expect(most).toBeLessThan(200);
});

test('limit: entries with the same hash are all found', () => {
  // An attacker can create thousands of addresses with the same hash.
  for (const shared of [0, 0x1234_5678, 0xffff_ffff]) {
    const same = new Uint32Array(1_500).fill(shared);
    const others = noise(3_000, 11);
    const hashes = Uint32Array.from([...same, ...others]);
    const index = indexOf(hashes);
    expect(index.blocks.length).toBeLessThan(100_000);
    const found = find(index, shared);
    for (let i = 0; i < same.length; i++) expect(found).toContain(i);
    others.forEach((hash, i) => {
      expect(find(index, hash)).toContain(same.length + i);
    });
  }
});
