import { posix } from 'node:path';
import ts from 'typescript';

/**
 * A file of the repository with its path from the root, with forward slashes. Rules are pure functions over lists of
 * files.
 */
export interface RepositoryFile {
  readonly path: string;
  readonly text: string;
}

/** One violation of a rule. The message says how to fix it. */
export interface Finding {
  readonly path: string;
  readonly line?: number;
  readonly message: string;
}

export interface Import {
  /** The specifier as written. */
  readonly specifier: string;
  /** The resolved path in the repository, or `undefined` for external packages. */
  readonly target: string | undefined;
  readonly line: number;
  readonly isReExport: boolean;
}

/** A TypeScript or JavaScript file with its syntax tree. */
export interface SourceFile extends RepositoryFile {
  readonly tree: ts.SourceFile;
  readonly imports: readonly Import[];
  /**
   * Files that it refers to without importing them, as in `new URL('./x.ts', import.meta.url)` or `workerUrl(…,
   * './x.ts')`.
   */
  readonly mentioned: readonly string[];
}

export function parseSource({ path, text }: RepositoryFile): SourceFile {
  const kind = path.endsWith('.tsx') ? ts.ScriptKind.TSX : undefined;
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true, kind);
  const imports: Import[] = [];
  const mentioned: string[] = [];
  const add = (node: ts.Node, specifier: ts.Node | undefined, isReExport = false) => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return;
    const target = resolveSpecifier(path, specifier.text);
    imports.push({ specifier: specifier.text, target, line: lineOf(tree, node), isReExport });
  };
  forEachNode(tree, (node) => {
    if (ts.isImportDeclaration(node)) add(node, node.moduleSpecifier);
    else if (ts.isExportDeclaration(node)) add(node, node.moduleSpecifier, true);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node, node.argument.literal);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node, node.arguments[0]);
    else if (ts.isStringLiteralLike(node) && /^\.{1,2}\/[\w./-]+\.[tj]sx?$/.test(node.text))
      mentioned.push(posix.join(posix.dirname(path), node.text));
  });
  return { path, text, tree, imports, mentioned };
}

function resolveSpecifier(from: string, specifier: string): string | undefined {
  if (specifier === '@sluice/client') return 'packages/client/src/client.ts';
  const own = /^@sluice\/([\w-]+)\/(.+)$/.exec(specifier);
  if (own) return `packages/${own[1]}/src/${own[2]}.ts`;
  if (!specifier.startsWith('.')) return undefined;
  const path = posix.join(posix.dirname(from), specifier);
  // Kernels are AssemblyScript, which imports without an extension.
  return /\.([tj]sx?|json|css)$/.test(path) ? path : `${path}.ts`;
}

export function forEachNode(tree: ts.Node, visit: (node: ts.Node) => void): void {
  visit(tree);
  ts.forEachChild(tree, (child) => forEachNode(child, visit));
}

export function lineOf(tree: ts.SourceFile, node: ts.Node): number {
  return tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
}

/** Returns whether a file is a test, is used only by tests, configures them, or is in the folder of cross-package tests. */
export function isTestOnly(path: string): boolean {
  if (path === 'vitest.config.ts') return true;
  return path.endsWith('.test.ts') || path.includes('/testing/') || path.startsWith('test/');
}
