import ts from 'typescript';
import type { Finding, SourceFile } from '../source-file.ts';
import { forEachNode, lineOf } from '../source-file.ts';

const prefixes = /^(default|behavior|error|limit|property): \S/;

/** Checks that test names have a prefix and a sentence, and that no test is disabled. */
export function findTestFaults(files: readonly SourceFile[]): Finding[] {
  const findings: Finding[] = [];
  for (const { path, tree } of files.filter((file) => file.path.endsWith('.test.ts'))) {
    forEachNode(tree, (node) => {
      const message = judgeNode(node);
      if (message !== undefined) findings.push({ path, line: lineOf(tree, node), message });
    });
  }
  return findings;
}

function judgeNode(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node) && isTestFunction(node.expression)) {
    if (/^(only|skip|todo|fails)$/.test(node.name.text))
      return `test.${node.name.text}: fix or delete the test; skipIf is for requirements that a machine lacks`;
  }
  if (!ts.isCallExpression(node) || !startsTest(node.expression)) return undefined;
  const name = nameOf(node.arguments[0]);
  if (name === undefined || prefixes.test(name)) return undefined;
  return `the name "${name}" must start with default:, behavior:, error:, limit: or property:`;
}

function isTestFunction(node: ts.Node): boolean {
  return ts.isIdentifier(node) && /^(test|it|describe)$/.test(node.text);
}

/** Matches `test(…)` and the call that follows `test.each(…)` or `test.skipIf(…)`. */
function startsTest(callee: ts.Expression): boolean {
  if (ts.isIdentifier(callee)) return /^(test|it)$/.test(callee.text);
  return (
    ts.isCallExpression(callee) &&
    ts.isPropertyAccessExpression(callee.expression) &&
    ts.isIdentifier(callee.expression.expression) &&
    /^(test|it)$/.test(callee.expression.expression.text)
  );
}

function nameOf(node: ts.Expression | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  // A name that begins with a value cannot be checked here.
  return node.head.text === '' ? undefined : `${node.head.text}…`;
}
