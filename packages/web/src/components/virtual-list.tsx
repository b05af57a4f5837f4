import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface RowRange {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

interface VirtualListProps {
  readonly rowCount: number;
  /** All rows have this height, in pixels. */
  readonly rowHeight: number;
  readonly label: string;
  readonly renderRow: (row: number) => ComponentChildren;
  /** Content behind the visible rows, in the coordinates of the whole list. */
  readonly renderBehind?: (range: RowRange) => ComponentChildren;
  /** A heading that stays at the top while the rows scroll. */
  readonly head?: ComponentChildren;
  /** The width of the rows if they are wider than the list. */
  readonly width?: string;
  /** Called with the part that is visible, in pixels, when rows are wider than the list. */
  readonly onSideways?: (left: number, width: number) => void;
  readonly class?: string;
  /** A change of this key means that the rows were replaced, and scrolls the list to its top. */
  readonly resetKey?: string;
  /** Returns the key of a row. Without it, a row that is added at the top changes the content of all others. */
  readonly rowKey?: (row: number) => string;
  /** The number of rows that were added at the top since the last rendering. A scrolled list keeps its visible rows. */
  readonly addedAtTop?: number;
}

/** The number of rows rendered beyond the visible ones, so that fast scrolling shows no gaps. */
const spareRowCount = 6;
/** Browsers cannot scroll to positions far beyond this height; longer lists are scaled. */
const heightMax = 8_000_000;

/** A scrolling list that renders only its visible rows. */
export function VirtualList(props: VirtualListProps) {
  const { rowCount, rowHeight, label, renderRow, renderBehind, resetKey, addedAtTop = 0 } = props;
  const box = useRef<HTMLElement>(null);
  const [view, setView] = useState<View>({
    top: 0,
    height: 600,
    left: 0,
    width: Number.POSITIVE_INFINITY,
  });
  const rows = useRef<RenderedRows>({ render: renderRow, rowHeight, byRow: new Map() });
  useEffect(() => watchView(box.current, setView), []);
  useLayoutEffect(() => props.onSideways?.(view.left, view.width), [view.left, view.width]);
  // Replaced rows start at the top.
  useLayoutEffect(() => {
    if (box.current !== null) box.current.scrollTop = 0;
  }, [resetKey]);
  // Runs once for each change of the rows.
  useLayoutEffect(() => {
    if (box.current !== null && box.current.scrollTop > rowHeight) {
      box.current.scrollTop += addedAtTop * rowHeight;
    }
  }, [rowCount, addedAtTop]);
  const total = rowCount * rowHeight;
  const shown = Math.min(total, heightMax);
  const scale = total <= view.height ? 1 : (total - view.height) / Math.max(1, shown - view.height);
  const top = view.top * scale;
  const first = Math.max(0, Math.floor(top / rowHeight) - spareRowCount);
  const end = Math.min(rowCount, Math.ceil((top + view.height) / rowHeight) + spareRowCount);
  const offset = view.top - top;
  rows.current = renderRows(rows.current, props, { first, end });
  return (
    <section
      ref={box}
      class={`virtual ${props.class ?? ''}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable with the keyboard.
      tabIndex={0}
      aria-label={label}
    >
      {props.head !== undefined && (
        <div class="virtual-head" style={{ minWidth: props.width ?? 'auto' }}>
          {props.head}
        </div>
      )}
      <div class="virtual-size" style={{ height: `${shown}px`, minWidth: props.width ?? 'auto' }}>
        <div class="virtual-rows" style={{ transform: `translateY(${offset}px)` }}>
          {renderBehind?.({ first, end })}
          {[...rows.current.byRow.values()]}
        </div>
      </div>
    </section>
  );
}

interface RenderedRows {
  readonly render: (row: number) => ComponentChildren;
  readonly rowHeight: number;
  readonly byRow: ReadonlyMap<number, VNode>;
}

/** Renders the rows that came into view. The elements of the other rows are reused, so Preact does not compare them. */
function renderRows(
  known: RenderedRows,
  { renderRow: render, rowHeight, rowKey }: VirtualListProps,
  { first, end }: RowRange,
): RenderedRows {
  const isSame = known.render === render && known.rowHeight === rowHeight;
  const byRow = new Map<number, VNode>();
  for (let row = first; row < end; row++) {
    const element = (isSame ? known.byRow.get(row) : undefined) ?? (
      <div
        key={rowKey?.(row) ?? row}
        class="virtual-row"
        style={{ top: `${row * rowHeight}px`, height: `${rowHeight}px` }}
      >
        {render(row)}
      </div>
    );
    byRow.set(row, element);
  }
  return { render, rowHeight, byRow };
}

interface View {
  readonly top: number;
  readonly height: number;
  readonly left: number;
  readonly width: number;
}

function watchView(
  box: HTMLElement | null,
  setView: (view: View) => void,
): (() => void) | undefined {
  if (box === null) return undefined;
  const read = () =>
    setView({
      top: box.scrollTop,
      height: box.clientHeight,
      left: box.scrollLeft,
      width: box.clientWidth,
    });
  const observer = new ResizeObserver(read);
  observer.observe(box);
  box.addEventListener('scroll', read, { passive: true });
  read();
  return () => {
    observer.disconnect();
    box.removeEventListener('scroll', read);
  };
}
