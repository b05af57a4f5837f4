import type { DecodedValue } from '@sluice/client';
import { shorten } from '../../../base/format.ts';
import { writeJson } from '../../../base/write-json.ts';
import { AddressLink } from '../../../components/ledger-links.tsx';
import { decodedLine } from '../../../ledger/decoded-instruction.ts';
import { pagePath } from '../../../state/page-path.ts';
import type { ResultRecord } from '../run-query.ts';
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

/** Renders a decoded instruction or event. It links to the call with the raw bytes if the record says where it is. */
export function renderDecoded(
  dataset: string,
  column: RecordColumn,
  { slot, record }: { readonly slot: number | undefined; readonly record: ResultRecord },
) {
  const decoded = record['decoded'] as DecodedValue | null;
  if (decoded === null) return renderCell(dataset, column, null);
  const { program, name, text } = decodedLine(decoded);
  const { transactionIndex, instructionAddress } = record;
  const label = `${program} ${name}`;
  const lengthMax = Math.max(0, characterCount(column) - label.length - 2);
  const isLinked =
    slot !== undefined &&
    typeof transactionIndex === 'number' &&
    Array.isArray(instructionAddress) &&
    hasOnlyNumbers(instructionAddress);
  return (
    <span class={cellClass(column)} title={writeJson(decoded).slice(0, titleLengthMax)}>
      <span class={decoded.error === undefined ? 'badge' : 'badge warn'}>{program}</span>{' '}
      {isLinked ? (
        <a href={pagePath.call(dataset, slot, { transactionIndex, instructionAddress })}>{name}</a>
      ) : (
        name
      )}{' '}
      <span class="hash">{text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text}</span>
    </span>
  );
}

function hasOnlyNumbers(values: readonly unknown[]): values is readonly number[] {
  return values.every((value) => typeof value === 'number');
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
