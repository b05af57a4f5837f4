import { shorten } from '../../../base/format.ts';
import { writeJson } from '../../../base/write-json.ts';
import { AddressLink } from '../../../components/ledger-links.tsx';
import { pagePath } from '../../../state/page-path.ts';
import { cellClass, characterCount, type RecordColumn } from './record-columns.ts';

const addressNames =
  /^(programId|account|feePayer|pubkey|pubKey|(pre|post)(Mint|Owner|ProgramId))$/;
const slotNames = /^(number|parentSlot|parentNumber)$/;
const titleLengthMax = 2_000;

/**
 * Renders one value of a record. Addresses, signatures and slots are links. This is a function and not a component, because
 * a scrolled table renders a hundred cells in a frame.
 */
export function renderCell(dataset: string, column: RecordColumn, value: unknown) {
  const { name } = column;
  const className = cellClass(column);
  if (value === null || value === undefined) return <span class={`muted ${className}`}>null</span>;
  if (slotNames.test(name)) {
    return (
      <span class={className}>
        <a href={pagePath.block(dataset, String(value))}>{String(value)}</a>
      </span>
    );
  }
  if (typeof value === 'string' && addressNames.test(name)) {
    const kind = /programId$/i.test(name) ? { isProgram: true } : {};
    return <span class={className}>{AddressLink({ dataset, address: value, ...kind })}</span>;
  }
  if (name === 'signatures' && Array.isArray(value)) {
    const signature = String(value[0] ?? '');
    return (
      <span class={className}>
        <a class="hash" href={pagePath.transaction(dataset, signature)} title={signature}>
          {shorten(signature, 8)}
        </a>
      </span>
    );
  }
  if (typeof value === 'bigint' || typeof value === 'number') {
    return <span class={className}>{String(value)}</span>;
  }
  return renderText(typeof value === 'string' ? value : writeJson(value), column);
}

/** A text that is too long is cut, which is cheaper than a box that clips it. The title and the other views have the rest. */
function renderText(text: string, column: RecordColumn) {
  const lengthMax = characterCount(column);
  const className = `hash ${cellClass(column)}`;
  if (text.length <= lengthMax) return <span class={className}>{text}</span>;
  return (
    <span class={className} title={text.slice(0, titleLengthMax)}>
      {`${text.slice(0, lengthMax - 1)}…`}
    </span>
  );
}
