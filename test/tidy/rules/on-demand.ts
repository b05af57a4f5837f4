import ts from 'typescript';
import { type Finding, forEachNode, isTestOnly, lineOf, type SourceFile } from '../source-file.ts';

/** The code for datasets on several machines, which a service on one machine never loads. */
const remoteFolder = /^packages\/server\/src\/(object-store|cluster|app\/remote)\//;
const remotePackage = /^(aws4fetch|@nats-io\/.*)$/;

/** Finds static imports of code that must be loaded on demand. Types are erased, so they are allowed. */
export function findEagerImports(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(({ path, tree, imports }) => {
    if (!path.startsWith('packages/server/src/') || isTestOnly(path) || remoteFolder.test(path)) {
      return [];
    }
    const findings: Finding[] = [];
    forEachNode(tree, (node) => {
      if (!ts.isImportDeclaration(node) || node.importClause?.isTypeOnly === true) return;
      const { text } = node.moduleSpecifier as ts.StringLiteral;
      const target = imports.find(({ specifier }) => specifier === text)?.target ?? '';
      if (!remoteFolder.test(target) && !remotePackage.test(text)) return;
      const message = `imports ${text} at start: import its types only, or load it where it is configured`;
      findings.push({ path, line: lineOf(tree, node), message });
    });
    return findings;
  });
}
