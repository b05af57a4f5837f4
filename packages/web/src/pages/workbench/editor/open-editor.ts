/**
 * Opens CodeMirror for a query. It is in a shadow root, where it uses constructed style sheets, which the content security policy allows.
 * In the document it would insert a style element.
 */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from '@codemirror/language';
import { type Diagnostic, linter, lintGutter, lintKeymap } from '@codemirror/lint';
import { EditorState, type Extension } from '@codemirror/state';
import { drawSelection, EditorView, keymap, lineNumbers } from '@codemirror/view';
import type { Problem } from '../check-query.ts';
import { type JsonObject, parseText } from '../query-model.ts';
import { buildCompletion } from './build-completion.ts';
import type { EditorOptions } from './editor-options.ts';
import { editorTheme } from './editor-theme.ts';
import { findBreak, findRange } from './json-ranges.ts';

export interface EditorHandle {
  /** Replaces the text, unless it is the same. */
  setText(text: string): void;
  close(): void;
}

export function openEditor(box: HTMLElement, text: string, options: EditorOptions): EditorHandle {
  const root = box.shadowRoot ?? box.attachShadow({ mode: 'open' });
  const parent = document.createElement('div');
  root.replaceChildren(parent);
  let isReplacing = false;
  const onChange = (next: string) => {
    if (!isReplacing) options.onChange(next);
  };
  const extensions = buildExtensions({ ...options, onChange });
  const state = EditorState.create({ doc: text, extensions });
  const view = new EditorView({ root, parent, state });
  return {
    setText: (next) => {
      const current = view.state.doc.toString();
      if (current === next) return;
      isReplacing = true;
      view.dispatch({ changes: { from: 0, to: current.length, insert: next } });
      isReplacing = false;
    },
    close: () => view.destroy(),
  };
}

function buildExtensions(options: EditorOptions) {
  const run = () => {
    options.onRun();
    return true;
  };
  return [
    lineNumbers(),
    foldGutter(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    json(),
    lintGutter(),
    buildLinter(options.check),
    autocompletion({ override: [buildCompletion(options.values)], icons: false }),
    editorTheme,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': 'Query as JSON' }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) options.onChange(update.state.doc.toString());
    }),
    keymap.of([
      { key: 'Mod-Enter', run },
      ...closeBracketsKeymap,
      ...completionKeymap,
      ...lintKeymap,
      ...foldKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
  ];
}

const delayMs = 250;

/** Underlines the parts of a query that the service would refuse. */
function buildLinter(check: (query: JsonObject) => readonly Problem[]): Extension {
  return linter(
    ({ state }) => {
      const parsed = parseText(state.doc.toString());
      if (parsed.kind === 'broken') {
        return [{ ...findBreak(state), severity: 'error', message: parsed.message }];
      }
      return check(parsed.query).map(({ path, message }): Diagnostic => {
        const { from, to } = findRange(state, path);
        return { from, to, severity: 'error', message };
      });
    },
    { delay: delayMs },
  );
}
