import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface MenuProps {
  readonly title: string;
  readonly entries: readonly (readonly [string, () => void])[];
  readonly isDisabled?: boolean;
}

/** A button that opens a list of actions. Escape, a click outside and moving the focus away close it. */
export function Menu({ title, entries, isDisabled = false }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // An effect after painting would be too late for keys that are pressed right after the one that opens the list.
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    const close = (event: Event) => {
      const isInside = event.target instanceof Node && box.current?.contains(event.target) === true;
      const isEscape = event instanceof KeyboardEvent && event.key === 'Escape';
      // The focused entry disappears. Without this, the focus would move to the start of the page.
      if (isEscape && isInside) button.current?.focus();
      if (isEscape || (event.type !== 'keydown' && !isInside)) setOpen(false);
    };
    const names = ['pointerdown', 'focusin', 'keydown'] as const;
    for (const name of names) document.addEventListener(name, close);
    return () => {
      for (const name of names) document.removeEventListener(name, close);
    };
  }, [isOpen]);
  return (
    <div ref={box} class="menu">
      <button
        ref={button}
        type="button"
        class="button"
        aria-expanded={isOpen}
        disabled={isDisabled}
        onClick={() => setOpen(!isOpen)}
      >
        {title} <span aria-hidden="true">▾</span>
      </button>
      {isOpen && (
        <div class="menu-list">
          {entries.map(([name, act]) => (
            <button
              key={name}
              type="button"
              onClick={() => {
                button.current?.focus();
                setOpen(false);
                act();
              }}
            >
              {name}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
