import { useState } from 'preact/hooks';
import { writeJson } from '../../../base/write-json.ts';
import { CopyButton } from '../../../components/copy-button.tsx';
import { RawText } from '../../../components/raw-text.tsx';
import { VirtualList } from '../../../components/virtual-list.tsx';
import { toPixels } from '../../../state/rem-pixels.ts';
import type { QueryRun } from '../run-query.ts';
import { toLine } from './write-results.ts';

const rowRem = 2;
/** The maximum length of a row. The whole line of a selected row is shown below. */
const rowLengthMax = 400;
/** A line of a large block has megabytes, which would take long to lay out. */
const shownLengthMax = 200_000;

/** The response as the service sent it, one block per line. */
export function JsonLines({ run }: { readonly run: QueryRun; readonly version: number }) {
  const [chosen, setChosen] = useState(0);
  const block = run.blocks[chosen];
  const text = block === undefined ? '' : writeJson(toLine(block), 2);
  return (
    <>
      <VirtualList
        class="record-table lines"
        label="Lines of the response"
        rowCount={run.blocks.length}
        rowHeight={toPixels(rowRem)}
        renderRow={(row) => {
          const rowBlock = run.blocks[row];
          return rowBlock === undefined ? null : (
            <button
              type="button"
              class="line-row mono"
              aria-pressed={row === chosen}
              onClick={() => setChosen(row)}
            >
              {writeJson(toLine(rowBlock)).slice(0, rowLengthMax)}
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
  return `${text.slice(0, shownLengthMax)}\n… shortened; copy or download the line to see all of it`;
}
