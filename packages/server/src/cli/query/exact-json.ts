/** Writes JSON with all digits of 64-bit integers. */
import type { Dialect } from '@sluice/protocol/dialect';
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import type { BlockWriter, ReadBlock } from './block-writer.ts';

/** Marks a bigint inside a JSON text. No text of a ledger starts with it, because UTF-8 cannot encode a lone surrogate. */
const mark = '\ud800';
const marked = /"\\ud800(-?\d+)"/g;

export function toExactJson(value: unknown, indent?: number): string {
  const replace = (_key: string, part: unknown) =>
    typeof part === 'bigint' ? `${mark}${part}` : part;
  return JSON.stringify(value, replace, indent).replaceAll(marked, '$1');
}

export interface JsonWriterOptions {
  readonly dialect: Dialect;
  readonly isPretty: boolean;
}

/** Writes one block per line, or indented on a terminal, in the form in which the service sends them. */
export function createJsonWriter({ dialect, isPretty }: JsonWriterOptions): BlockWriter {
  const indent = isPretty ? 2 : undefined;
  const toText = dialect === 'solana' ? toSolanaJson : toExactJson;
  return {
    begin: () => '',
    write: (block) => `${toText(withoutEmpty(block), indent)}\n`,
    flush: () => '',
    end: () => '',
  };
}

function withoutEmpty(block: ReadBlock): object {
  const isEmpty = RECORD_ARRAY_NAMES.some((array) => block[array]?.length === 0);
  if (!isEmpty) return block;
  const entries = Object.entries(block).filter(
    ([, value]) => !Array.isArray(value) || value.length > 0,
  );
  return Object.fromEntries(entries);
}

/** In the dialect `solana` quantities are texts, but times are not. */
function toSolanaJson(value: unknown, indent?: number): string {
  const replace = (key: string, part: unknown) => {
    if (typeof part !== 'bigint') return part;
    return key === 'timestamp' ? `${mark}${part}` : String(part);
  };
  return JSON.stringify(value, replace, indent).replaceAll(marked, '$1');
}
