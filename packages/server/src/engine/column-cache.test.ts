import { expect, test } from 'vitest';
import { ColumnCache, type Shelf } from './column-cache.ts';
import { EngineKernel } from './engine-kernel.ts';

const columnBytes = 64_000;

/** A cache with room for so many columns beside what the kernel itself takes. */
function cacheFor(columnCount: number) {
  const kernel = new EngineKernel();
  const room = columnCount * (columnBytes + 1_024);
  return { kernel, cache: new ColumnCache(kernel, kernel.allocatedBytes + room) };
}

/** One step a column, as queries go through row groups. Answers how many were there. */
function round(
  { kernel, cache }: ReturnType<typeof cacheFor>,
  shelf: Shelf,
  names: readonly string[],
  isDear: (name: string) => boolean = () => false,
): number {
  let found = 0;
  for (const name of names) {
    const step = cache.beginStep();
    if (step.get(shelf, name) !== undefined) found++;
    else {
      const at = kernel.allocate(columnBytes);
      const column = { at, width: 1, count: columnBytes, offsets: 0 };
      step.put(shelf, name, { column, allocation: at }, { isDear: isDear(name) });
    }
    step.end();
  }
  return found;
}

const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${prefix} ${i}`);

test('behavior: of a round a little larger than the cache most is found again', () => {
  const modules = cacheFor(40);
  const shelf: Shelf = new Map();
  const columns = names('a', 50);
  for (let i = 0; i < 5; i++) round(modules, shelf, columns);
  expect(round(modules, shelf, columns)).toBeGreaterThanOrEqual(36);
});

test('behavior: a short round beside a long one does not cost the long one what it had', () => {
  const modules = cacheFor(40);
  const shelf: Shelf = new Map();
  const [long, short] = [names('a', 50), names('b', 12)];
  const both = () => {
    const found = round(modules, shelf, long);
    round(modules, shelf, short);
    round(modules, shelf, short);
    return found;
  };
  for (let i = 0; i < 5; i++) both();
  expect(Math.min(both(), both(), both())).toBeGreaterThanOrEqual(25);
});

test('behavior: what nobody asks for any more makes room', () => {
  const modules = cacheFor(40);
  const shelf: Shelf = new Map();
  for (let i = 0; i < 5; i++) round(modules, shelf, names('a', 40));
  for (let i = 0; i < 5; i++) round(modules, shelf, names('b', 35));
  expect(round(modules, shelf, names('b', 35))).toBe(35);
});

test('behavior: what costs most to load stays before what costs less', () => {
  const modules = cacheFor(40);
  const shelf: Shelf = new Map();
  const columns = [...names('cheap', 30), ...names('dear', 30)];
  const isDear = (name: string) => name.startsWith('dear');
  for (let i = 0; i < 5; i++) round(modules, shelf, columns, isDear);
  expect(round(modules, shelf, names('dear', 30))).toBe(30);
});

test('behavior: what serves a few steps goes before all else, but for the newest of it', () => {
  const modules = cacheFor(40);
  const { kernel, cache } = modules;
  const shelf: Shelf = new Map();
  const brief = names('brief', 30);
  const step = cache.beginStep();
  for (const name of brief) {
    const at = kernel.allocate(columnBytes);
    const column = { at, width: 1, count: columnBytes, offsets: 0 };
    step.offer(shelf, name, { column, allocation: at });
  }
  step.end();
  round(modules, shelf, names('a', 32));
  const isThere = (name: string) => cache.beginStep().peek(shelf, name) !== undefined;
  // An eighth of the cache and of what the kernel itself takes is room for six.
  expect(brief.map(isThere).lastIndexOf(false)).toBe(23);
  expect(names('a', 32).every(isThere)).toBe(true);
});

test('limit: never more than the bound and what one step adds', () => {
  const modules = cacheFor(10);
  const bound = modules.kernel.allocatedBytes + 11 * (columnBytes + 1_024);
  const shelf: Shelf = new Map();
  for (let i = 0; i < 3; i++) {
    for (const name of names('a', 25)) {
      round(modules, shelf, [name]);
      expect(modules.kernel.allocatedBytes).toBeLessThanOrEqual(bound);
    }
  }
});
