/** Describes the decoded values of a program for those who store them: names and simple types instead of the layout of bytes. */
import type { ProgramField, ProgramInterface } from '@sluice/protocol/lookup-results';
import type { IdlField, IdlType, ProgramDescription } from './program-description.ts';

/** Structs below this depth are described as `json`, because a type may contain itself. */
const depthMax = 8;

type Shape = Omit<ProgramField, 'name'>;

/** Returns the union of all IDLs of a program. The first one that has a name describes it. */
export function describeProgram(
  programId: string,
  descriptions: readonly ProgramDescription[],
): ProgramInterface {
  const instructions = descriptions.flatMap((description) =>
    description.instructions.map(({ name, fields, accounts }) => ({
      name,
      args: describeFields(fields, description.types, 0),
      accounts: accounts.map((account) => account.name),
    })),
  );
  const events = descriptions.flatMap((description) =>
    description.events.map(({ name, fields }) => ({
      name,
      args: describeFields(fields, description.types, 0),
    })),
  );
  return {
    programId,
    program: descriptions[0]?.name ?? '',
    instructions: firstOfName(instructions),
    events: firstOfName(events),
  };
}

function firstOfName<Named extends { readonly name: string }>(
  all: readonly Named[],
): (Named & { readonly isVaried?: true })[] {
  const texts = new Map<string, Set<string>>();
  for (const description of all) {
    const { name } = description;
    texts.set(name, (texts.get(name) ?? new Set()).add(JSON.stringify(description)));
  }
  return [...texts].flatMap(([name, { size }]) => {
    const first = all.find((description) => description.name === name);
    if (first === undefined) return [];
    return [size > 1 ? { ...first, isVaried: true } : first];
  });
}

function describeFields(
  fields: readonly IdlField[],
  types: ProgramDescription['types'],
  depth: number,
): readonly ProgramField[] {
  return fields
    .filter(({ isHidden }) => isHidden !== true)
    .map(({ name, type }) => ({ name, ...describeType(type, types, depth) }));
}

function describeType(type: IdlType, types: ProgramDescription['types'], depth: number): Shape {
  if (depth > depthMax) return { type: 'json' };
  const inner = (item: IdlType) => describeType(item, types, depth + 1);
  switch (type.kind) {
    case 'integer':
      return { type: `${type.isSigned ? 'i' : 'u'}${type.bytes * 8}` };
    case 'shortInteger':
      return { type: 'u64' };
    case 'float':
      return { type: `f${type.bytes * 8}` };
    case 'boolean':
      return { type: 'bool' };
    case 'publicKey':
      return { type: 'address' };
    case 'bytes':
      return { type: 'bytes' };
    case 'string':
      return { type: 'text' };
    case 'sized':
    case 'terminated':
    case 'moved':
    case 'hidden':
      return inner(type.item);
    case 'option':
    case 'remainderOption':
    case 'zeroable':
      return { ...inner(type.item), isOptional: true };
    case 'array':
      return { type: isByte(type.item, types) ? 'bytes' : 'json' };
    case 'struct':
      return { type: 'struct', fields: describeFields(type.fields, types, depth + 1) };
    case 'enum':
      return {
        type: type.variants.every((variant) => variant.type === undefined) ? 'text' : 'json',
      };
    case 'defined': {
      const defined = types.get(type.name);
      return defined === undefined ? { type: 'json' } : inner(defined);
    }
    default:
      return { type: 'json' };
  }
}

function isByte(type: IdlType, types: ProgramDescription['types']): boolean {
  const [shape] = describeFields([{ name: '', type }], types, 0);
  return shape?.type === 'u8' && shape.isOptional !== true;
}
