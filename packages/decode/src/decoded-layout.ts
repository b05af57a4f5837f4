/** The instruction or event whose values become columns, as a request names it and as its newest IDL describes it. */
import { CodedError } from '@sluice/base/errors';
import type { IdlRegistry } from './idl-registry.ts';
import { eventColumnsOf, typedColumnsOf } from './program-decoder.ts';
import type { TypedColumns } from './typed-layout.ts';

export interface DecodedLayout {
  readonly programId: string;
  readonly name: string;
  /** Whether the rows are events instead of instructions. */
  readonly isEvent: boolean;
  readonly columns: TypedColumns;
  /** The arguments and accounts with the address of a mint whose decimals have a column. */
  readonly mints: readonly MintSource[];
}

/** One of the columns of arguments or accounts, by its number. */
export interface MintSource {
  readonly head: 'args' | 'accounts';
  readonly name: string;
  readonly number: number;
}

/** The parameters of a request. Lists are separated by commas. */
export interface RequestedLayout {
  readonly decoded?: string | undefined;
  readonly event?: string | undefined;
  readonly accounts?: string | undefined;
  readonly decimals?: string | undefined;
}

const rejected = (path: string, allowed: string) =>
  new CodedError('parameter-invalid', { path, allowed });

/** Returns undefined if a request has none of the parameters. Throws `parameter-invalid`, with what is allowed. */
export function findDecodedLayout(
  { decoded, event, accounts, decimals }: RequestedLayout,
  idls: IdlRegistry,
): DecodedLayout | undefined {
  const isEvent = event !== undefined;
  const wanted = event ?? decoded;
  const path = isEvent ? 'event' : 'decoded';
  if (wanted === undefined) {
    if (accounts === undefined && decimals === undefined) return undefined;
    throw rejected(path, 'PROGRAM.NAME, with accounts or decimals');
  }
  if (isEvent && decoded !== undefined) throw rejected(path, 'only without decoded');
  if (!isEvent && accounts !== undefined) throw rejected('accounts', 'only with event');
  const [programId = '', name = ''] = wanted.split('.');
  const descriptions = idls.descriptions(programId);
  const found = (isEvent ? eventColumnsOf : typedColumnsOf)(descriptions, name);
  if (found !== undefined) {
    const named = isEvent ? findNames('accounts', accounts, found.accounts) : found.accounts;
    const columns = { args: found.args, accounts: named };
    return { programId, name, isEvent, columns, mints: findMints(decimals, columns) };
  }
  if (descriptions.length === 0) throw rejected(path, 'a program with an IDL');
  const layouts = descriptions.flatMap((known) => (isEvent ? known.events : known.instructions));
  const names = [...new Set(layouts.map((layout) => layout.name))].join(' ') || 'none';
  throw rejected(path, `an ${isEvent ? 'event' : 'instruction'} of this program: ${names}`);
}

/** Returns the names of a parameter. */
function findNames(path: string, text: string | undefined, known: readonly string[]): string[] {
  const names = text?.split(',') ?? [];
  if (names.every((name) => known.includes(name))) return names;
  throw rejected(path, `names of ${known.join(' ')}`);
}

function findMints(
  decimals: string | undefined,
  { args, accounts }: TypedColumns,
): readonly MintSource[] {
  const known = [
    ...args.map(({ name }, number) => ({ head: 'args', name, number }) as const),
    ...accounts.map((name, number) => ({ head: 'accounts', name, number }) as const),
  ];
  const pathOf = ({ head, name }: MintSource) => `${head}.${name}`;
  const names = new Set(findNames('decimals', decimals, known.map(pathOf)));
  return known.filter((source) => names.has(pathOf(source)));
}
