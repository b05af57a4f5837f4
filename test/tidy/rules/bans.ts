import ts from 'typescript';
import type { Finding, SourceFile } from '../source-file.ts';
import { forEachNode, isTestOnly, lineOf } from '../source-file.ts';

interface Ban {
  readonly message: string;
  readonly matches: (node: ts.Node) => boolean;
  /** Files that are exempt from the ban. */
  readonly spares: (path: string) => boolean;
}

const nowhere = () => false;
const clocks = new Set([
  'packages/base/src/clock.ts',
  'packages/client/src/base/clock.ts',
  'packages/web/src/base/clock.ts',
]);
const isClock = (path: string) => clocks.has(path);
const isBin = (path: string) => path.startsWith('packages/server/bin/');
/** Exempts code that does not run in a service: tests, benchmarks and the build may use clocks directly. */
const isOutsideService = (path: string) =>
  isClock(path) || isTestOnly(path) || !/^packages\/[^/]+\/src\//.test(path);

const bans: readonly Ban[] = [
  {
    message: 'throw new Error: throw a CodedError of the catalogue, or assert if it is a bug',
    matches: (node) =>
      ts.isThrowStatement(node) &&
      ts.isNewExpression(node.expression) &&
      /^(Error|TypeError|RangeError)$/.test(node.expression.expression.getText()),
    spares: isTestOnly,
  },
  {
    message: 'Date.now: take a Clock, and call its unixMs or nowMs',
    matches: (node) => isMember(node, 'Date', 'now'),
    spares: isClock,
  },
  {
    message: 'new Date(): take a Clock, and create the date from its unixMs',
    matches: (node) =>
      ts.isNewExpression(node) &&
      node.expression.getText() === 'Date' &&
      (node.arguments ?? []).length === 0,
    spares: isClock,
  },
  {
    message: 'performance.now: take a Clock, and call its nowMs',
    matches: (node) => isMember(node, 'performance', 'now'),
    spares: isOutsideService,
  },
  {
    message: 'setTimeout: take a Clock, and await its sleep',
    matches: (node) => ts.isCallExpression(node) && node.expression.getText() === 'setTimeout',
    spares: isOutsideService,
  },
  {
    message: 'Math.random: take a seeded generator, so that a run can be replayed',
    matches: (node) => isMember(node, 'Math', 'random'),
    spares: nowhere,
  },
  {
    message: 'console: write to the stream or log you were given',
    matches: (node) =>
      ts.isPropertyAccessExpression(node) && node.expression.getText() === 'console',
    spares: nowhere,
  },
  {
    message: 'setInterval: loop over clock.sleep with a signal, so that somebody awaits it',
    matches: (node) => ts.isIdentifier(node) && node.text === 'setInterval',
    spares: nowhere,
  },
  {
    message: 'process.exit: return an exit code; only the files in bin end the process',
    matches: (node) => isMember(node, 'process', 'exit'),
    spares: isBin,
  },
  {
    message:
      'a name with v1: choose a name that describes the content; only external formats have version numbers',
    matches: (node) =>
      (ts.isIdentifier(node) && /^v1$|[a-z0-9]V1$/.test(node.text)) ||
      (ts.isStringLiteralLike(node) && /\/v1(\/|$)/.test(node.text)),
    spares: nowhere,
  },
];

function isMember(node: ts.Node, object: string, name: string): boolean {
  return (
    ts.isPropertyAccessExpression(node) &&
    node.name.text === name &&
    node.expression.getText() === object
  );
}

/** Finds banned constructs. Comments and strings do not count. */
export function findBans(files: readonly SourceFile[]): Finding[] {
  const findings: Finding[] = [];
  for (const { path, tree } of files) {
    const applicable = bans.filter(({ spares }) => !spares(path));
    forEachNode(tree, (node) => {
      for (const { matches, message } of applicable) {
        if (matches(node)) findings.push({ path, line: lineOf(tree, node), message });
      }
    });
  }
  return findings;
}
