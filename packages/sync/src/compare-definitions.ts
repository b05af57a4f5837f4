import { CodedError } from '@sluice/base/errors';
import { hasMembers } from '@sluice/protocol/unknown-value';
import type { TableDefinition } from './table-plan.ts';

interface Definitions {
  readonly stored: TableDefinition;
  readonly given: TableDefinition;
}

/** Returns the names of new columns. Throws `sync-table-changed` if anything else differs, because the stored rows would be wrong. */
export function addedColumns(table: string, { stored, given }: Definitions): readonly string[] {
  for (const part of ['source', 'items', 'fromBlock'] as const) {
    const [before, after] = [toText(stored[part]), toText(given[part])];
    if (before === after) continue;
    const changed = part === 'fromBlock' ? 'the first slot' : 'the query';
    throw new CodedError('sync-table-changed', { table, changed, stored: before, given: after });
  }
  for (const column of stored.columns) {
    const same = given.columns.find(({ name }) => name === column.name);
    const [before, after] = [describe(column), same === undefined ? 'absent' : describe(same)];
    if (before === after) continue;
    const changed = `the column ${column.name}`;
    throw new CodedError('sync-table-changed', { table, changed, stored: before, given: after });
  }
  const known = new Set(stored.columns.map(({ name }) => name));
  return given.columns.map(({ name }) => name).filter((name) => !known.has(name));
}

function describe({ value, type }: TableDefinition['columns'][number]): string {
  return `${value} ${type}`;
}

/** Returns JSON with sorted keys, because a database may store them in another order. */
function toText(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (!hasMembers(part) || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
