/** Replaces the names of instructions in a query by the start of their data, which the IDLs of their programs contain. */
import { findNearestName } from '@sluice/base/find-nearest-name';
import type { IdlRegistry } from '@sluice/decode/idl-registry';
import { filterRows } from '@sluice/protocol/request-table';
import { joinPath, type QueryPath, refuse } from './query-refusal.ts';

/** The parsed filters of an item, in the order of the table. */
export type Filters = Readonly<Record<string, unknown>>;

interface NamesContext {
  readonly path: QueryPath;
  readonly idls: IdlRegistry;
}

/** Names that are listed in an error. */
const listedNameCountMax = 20;

/**
 * Returns the filters of an item without names. If the instructions start differently in its programs, several items select what it
 * selects: one for each group of programs with the same starts.
 */
export function replaceNames(filters: Filters, context: NamesContext): readonly Filters[] {
  const names = textsOf(filters['name']);
  if (names === undefined) return [filters];
  const programs = textsOf(filters['programId']);
  if (programs === undefined) {
    const path = joinPath(context.path, 'programId');
    const allowed = 'the programs whose instructions are named';
    refuse('query-key-missing', { path, found: undefined, allowed });
  }
  if (programs.length < Object(filters['programId']).length) {
    const path = joinPath(context.path, 'programId');
    const allowed = 'a list of addresses without sets, because name is given';
    refuse('query-value-invalid', { path, found: filters['programId'], allowed });
  }
  for (const name of names) requireKnown(name, programs, context);
  const given = textsOf(filters['discriminator']);
  const groups = new Map<
    string,
    { readonly programId: string[]; readonly discriminator: readonly string[] }
  >();
  for (const program of programs) {
    const starts = names.flatMap((name) => context.idls.dataStarts(program, name));
    const discriminator = [
      ...new Set(given === undefined ? starts : intersect(starts, given)),
    ].sort();
    const group = groups.get(discriminator.join());
    if (group === undefined)
      groups.set(discriminator.join(), { programId: [program], discriminator });
    else group.programId.push(program);
  }
  return [...groups.values()].map((group) => withFilters(filters, group));
}

function textsOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : undefined;
}

/** Returns the prefixes that are in both lists, or longer than one of the other list. */
function intersect(some: readonly string[], others: readonly string[]): readonly string[] {
  const within = (list: readonly string[], prefixes: readonly string[]) =>
    list.filter((each) => prefixes.some((prefix) => each.startsWith(prefix)));
  return [...within(some, others), ...within(others, some)];
}

/** Filters are in the order of the table, so that equal items have equal keys. */
function withFilters(filters: Filters, replaced: Filters): Filters {
  const names = filterRows('instructions').map(([name]) => name);
  const entries = names.map((name) => [name, replaced[name] ?? filters[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function requireKnown(
  name: string,
  programs: readonly string[],
  { path, idls }: NamesContext,
): void {
  if (programs.some((program) => idls.dataStarts(program, name).length > 0)) return;
  const known = [...new Set(programs.flatMap((program) => idls.instructionNames(program)))];
  const listed = known.slice(0, listedNameCountMax).join(', ');
  const more = known.length > listedNameCountMax ? ', …' : '';
  refuse('query-name-unknown', {
    path: joinPath(path, 'name'),
    found: name,
    nearest: findNearestName(name, known),
    allowed:
      known.length === 0
        ? 'no names, because no IDL is registered for these programs'
        : `${listed}${more}`,
  });
}
