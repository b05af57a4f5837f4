import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { repositoryRoot } from '../repository-files.ts';

interface PlantedBug {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

test('behavior: each planted bug changes one place of the code', async () => {
  const module: { plantedBugs: readonly PlantedBug[] } = await import(
    `${import.meta.dirname}/planted-bugs.mjs`
  );
  const { plantedBugs } = module;
  expect(plantedBugs.length).toBeGreaterThanOrEqual(30);
  for (const { name, file, find, replace } of plantedBugs) {
    const source = readFileSync(`${repositoryRoot}/${file}`, 'utf8');
    expect(source.split(find).length - 1, name).toBe(1);
    expect(replace, name).not.toBe(find);
  }
  const names = plantedBugs.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
