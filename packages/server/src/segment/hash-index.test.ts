import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildHashIndex, type HashIndex, lookUp } from './hash-index.ts';

/** Looks a hash up as a reader does, and checks that it reads inside of the arrays. */
function find(index: HashIndex, hash: number): number[] {
  return lookUp(hash, index.blocks.length, (part, offset, length) => {
    const array = index[part];
    expect(offset + length).toBeLessThanOrEqual(array.length);
    return array.subarray(offset, offset + length);
  });
}

/** Hashes without order, the same in every run. */
function noise(length: number, seed: number): Uint32Array {
  let state = seed;
  return Uint32Array.from({ length }, () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x9e37_79b9;
    return Math.imul(state ^ (state >>> 13), 0x297a_2d39) >>> 0;
  });
}

const indexOf = (hashes: Uint32Array) =>
  buildHashIndex({ hashes, values: hashes.map((_, i) => i) });

test('property: every entry is found, and what is found has the bucket and fingerprint', () => {
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

test('behavior: an index of nothing finds nothing', () => {
  expect(find(indexOf(new Uint32Array(0)), 12_345)).toEqual([]);
  expect(lookUp(1, 0, () => expect.fail('nothing to read'))).toEqual([]);
});

test('limit: of keys that are not there about 3 % pass, where buckets are as full as they get', () => {
  const index = indexOf(noise(8 << 10, 7));
  const absent = noise(40_000, 99);
  const passed = absent.filter((hash) => find(index, hash).length > 0).length;
  expect(passed / absent.length).toBeGreaterThan(0.025);
  expect(passed / absent.length).toBeLessThan(0.036);
});

test('behavior: a lookup reads some hundred bytes, however large the index', () => {
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

test('limit: entries that no number of buckets tells apart are all found', () => {
  // Whoever makes up addresses can make thousands with one hash.
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
