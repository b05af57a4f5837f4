import type {
  Completion,
  CompletionContext,
  CompletionResult,
  CompletionSource,
} from '@codemirror/autocomplete';
import { syntaxTree } from '@codemirror/language';
import type { EditorView } from '@codemirror/view';
import type { SyntaxNode } from '@lezer/common';
import type { Path } from '../check-query.ts';
import { suggestKeys, suggestValues } from '../suggest-keys.ts';
import type { ValueSuggestion } from './editor-options.ts';
import { pathOf } from './json-ranges.ts';

/** Completes keys from the tables of the protocol, and values that occur in the dataset. */
export function buildCompletion(
  values: (path: Path) => readonly ValueSuggestion[],
): CompletionSource {
  return (context) => {
    const node = syntaxTree(context.state).resolveInner(context.pos, -1);
    if (node.name === 'String') return completeValue(context, node, values);
    if (
      node.name === 'PropertyName' ||
      node.name === 'Object' ||
      node.name === '{' ||
      node.name === '⚠'
    ) {
      return completeKey(context, node);
    }
    return null;
  };
}

function completeKey(context: CompletionContext, node: SyntaxNode): CompletionResult | null {
  const word = context.matchBefore(/"?\w*/);
  if (word === null || (word.from === word.to && !context.explicit)) return null;
  const object = objectAround(node);
  if (object === null) return null;
  const used = new Set(
    object.getChildren('Property').flatMap((property) => {
      const name = property.getChild('PropertyName');
      return name === null || name.from === word.from
        ? []
        : [context.state.sliceDoc(name.from + 1, name.to - 1)];
    }),
  );
  const options = suggestKeys(pathOf(context.state, object))
    .filter(({ name }) => !used.has(name))
    .map(({ name, text, value }): Completion => {
      return { label: `"${name}"`, detail: text, apply: insertProperty(name, value) };
    });
  return { from: word.from, options, validFor: /^"?\w*"?$/ };
}

/** Returns the innermost object that contains the node. */
function objectAround(start: SyntaxNode): SyntaxNode | null {
  for (let node: SyntaxNode | null = start; node !== null; node = node.parent) {
    if (node.name === 'Object') return node;
  }
  return null;
}

/** Inserts the key with an empty value, unless a value already follows. */
function insertProperty(name: string, value: string) {
  return (view: EditorView, _: Completion, from: number, to: number) => {
    const rest = view.state.sliceDoc(to, to + 40);
    const quoteLength = rest.startsWith('"') ? 1 : 0;
    const hasValue = /^"?\s*:/.test(rest);
    const text = hasValue ? `"${name}"` : `"${name}": ${value.replace('|', '')}`;
    const mark = value.indexOf('|');
    const cursor = hasValue || mark < 0 ? text.length : `"${name}": `.length + mark;
    view.dispatch({
      changes: { from, to: to + quoteLength, insert: text },
      selection: { anchor: from + cursor },
    });
  };
}

function completeValue(
  { state, pos, explicit }: CompletionContext,
  node: SyntaxNode,
  values: (path: Path) => readonly ValueSuggestion[],
): CompletionResult | null {
  const path = pathOf(state, node);
  const fixed = suggestValues(path).map((value) => ({ value, text: '' }));
  const options = [...fixed, ...values(path)].map(
    ({ value, text }): Completion => ({ label: value, detail: text }),
  );
  if (options.length === 0 || (!explicit && pos <= node.from)) return null;
  return { from: node.from + 1, options, validFor: /^\w*$/ };
}
