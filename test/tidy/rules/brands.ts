import ts from 'typescript';
import { type Finding, forEachNode, isTestOnly, lineOf, type SourceFile } from '../source-file.ts';

/**
 * Finds casts to a branded type outside the file that defines it. Only functions of that file create values of the brand: they check
 * the value, or say why it needs no check.
 */
export function findForeignBrands(sources: readonly SourceFile[]): Finding[] {
  const homes = new Map(
    sources.flatMap(({ path, tree }) => brandsOf(tree).map((name) => [name, path] as const)),
  );
  return sources
    .filter(({ path }) => !isTestOnly(path) && path.startsWith('packages/'))
    .flatMap(({ path, tree }) => {
      const findings: Finding[] = [];
      forEachNode(tree, (node) => {
        if (!ts.isAsExpression(node)) return;
        const brand = namesIn(node.type).find((name) => (homes.get(name) ?? path) !== path);
        if (brand === undefined) return;
        const message = `cast to ${brand}: call a function of ${homes.get(brand)}, which defines it`;
        findings.push({ path, line: lineOf(tree, node), message });
      });
      return findings;
    });
}

function brandsOf(tree: ts.SourceFile): string[] {
  const names: string[] = [];
  forEachNode(tree, (node) => {
    if (!ts.isTypeAliasDeclaration(node) || !ts.isTypeReferenceNode(node.type)) return;
    if (node.type.typeName.getText(tree) === 'Brand') names.push(node.name.text);
  });
  return names;
}

/** Returns the type names in a type, such as `Slot` and `Address` in `[Slot, readonly Address[]]`. */
function namesIn(type: ts.TypeNode): string[] {
  const names: string[] = [];
  forEachNode(type, (node) => {
    if (ts.isTypeReferenceNode(node)) names.push(node.typeName.getText());
  });
  return names;
}
