/** Refuses IDLs whose instructions or events cannot be decoded because a type of their values is not defined or has no end. */
import { unreachable } from '@sluice/base/assert';
import type { IdlField, IdlType, ItemCount, ProgramDescription } from '../program-description.ts';
import { refuseIdl } from './idl-input.ts';

type Types = ProgramDescription['types'];

/** The decoder reads at most this many defined types inside each other. */
const nestingMax = 64;

interface Use {
  readonly type: IdlType;
  /** Where the type is used, as a text for the error. */
  readonly where: string;
}

/** Throws `idl-invalid` with the name of a type and where it is used. Types that no instruction and no event uses are not checked. */
export function checkTypes({ instructions, events, types }: ProgramDescription): void {
  const finite = finiteTypes(types);
  const seen = new Set<string>();
  const uses = [
    ...instructions.flatMap(({ name, fields }) => fieldUses(fields, `instruction ${name}`)),
    ...events.flatMap(({ name, fields }) => fieldUses(fields, `event ${name}`)),
  ];
  // A list and no recursion, because a hostile IDL may have a long chain of types.
  for (let use = uses.pop(); use !== undefined; use = uses.pop()) {
    const { type, where } = use;
    if (type.kind === 'struct') uses.push(...fieldUses(type.fields, where));
    else if (type.kind !== 'defined')
      uses.push(...innerTypes(type).map((inner) => ({ type: inner, where })));
    else {
      const definition = types.get(type.name);
      const shown = nameOf(type.name);
      if (definition === undefined)
        refuseIdl(where, `a type that the IDL defines; ${shown} is not defined`);
      if (!finite.has(type.name))
        refuseIdl(where, `a type that ends; a value of ${shown} contains others without end`);
      if (!seen.has(type.name)) uses.push({ type: definition, where: `type ${shown}` });
      seen.add(type.name);
    }
  }
}

function fieldUses(fields: readonly IdlField[], owner: string): Use[] {
  return fields.map(({ name, type }) => ({ type, where: `${name} of ${owner}` }));
}

/** Returns the name of a type without its arguments. */
function nameOf(key: string): string {
  return key.split('<', 1)[0] ?? key;
}

/** Returns the types of which a value can have an end. A type that is not defined counts as one, because it is reported as undefined. */
function finiteTypes(types: Types): ReadonlySet<string> {
  const finite = new Set<string>();
  const ends = (type: IdlType): boolean => {
    switch (type.kind) {
      case 'defined':
        return finite.has(type.name) || !types.has(type.name);
      case 'array':
        return (
          countEnds(type.count, ends) && (type.count === 0 || isOpen(type.count) || ends(type.item))
        );
      case 'map':
        return (
          countEnds(type.count, ends) &&
          (type.count === 0 || isOpen(type.count) || innerTypes(type).every(ends))
        );
      case 'option':
        return ends(type.prefix) && (!type.isFixed || ends(type.item));
      case 'remainderOption':
        return true;
      case 'enum':
        return (
          ends(type.size) &&
          (type.variants.length === 0 ||
            type.variants.some((each) => each.type === undefined || ends(each.type)))
        );
      default:
        return innerTypes(type).every(ends);
    }
  };
  // A type that needs more rounds cannot be decoded either.
  for (let round = 0, size = -1; size < finite.size && round < nestingMax; round++) {
    size = finite.size;
    for (const [name, type] of types) if (!finite.has(name) && ends(type)) finite.add(name);
  }
  return finite;
}

/** Returns whether there may be no items. */
function isOpen(count: ItemCount): boolean {
  return typeof count !== 'number';
}

function countEnds(count: ItemCount, ends: (type: IdlType) => boolean): boolean {
  return typeof count !== 'object' || ends(count.prefix);
}

function countTypes(count: ItemCount): readonly IdlType[] {
  return typeof count === 'object' ? [count.prefix] : [];
}

/** Returns the types that a type directly consists of. */
function innerTypes(type: IdlType): readonly IdlType[] {
  switch (type.kind) {
    case 'integer':
    case 'float':
    case 'shortInteger':
    case 'publicKey':
    case 'bytes':
    case 'unit':
    case 'string':
    case 'defined':
      return [];
    case 'boolean':
      return [type.size];
    case 'sized':
      return typeof type.size === 'number' ? [type.item] : [type.size, type.item];
    case 'array':
      return [...countTypes(type.count), type.item];
    case 'map':
      return [...countTypes(type.count), type.key, type.value];
    case 'option':
      return [type.prefix, type.item];
    case 'terminated':
    case 'remainderOption':
    case 'zeroable':
    case 'moved':
    case 'hidden':
      return [type.item];
    case 'struct':
      return type.fields.map((field) => field.type);
    case 'tuple':
      return type.items;
    case 'enum':
      return [type.size, ...type.variants.flatMap((variant) => variant.type ?? [])];
    default:
      return unreachable(type);
  }
}
