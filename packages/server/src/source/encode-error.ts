import { integerMark } from './parse-exact-json.ts';
import { markedDigits } from './read-integer.ts';

/**
 * The text of a transaction's `err` as it goes out: an object, in which a unit variant, a bare text on the ledger, has the
 * value null. Every digit of what is inside stays. Undefined if the value cannot be one or cannot be written exactly.
 */
export function encodeError(err: unknown, isMarkAmbiguous: boolean): string | undefined {
  if (typeof err === 'string') {
    return err.charCodeAt(0) === integerMark ? undefined : `{${JSON.stringify(err)}:null}`;
  }
  if (typeof err !== 'object' || err === null || Array.isArray(err)) return undefined;
  return encodeValue(err, isMarkAmbiguous);
}

function encodeValue(value: unknown, isMarkAmbiguous: boolean): string | undefined {
  switch (typeof value) {
    case 'string':
      return encodeText(value, isMarkAmbiguous);
    case 'number':
      return Number.isFinite(value) ? String(value) : undefined;
    case 'boolean':
      return String(value);
    default:
      if (value === null) return 'null';
      return Array.isArray(value)
        ? encodeArray(value, isMarkAmbiguous)
        : encodeObject(value as object, isMarkAmbiguous);
  }
}

function encodeText(text: string, isMarkAmbiguous: boolean): string | undefined {
  const digits = markedDigits(text);
  if (digits === undefined) return JSON.stringify(text);
  return isMarkAmbiguous ? undefined : digits;
}

function encodeArray(values: readonly unknown[], isMarkAmbiguous: boolean): string | undefined {
  let text = '[';
  for (let i = 0; i < values.length; i++) {
    const encoded = encodeValue(values[i], isMarkAmbiguous);
    if (encoded === undefined) return undefined;
    text += i === 0 ? encoded : `,${encoded}`;
  }
  return `${text}]`;
}

function encodeObject(value: object, isMarkAmbiguous: boolean): string | undefined {
  let text = '{';
  for (const [key, member] of Object.entries(value)) {
    const encoded = encodeValue(member, isMarkAmbiguous);
    if (encoded === undefined) return undefined;
    text += `${text.length === 1 ? '' : ','}${JSON.stringify(key)}:${encoded}`;
  }
  return `${text}}`;
}
