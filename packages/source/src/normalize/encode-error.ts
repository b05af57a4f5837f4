import { markedDigits } from '../json/read-integer.ts';

/**
 * Returns the JSON text of a transaction's `err` as it is sent to clients: an object, in which a unit variant (a plain text on the
 * ledger) has the value null. All digits are kept. Returns undefined if the value is not an error or cannot be written exactly.
 */
export function encodeError(err: unknown, mark: string): string | undefined {
  if (typeof err === 'string') {
    return markedDigits(err, mark) === undefined ? `{${JSON.stringify(err)}:null}` : undefined;
  }
  if (typeof err !== 'object' || err === null || Array.isArray(err)) return undefined;
  return encodeValue(err, mark);
}

function encodeValue(value: unknown, mark: string): string | undefined {
  switch (typeof value) {
    case 'string':
      return markedDigits(value, mark) ?? JSON.stringify(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : undefined;
    case 'boolean':
      return String(value);
    default:
      if (value === null) return 'null';
      return Array.isArray(value) ? encodeArray(value, mark) : encodeObject(value as object, mark);
  }
}

function encodeArray(values: readonly unknown[], mark: string): string | undefined {
  let text = '[';
  for (let i = 0; i < values.length; i++) {
    const encoded = encodeValue(values[i], mark);
    if (encoded === undefined) return undefined;
    text += i === 0 ? encoded : `,${encoded}`;
  }
  return `${text}]`;
}

function encodeObject(value: object, mark: string): string | undefined {
  let text = '{';
  for (const [key, member] of Object.entries(value)) {
    const encoded = encodeValue(member, mark);
    if (encoded === undefined) return undefined;
    text += `${text.length === 1 ? '' : ','}${JSON.stringify(key)}:${encoded}`;
  }
  return `${text}}`;
}
