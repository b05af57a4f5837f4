import { useEffect, useRef, useState } from 'preact/hooks';
import type { EditorOptions } from './editor/editor-options.ts';
import type { EditorHandle } from './editor/open-editor.ts';

interface JsonEditorProps extends EditorOptions {
  readonly text: string;
}

/** The editor of a query. Its code is loaded when it is first shown. Until then a plain text field replaces it. */
export function JsonEditor({ text, onChange, onRun, check, values }: JsonEditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorHandle | undefined>(undefined);
  const [isOpen, setOpen] = useState(false);
  /** Texts that the editor reported and that have not come back as the `text` property yet. */
  const typed = useRef<string[]>([]);
  // The editor exists across renderings and must call the newest functions.
  const latest = useRef({ text, onChange, onRun, check, values });
  latest.current = { text, onChange, onRun, check, values };
  useEffect(() => {
    let isGone = false;
    const open = async () => {
      const { openEditor } = await import('./editor/open-editor.ts');
      if (isGone || box.current === null) return;
      editor.current = openEditor(box.current, latest.current.text, {
        onChange: (next) => {
          typed.current.push(next);
          latest.current.onChange(next);
        },
        onRun: () => latest.current.onRun(),
        check: (query) => latest.current.check(query),
        values: (path) => latest.current.values(path),
      });
      setOpen(true);
    };
    open().catch(() => undefined);
    return () => {
      isGone = true;
      editor.current?.close();
      editor.current = undefined;
    };
  }, []);
  useEffect(() => {
    const index = typed.current.lastIndexOf(text);
    // A typed text comes back as a property after further typing. Only other texts replace the text of the editor.
    if (index < 0) editor.current?.setText(text);
    if (index < 0 || index === typed.current.length - 1) typed.current = [];
  }, [text]);
  return (
    <div class="editor">
      <div ref={box} class="editor-box" />
      {!isOpen && (
        <textarea
          class="textarea editor-plain mono"
          aria-label="Query as JSON"
          spellcheck={false}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </div>
  );
}
