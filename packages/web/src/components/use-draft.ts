import { useState } from 'preact/hooks';

interface FieldEvent {
  readonly currentTarget: { readonly value: string };
}

/**
 * Returns the attributes of a text field that calls `commit` when the user leaves it. Until then the field shows the typed text,
 * even if the page is rendered again.
 */
export function useDraft(text: string, commit: (text: string) => void) {
  const [draft, setDraft] = useState<string | undefined>(undefined);
  return {
    value: draft ?? text,
    onInput: ({ currentTarget }: FieldEvent) => setDraft(currentTarget.value),
    onChange: ({ currentTarget }: FieldEvent) => {
      setDraft(undefined);
      commit(currentTarget.value);
    },
  };
}
