/** The flags of `sluice query` for common cases, and the items of a query that they describe. */

import { CodedError } from '@sluice/base/errors';
import { findNearestName } from '@sluice/base/find-nearest-name';
import type { RecordArray } from '@sluice/protocol/field-table';
import type { ItemsBody } from '@sluice/protocol/query-body';
import { relationRows } from '@sluice/protocol/request-table';
import { entriesOf, keysOf } from '@sluice/protocol/typed-keys';

export interface FilterFlags {
  readonly program?: readonly string[];
  /** Names of instructions in the IDLs of the programs. */
  readonly name?: readonly string[];
  readonly d1?: readonly string[];
  readonly d8?: readonly string[];
  readonly account?: readonly string[];
  readonly mint?: readonly string[];
  readonly owner?: readonly string[];
  readonly feePayer?: readonly string[];
  /** `true` if the flag has no value. */
  readonly logs?: true | readonly string[];
  readonly with?: readonly string[];
}

type Item = Record<string, unknown>;
type Items = Partial<Record<RecordArray, readonly Item[]>>;

/** Returns the items for the flags; an empty object without a filter. Flags of one kind of record are AND-ed. */
export function buildItems(flags: FilterFlags): ItemsBody {
  const items: Items = {
    ...instructionItems(flags),
    ...transactionItems(flags),
    ...tokenBalanceItems(flags),
    ...logItems(flags),
  };
  return addRelations(items, flags.with ?? []) as ItemsBody;
}

/** `--account` restricts the instructions of `--program` if both are given. */
function instructionItems({ program, name, d1, d8, account }: FilterFlags): Items {
  if ([program, name, d1, d8].every((value) => value === undefined)) return {};
  return {
    instructions: [defined({ programId: program, name, d1, d8, mentionsAccount: account })],
  };
}

function transactionItems({ program, name, d1, d8, account, feePayer }: FilterFlags): Items {
  const isTaken = [program, name, d1, d8].some((value) => value !== undefined);
  const mentionsAccount = isTaken ? undefined : account;
  if (feePayer === undefined && mentionsAccount === undefined) return {};
  return { transactions: [defined({ feePayer, mentionsAccount })] };
}

/** The filters `mint` and `owner` match a value before the transaction or after it. */
function tokenBalanceItems({ mint, owner }: FilterFlags): Items {
  if (mint === undefined && owner === undefined) return {};
  return { tokenBalances: [defined({ mint, owner })] };
}

/** `--logs` without a value uses the programs of `--program`. */
function logItems({ logs, program }: FilterFlags): Items {
  if (logs === undefined) return {};
  return { logs: [defined({ programId: logs === true ? program : logs })] };
}

function defined(item: Item): Item {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined));
}

/** Short names of relations for `--with`, in addition to the names of the query language. */
const shortNames: Readonly<Record<string, string>> = {
  inner: 'innerInstructions',
  parents: 'parentInstructions',
};

/** Sets each relation on every item that has it, and rejects a relation that no item has. */
function addRelations(items: Items, names: readonly string[]): Items {
  const known = new Set<string>();
  const entries = entriesOf(items).map(([array, list = []]) => {
    const relations = names.flatMap((name) => {
      const relation = findRelation(array, name);
      if (relation !== undefined) known.add(name);
      return relation ?? [];
    });
    const flags = Object.fromEntries(relations.map((name) => [name, true]));
    return [array, list.map((item) => ({ ...item, ...flags }))];
  });
  const unknown = names.find((name) => !known.has(name));
  if (unknown !== undefined) throw refuseRelation(unknown, items);
  return Object.fromEntries(entries);
}

/** If an item has no relation `logs`, `balances` and so on, the name means the relation to the logs or balances of its transaction. */
function findRelation(array: RecordArray, name: string): string | undefined {
  const known: readonly string[] = relationRows(array).map(([relation]) => relation);
  const camel = name.replaceAll(/-([a-z])/g, (_all, letter: string) => letter.toUpperCase());
  const wanted = shortNames[camel] ?? camel;
  const ofTransaction = `transaction${wanted.charAt(0).toUpperCase()}${wanted.slice(1)}`;
  return [wanted, ofTransaction].find((relation) => known.includes(relation));
}

function refuseRelation(name: string, items: Items): CodedError {
  const allowed = keysOf(items).flatMap((array) =>
    relationRows(array).map(([relation]): string => relation),
  );
  const nearest = findNearestName(name, allowed);
  return new CodedError('cli-usage', {
    option: '--with',
    found: name,
    ...(nearest === undefined ? {} : { nearest }),
    allowed:
      [...new Set(allowed)].join(', ') || 'none, because there is no filter such as --program',
  });
}
