/** Finds the positions of values and keys in a JSON text from its syntax tree. */
import { syntaxTree } from '@codemirror/language';
import type { EditorState } from '@codemirror/state';
import type { SyntaxNode } from '@lezer/common';
import type { Path } from '../check-query.ts';

export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/** Returns the position of the value at a path, or of its nearest existing ancestor. */
export function findRange(state: EditorState, path: Path): TextRange {
  let node = syntaxTree(state).topNode.firstChild;
  let found: TextRange = { from: 0, to: Math.min(1, state.doc.length) };
  for (const [depth, step] of path.entries()) {
    const next = node === null ? null : childOf(state, node, step);
    if (next === null) return found;
    // For an unknown key the key is underlined, for a wrong value only the value.
    found = depth === path.length - 1 && next.value === null ? next.key : (next.value ?? next.key);
    node = next.value;
  }
  return found;
}

interface Child {
  readonly key: TextRange;
  readonly value: SyntaxNode | null;
}

function childOf(state: EditorState, node: SyntaxNode, step: string | number): Child | null {
  if (typeof step === 'number') {
    const items = childrenOf(node).filter(({ name }) => !/^[[\],]$/.test(name));
    const item = items[step];
    return item === undefined ? null : { key: item, value: item };
  }
  for (const property of node.getChildren('Property')) {
    const name = property.getChild('PropertyName');
    if (name === null || keyText(state, name) !== step) continue;
    const value = property.lastChild;
    return { key: name, value: value === null || value.name === 'PropertyName' ? null : value };
  }
  return null;
}

function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

function keyText(state: EditorState, name: TextRange): string {
  return state.sliceDoc(name.from + 1, name.to - 1);
}

/** Returns the path of the object or list around a node. */
export function pathOf(state: EditorState, start: SyntaxNode): Path {
  const path: (string | number)[] = [];
  for (let node: SyntaxNode | null = start; node !== null; node = node.parent) {
    const { parent } = node;
    if (node.name === 'Property') {
      const name = node.getChild('PropertyName');
      if (name !== null) path.unshift(keyText(state, name));
    } else if (parent?.name === 'Array') {
      const items = childrenOf(parent).filter(({ name }) => !/^[[\],]$/.test(name));
      path.unshift(items.findIndex(({ from }) => from === node?.from));
    }
  }
  return path;
}

/** Returns the first position that is not valid JSON. */
export function findBreak(state: EditorState): TextRange {
  let found: TextRange | undefined;
  syntaxTree(state).iterate({
    enter: (node) => {
      if (found === undefined && node.type.isError) found = { from: node.from, to: node.to };
    },
  });
  const { from, to } = found ?? { from: state.doc.length, to: state.doc.length };
  return {
    from: Math.max(0, from === to ? from - 1 : from),
    to: Math.max(to, Math.min(1, state.doc.length)),
  };
}
