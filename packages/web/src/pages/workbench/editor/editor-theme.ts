import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** The colours are CSS variables, which are inherited by the shadow root, so the editor follows the theme. */
const frame = EditorView.theme({
  '&': {
    color: 'var(--text)',
    backgroundColor: 'var(--surface)',
    fontSize: 'var(--size-s)',
    height: '100%',
  },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)', padding: '12px 0' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--text-3)', border: 'none' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground':
    {
      backgroundColor: 'var(--accent-soft)',
    },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--line-strong)',
    borderRadius: '6px',
    boxShadow: 'var(--shadow-high)',
    maxWidth: '34rem',
  },
  '.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px', fontFamily: 'var(--mono)' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-soft)',
    color: 'var(--text)',
  },
  '.cm-completionDetail': {
    color: 'var(--text-3)',
    fontFamily: 'var(--font)',
    fontStyle: 'normal',
  },
  // The default marks are images in data URLs, which the content security policy forbids.
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad)',
    textDecorationSkipInk: 'none',
  },
  '.cm-lint-marker-error': {
    content: 'normal',
    width: '0.6em',
    height: '0.6em',
    margin: '0.45em 0.2em',
    borderRadius: '50%',
    backgroundColor: 'var(--bad)',
  },
  '.cm-diagnostic': { padding: '4px 10px', fontFamily: 'var(--font)' },
  '.cm-matchingBracket': { backgroundColor: 'var(--surface-3)', color: 'inherit' },
});

const highlighting = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.propertyName, color: 'var(--code-key)' },
    { tag: tags.string, color: 'var(--code-string)' },
    { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
    { tag: tags.invalid, color: 'var(--bad)' },
  ]),
);

export const editorTheme = [frame, highlighting];
