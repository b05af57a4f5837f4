/**
 * Keys and entries of objects whose keys the compiler knows. `Object.keys`, `Object.entries` and `Object.fromEntries` return them as
 * plain strings.
 */
type KeyOf<Table> = keyof Table & string;

export function keysOf<Table extends object>(table: Table): readonly KeyOf<Table>[] {
  return Object.keys(table) as KeyOf<Table>[];
}

export function entriesOf<Table extends object>(
  table: Table,
): readonly (readonly [KeyOf<Table>, Table[KeyOf<Table>]])[] {
  return Object.entries(table) as [KeyOf<Table>, Table[KeyOf<Table>]][];
}

/** Returns an object with these keys and the value that `build` returns for each. */
export function mapKeys<Key extends string, Value>(
  keys: readonly Key[],
  build: (key: Key) => Value,
): Record<Key, Value> {
  return Object.fromEntries(keys.map((key) => [key, build(key)])) as Record<Key, Value>;
}
