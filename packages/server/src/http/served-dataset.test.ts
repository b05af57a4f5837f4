import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import { expect, test } from 'vitest';
import { DatasetDirectory, type ServedDataset } from './served-dataset.ts';

const served = {} as ServedDataset;
const names = (name: string, ...aliases: string[]) => ({ name, aliases, dialects: [] });

test('default: a dataset is found by its name and its aliases, first opening, then served', () => {
  const directory = new DatasetDirectory();
  const entry = directory.expect(names('one', 'first'));
  expect([directory.find('one'), directory.find('first'), directory.find('two')]).toEqual([
    entry,
    entry,
    undefined,
  ]);
  expect([entry.isOpening, entry.isRefused, entry.opened]).toEqual([true, false, undefined]);
  expect(() => entry.served).toThrow(expect.objectContaining({ code: 'dataset-opening' }));
  entry.become(served);
  expect([entry.isOpening, entry.isRefused]).toEqual([false, false]);
  expect([entry.opened, entry.served]).toEqual([served, served]);
});

test('error: dataset-unavailable after it could not be opened', () => {
  const directory = new DatasetDirectory();
  const [broken, good] = [directory.expect(names('one')), directory.expect(names('two'))];
  directory.expect(names('three'));
  broken.become('refused');
  good.become(served);
  expect([broken.isOpening, broken.isRefused, broken.opened]).toEqual([false, true, undefined]);
  expect(() => broken.served).toThrow(expect.objectContaining({ code: 'dataset-unavailable' }));
  expect(directory.refused).toEqual(['one']);
  expect(directory.all).toEqual([served]);
  expect(directory.entries.map((entry) => entry.names.name)).toEqual(['one', 'two', 'three']);
});

test('behavior: names are unique and have an allowed form', () => {
  const directory = new DatasetDirectory();
  directory.expect(names('one', 'first'));
  for (const taken of [names('first'), names('two', 'one'), names('Two'), names('x', '')]) {
    expect(() => directory.expect(taken)).toThrow();
  }
  const isAllowed = (name: string) => datasetNamePattern.test(name);
  expect(['a', '0-', 'a'.repeat(64)].filter(isAllowed)).toHaveLength(3);
  expect(['', '-a', 'A', 'a_b', 'a'.repeat(65), 'a\n'].filter(isAllowed)).toEqual([]);
});
