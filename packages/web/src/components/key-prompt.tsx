import { useState } from 'preact/hooks';
import { acceptKey, keyState } from '../state/connection.ts';
import { Notice } from './notice.tsx';
import { useTitle } from './use-title.ts';

/** Shown instead of a page while the service refuses requests without a valid key. */
export function KeyPrompt() {
  useTitle('Key');
  const [text, setText] = useState('');
  const isWrong = keyState.value === 'wrong';
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() !== '') acceptKey(text.trim());
  };
  return (
    <form class="panel key-prompt" onSubmit={submit}>
      <Notice title="This service requires a key">
        {isWrong && (
          <p class="callout bad" role="alert">
            The service does not know this key. Check it for missing characters, or ask the operator
            for a new one.
          </p>
        )}
        <label class="field">
          <span>API key</span>
          <input
            class="input"
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="button primary" disabled={text.trim() === ''}>
          Use this key
        </button>
        <p class="muted small">
          The key is kept in this tab until you close it, and is sent to this service only. The{' '}
          <a href="/docs/http#keys">documentation</a> is open without one.
        </p>
      </Notice>
    </form>
  );
}
