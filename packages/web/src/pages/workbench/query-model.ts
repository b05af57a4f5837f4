/** The query as JSON text for the editor, and as a value for the form. The text is the source of truth. */
import type { Kind, RecordArray } from '@sluice/protocol/field-table';

export type JsonObject = Readonly<Record<string, unknown>>;

export type ParsedText =
  | { readonly kind: 'query'; readonly query: JsonObject }
  | { readonly kind: 'broken'; readonly message: string };

export function parseText(text: string): ParsedText {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return { kind: 'query', query: value };
    return { kind: 'broken', message: 'A query is a JSON object.' };
  } catch (error) {
    return { kind: 'broken', message: error instanceof Error ? error.message : String(error) };
  }
}

/** Formats a query in a readable way: lists of plain values and small objects are on one line. */
export function formatQuery(query: JsonObject): string {
  return formatValue(query, '');
}

const lineLength = 88;

function formatValue(value: unknown, margin: string): string {
  const flat = JSON.stringify(value, null, 1)?.replaceAll(/\n\s*/g, ' ') ?? 'null';
  const isRoot = margin === '';
  if (typeof value !== 'object' || value === null) return flat;
  if (!isRoot && flat.length + margin.length <= lineLength)
    return flat.replaceAll('[ ', '[').replaceAll(' ]', ']');
  const inner = `${margin}  `;
  const parts = Array.isArray(value)
    ? value.map((element) => `${inner}${formatValue(element, inner)}`)
    : Object.entries(value)
        .filter(([, member]) => member !== undefined)
        .map(([name, member]) => `${inner}${JSON.stringify(name)}: ${formatValue(member, inner)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return parts.length === 0
    ? `${open}${close}`
    : `${open}\n${parts.join(',\n')}\n${margin}${close}`;
}

/** Returns a query with a key set, or without it if the value is `undefined`. */
export function setKey(query: JsonObject, name: string, value: unknown): JsonObject {
  const { [name]: _, ...rest } = query;
  if (value === undefined) return rest;
  return name in query ? { ...query, [name]: value } : { ...rest, [name]: value };
}

export function itemsOf(query: JsonObject, array: RecordArray): readonly JsonObject[] {
  const items = query[array];
  return Array.isArray(items) ? items.filter(isObject) : [];
}

export function setItems(
  query: JsonObject,
  array: RecordArray,
  items: readonly JsonObject[],
): JsonObject {
  return setKey(query, array, items.length === 0 ? undefined : items);
}

/** Returns the fields of a kind that the query selects; `undefined` if it has no `fields`. */
export function selectedFields(query: JsonObject, kind: Kind): readonly string[] | undefined {
  const { fields } = query;
  if (!isObject(fields)) return undefined;
  const selector = fields[kind];
  if (!isObject(selector)) return [];
  return Object.keys(selector).filter((name) => selector[name] === true);
}

export function setFields(query: JsonObject, kind: Kind, names: readonly string[]): JsonObject {
  const fields = isObject(query['fields']) ? query['fields'] : {};
  const selector =
    names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, true]));
  return setKey(query, 'fields', setKey(fields, kind, selector));
}

/** Returns the values of a filter as a list. */
export function listValues(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.map(String) : [];
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
