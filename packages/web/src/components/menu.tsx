import { useEffect, useRef, useState } from 'preact/hooks';

interface MenuProps {
  readonly title: string;
  readonly entries: readonly (readonly [string, () => void])[];
  readonly isDisabled?: boolean;
}

/** A button that opens a list of actions. Escape and a click elsewhere close it. */
export function Menu({ title, entries, isDisabled = false }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const close = (event: Event) => {
      const isInside = event.target instanceof Node && box.current?.contains(event.target) === true;
      const isEscape = event instanceof KeyboardEvent && event.key === 'Escape';
      if (isEscape || (event.type === 'pointerdown' && !isInside)) setOpen(false);
    };
    document.addEventListener('pointerdown', close);
    document.addEventListener('keydown', close);
    return () => {
      document.removeEventListener('pointerdown', close);
      document.removeEventListener('keydown', close);
    };
  }, [isOpen]);
  return (
    <div ref={box} class="menu">
      <button
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
