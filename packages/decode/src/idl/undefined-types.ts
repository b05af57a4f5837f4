/** Finds types that an IDL uses and does not define. IDLs of older Anchor often lack types of other crates. */
import { unreachable } from '@sluice/base/assert';
import type { IdlField, IdlType, ItemCount, ProgramDescription } from '../program-description.ts';

interface Use {
  readonly type: IdlType;
  /** Where the type is used. */
  readonly where: string;
}

/**
 * Returns each undefined type that an instruction or event needs, with the first place that was found, such as `Nope (pair of instruction
 * swap)`. What has such a type is not decoded; everything else is.
 */
export function listUndefinedTypes({
  instructions,
  events,
  types,
}: ProgramDescription): readonly string[] {
  const found = new Map<string, string>();
  const seen = new Set<string>();
  const uses = [
    ...events.flatMap(({ name, fields }) => fieldUses(fields, `event ${name}`)),
    ...instructions.flatMap(({ name, fields }) => fieldUses(fields, `instruction ${name}`)),
  ];
  // A list and no recursion, because a hostile IDL may have a long chain of types.
  for (let use = uses.pop(); use !== undefined; use = uses.pop()) {
    const { type, where } = use;
    if (type.kind === 'struct') pushAll(uses, fieldUses(type.fields, where));
    else if (type.kind !== 'defined')
      pushAll(
        uses,
        innerTypes(type).map((inner) => ({ type: inner, where })),
      );
    else {
      const definition = types.get(type.name);
      const shown = type.name.split('<', 1)[0] ?? type.name;
      if (definition === undefined) found.set(shown, found.get(shown) ?? where);
      else if (!seen.has(type.name)) uses.push({ type: definition, where: `type ${shown}` });
      seen.add(type.name);
    }
  }
  return [...found].map(([name, where]) => `${name} (${where})`);
}

function fieldUses(fields: readonly IdlField[], owner: string): Use[] {
  return fields.map(({ name, type }) => ({ type, where: `${name} of ${owner}` }));
}

function pushAll(list: Use[], uses: readonly Use[]): void {
  for (const use of uses) list.push(use);
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
