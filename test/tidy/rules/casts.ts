import ts from 'typescript';
import { type Finding, forEachNode, type SourceFile } from '../source-file.ts';

/**
 * The limit of type assertions (`as T`, not `as const`) in product code. It may only be lowered. Instead of a cast, parse a value, or
 * use `elementAt` for a list, `valueOfKey` for a map, `keysOf`, `entriesOf` and `mapKeys` for a table, `memberOf` for a value of unknown
 * type, and `systemErrorCode` and `messageOf` for an error. Hot loops may cast what they read from typed arrays.
 */
export const castCountMax = 390;

/** Returns a finding if product code has more casts than the limit, with the files that have the most. */
export function findCastsBeyond(sources: readonly SourceFile[], countMax: number): Finding[] {
  const counts = sources.filter(isProduct).map(({ path, tree }) => ({ path, count: count(tree) }));
  const total = counts.reduce((sum, { count: own }) => sum + own, 0);
  if (total <= countMax) return [];
  const most = counts.sort((a, b) => b.count - a.count).slice(0, 5);
  const list = most.map(({ path, count: own }) => `${path} ${own}`).join(', ');
  return [
    {
      path: 'packages',
      message: `${total} casts, allowed ${countMax}: remove some; most are in ${list}`,
    },
  ];
}

function isProduct({ path }: SourceFile): boolean {
  if (!/^packages\/[^/]+\/src\//.test(path)) return false;
  return !/\.test\.tsx?$|\/testing\/|\/assembly\//.test(path);
}

function count(tree: ts.SourceFile): number {
  let found = 0;
  forEachNode(tree, (node) => {
    if (ts.isAsExpression(node) && !ts.isConstTypeReference(node.type)) found++;
  });
  return found;
}
