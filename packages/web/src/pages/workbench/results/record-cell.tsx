import { shorten } from '../../../base/format.ts';
import { writeJson } from '../../../base/write-json.ts';
import { AddressLink } from '../../../components/ledger-links.tsx';
import { pagePath } from '../../../state/page-path.ts';

const addressNames =
  /^(programId|account|feePayer|pubkey|pubKey|(pre|post)(Mint|Owner|ProgramId))$/;
/** Longer texts are shortened, because the browser also lays out hidden text. The title and the other views have the whole text. */
const textLengthMax = 80;
const titleLengthMax = 2_000;
/** The length of a text that fits into the narrowest column. */
const shortLength = 20;

interface RecordCellProps {
  readonly dataset: string;
  readonly name: string;
  readonly value: unknown;
}

/** One value of a record. Addresses, signatures and slots are links. */
export function RecordCell({ dataset, name, value }: RecordCellProps) {
  if (value === null || value === undefined) return <span class="muted">null</span>;
  if (name === 'number' || name === 'parentSlot' || name === 'parentNumber') {
    return (
      <span>
        <a href={pagePath.block(dataset, String(value))}>{String(value)}</a>
      </span>
    );
  }
  if (typeof value === 'string' && addressNames.test(name)) {
    return (
      <span>
        <AddressLink dataset={dataset} address={value} />
      </span>
    );
  }
  if (name === 'signatures' && Array.isArray(value)) {
    const signature = String(value[0] ?? '');
    return (
      <span>
        <a class="hash" href={pagePath.transaction(dataset, signature)} title={signature}>
          {shorten(signature, 8)}
        </a>
      </span>
    );
  }
  if (typeof value === 'bigint' || typeof value === 'number') {
    return <span class="cell-number">{String(value)}</span>;
  }
  const text = typeof value === 'string' ? value : writeJson(value);
  if (text.length <= shortLength) return <span class="hash">{text}</span>;
  return (
    <span class="hash cut" title={text.slice(0, titleLengthMax)}>
      {text.slice(0, textLengthMax)}
    </span>
  );
}
