import { useEffect, useState } from 'preact/hooks';
import { type FoundSection, searchSections } from './search-sections.ts';

interface DocsSearchProps {
  /** Called when a search starts and ends. */
  readonly onActive: (isActive: boolean) => void;
}

/** Searches all pages. Their text is loaded with the first search. */
export function DocsSearch({ onActive }: DocsSearchProps) {
  const [text, setText] = useState('');
  const [found, setFound] = useState<readonly FoundSection[]>([]);
  const isActive = text.trim() !== '';
  useEffect(() => onActive(isActive), [isActive, onActive]);
  useEffect(() => {
    let isGone = false;
    const search = async () => {
      const { sections } = await import('virtual:docs-search');
      if (!isGone) setFound(searchSections(sections, text));
    };
    if (text.trim() === '') setFound([]);
    else search().catch(() => undefined);
    return () => {
      isGone = true;
    };
  }, [text]);
  return (
    <search>
      <input
        class="input docs-search"
        type="search"
        aria-label="Search the documentation"
        placeholder="Search the documentation"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {isActive && (
        <ul class="plain docs-found" aria-live="polite">
          {found.map(({ slug, anchor, page, title, excerpt }) => (
            <li key={`${slug}#${anchor}`}>
              <a href={`/docs/${slug}#${anchor}`} onClick={() => setText('')}>
                <strong>{title}</strong>
                <span class="muted small">{page}</span>
                <span class="small">{excerpt}</span>
              </a>
            </li>
          ))}
          {found.length === 0 && <li class="muted">Nothing found.</li>}
        </ul>
      )}
    </search>
  );
}
