import { useState } from 'preact/hooks';
import { writeJson } from '../../../base/write-json.ts';
import { CopyButton } from '../../../components/copy-button.tsx';
import { RawText } from '../../../components/raw-text.tsx';
import { VirtualList } from '../../../components/virtual-list.tsx';
import { toPixels } from '../../../state/rem-pixels.ts';
import type { QueryRun } from '../run-query.ts';
import { toLine } from './write-results.ts';

const rowRem = 2;
/** A row of the list; the whole line is shown below when it is chosen. */
const rowLengthMax = 400;
/** A line of a large block has megabytes; the page would take long to lay them out. */
const shownLengthMax = 200_000;

/** The answer as the service sent it, a block a line. */
export function JsonLines({ run }: { readonly run: QueryRun; readonly version: number }) {
  const [chosen, setChosen] = useState(0);
  const block = run.blocks[chosen];
  const text = block === undefined ? '' : writeJson(toLine(block), 2);
  return (
    <>
      <VirtualList
        class="record-table lines"
        label="Lines of the answer"
        rowCount={run.blocks.length}
        rowHeight={toPixels(rowRem)}
        renderRow={(row) => {
          const one = run.blocks[row];
          return one === undefined ? null : (
            <button
              type="button"
              class="line-row mono"
              aria-pressed={row === chosen}
              onClick={() => setChosen(row)}
            >
              {writeJson(toLine(one)).slice(0, rowLengthMax)}
            </button>
          );
        }}
      />
      {block !== undefined && (
        <div class="line-detail">
          <div class="row spread">
            <span class="label">Block {block.header.number}</span>
            <CopyButton text={text} label="block" />
          </div>
          <RawText text={cut(text)} />
        </div>
      )}
    </>
  );
}

function cut(text: string): string {
  if (text.length <= shownLengthMax) return text;
  return `${text.slice(0, shownLengthMax)}\n… cut; copy or download for the rest`;
}
