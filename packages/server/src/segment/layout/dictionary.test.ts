import { Random } from '@sluice/base/random';
import { expect, test } from 'vitest';
import { DictionaryBuilder, keyBytes } from './dictionary.ts';

const seed = 7;
const wordCount = keyBytes / 4;

function randomKeys(count: number, random: Random): Uint32Array {
  return Uint32Array.from({ length: count * wordCount }, () => random.uint32());
}

test('default: keys get ids in order of first appearance, and the same key the same id', () => {
  const random = Random.fromSeed(seed);
  const dictionary = new DictionaryBuilder();
  const keys = randomKeys(3_000, random);
  for (let round = 0; round < 2; round++) {
    for (let id = 0; id < 3_000; id++) expect(dictionary.idOfWords(keys, id * wordCount)).toBe(id);
  }
  expect(dictionary.count).toBe(3_000);
  expect(Buffer.compare(dictionary.keys, new Uint8Array(keys.buffer))).toBe(0);
});

test('behavior: a lookup of many keys finds most of them, and never another key', () => {
  const random = Random.fromSeed(seed);
  const dictionary = new DictionaryBuilder();
  const known = randomKeys(3_000, random);
  for (let id = 0; id < 3_000; id++) dictionary.idOfWords(known, id * wordCount);
  const found = dictionary.findAll(known);
  // A key whose slot has another key is not found: its code is 0.
  const wrong = [...found].filter((code, id) => code !== 0 && code !== id + 1);
  expect(wrong).toEqual([]);
  expect(found.filter((code) => code > 0).length).toBeGreaterThan(2_000);
  // A third of the slots are in use, so many unknown keys have the slot of a known one.
  expect([...new Set(dictionary.findAll(randomKeys(1_000, random)))]).toEqual([0]);
  expect(dictionary.count).toBe(3_000);
});
