/**
 * Reads the IDLs of Anchor, before and since 0.30, and of Shank, which has the form of the older ones.
 *
 *   before 0.30   {"name","instructions":[{"name","accounts","args"}],"events":[{"name","fields"}],"types"}; discriminators are hashes
 *   since 0.30    {"address","metadata":{"name"},"instructions":[{"discriminator",…}],"events":[{"name","discriminator"}],"types"}
 *   Shank         as before 0.30; "discriminant":{"type","value"} and "metadata":{"origin":"shank"}
 */
import { createHash } from 'node:crypto';
import { memberOf } from '@sluice/protocol/unknown-value';
import {
  boolean,
  bytes,
  type IdlAccount,
  type IdlField,
  type IdlInstruction,
  type IdlLayout,
  type IdlType,
  integer,
  type ProgramDescription,
  publicKey,
  sized,
  text,
  u8,
  u32,
} from '../program-description.ts';
import {
  addressAt,
  bytesAt,
  type Json,
  listAt,
  numberAt,
  objectAt,
  refuseIdl,
  textAt,
} from './idl-input.ts';

export function readAnchorIdl(value: unknown): ProgramDescription {
  const idl = objectAt(value, '');
  const address = idl['address'] ?? memberOf(idl['metadata'], 'address');
  const types = new AnchorTypes(idl);
  return {
    address: address === undefined ? undefined : addressAt(address, 'address'),
    name: readName(idl),
    instructions: listAt(idl['instructions'], 'instructions').map(([each, path]) =>
      readInstruction(objectAt(each, path), path, types),
    ),
    events: listAt(idl['events'], 'events').map(([each, path]) =>
      readEvent(objectAt(each, path), path, types),
    ),
    types: types.all(),
  };
}

/** Before Anchor 0.30 the name is a member of the IDL itself. */
function readName({ name, metadata }: Json): string {
  if (name !== undefined && name !== null) return textAt(name, 'name');
  const inMetadata = memberOf(metadata, 'name');
  return typeof inMetadata === 'string'
    ? inMetadata
    : refuseIdl('metadata.name', 'a text, the name of the program (before Anchor 0.30: name)');
}

function readInstruction(instruction: Json, path: string, types: AnchorTypes): IdlInstruction {
  const name = textAt(instruction['name'], `${path}.name`);
  const start =
    readDiscriminator(instruction, path, types) ?? hashStart(`global:${toSnakeCase(name)}`);
  return {
    ...layoutOf(name, start),
    fields: types.fields(instruction['args'], `${path}.args`),
    accounts: readAccounts(instruction['accounts'], `${path}.accounts`, ''),
  };
}

function readEvent(event: Json, path: string, types: AnchorTypes): IdlLayout {
  const name = textAt(event['name'], `${path}.name`);
  const start = readDiscriminator(event, path, types) ?? hashStart(`event:${name}`);
  const fields =
    event['fields'] === undefined
      ? types.fieldsOf(name, path)
      : types.fields(event['fields'], `${path}.fields`);
  return { ...layoutOf(name, start), fields };
}

function layoutOf(name: string, start: Uint8Array): Omit<IdlLayout, 'fields'> {
  return { name, discriminators: [{ offset: 0, bytes: start }], fieldsAt: start.length };
}

/** Returns the bytes that the IDL contains, if it does. */
function readDiscriminator(layout: Json, path: string, types: AnchorTypes): Uint8Array | undefined {
  if (layout['discriminator'] !== undefined)
    return bytesAt(layout['discriminator'], `${path}.discriminator`);
  if (layout['discriminant'] === undefined) return undefined;
  const at = `${path}.discriminant`;
  const discriminant = objectAt(layout['discriminant'], at);
  if (Array.isArray(discriminant['value'])) return bytesAt(discriminant['value'], `${at}.value`);
  const type = types.read(discriminant['type'], `${at}.type`);
  if (type.kind !== 'integer') return refuseIdl(`${at}.type`, 'an integer type');
  const value = numberAt(discriminant['value'], `${at}.value`);
  return Uint8Array.from({ length: type.bytes }, (_, i) => Math.floor(value / 256 ** i) % 256);
}

function hashStart(of: string): Uint8Array {
  return createHash('sha256').update(of).digest().subarray(0, 8);
}

function toSnakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase();
}

/** The names of accounts in a group start with the name of the group and a dot. */
function readAccounts(value: unknown, path: string, group: string): readonly IdlAccount[] {
  return listAt(value, path).flatMap(([each, at]) => {
    const account = objectAt(each, at);
    const name = `${group}${textAt(account['name'], `${at}.name`)}`;
    if (account['accounts'] !== undefined)
      return readAccounts(account['accounts'], `${at}.accounts`, `${name}.`);
    const isOptional = [
      account['optional'],
      account['isOptional'],
      account['isOptionalAccount'],
    ].includes(true);
    return isOptional ? { name, absent: 'program' as const } : { name };
  });
}

const INTEGER = /^(u|i)(8|16|32|64|128|256)$/;

/** The types of one IDL. A type with parameters becomes one type for each list of arguments. */
class AnchorTypes {
  readonly #definitions = new Map<string, readonly [Json, string]>();
  readonly #types = new Map<string, IdlType>();
  /** The arguments of the type that is being read, by the name of the parameter. */
  #arguments: ReadonlyMap<string, IdlType | number> = new Map();

  constructor(idl: Json) {
    for (const list of ['accounts', 'types']) {
      for (const [each, path] of listAt(idl[list], list)) {
        const definition = objectAt(each, path);
        if (definition['type'] !== undefined) {
          this.#definitions.set(textAt(definition['name'], `${path}.name`), [definition, path]);
        }
      }
    }
  }

  /** Returns all types without parameters, and those with arguments that others use. */
  all(): ReadonlyMap<string, IdlType> {
    for (const [name, [definition]] of this.#definitions) {
      if (listAt(definition['generics'], 'generics').length === 0)
        this.#define(name, name, new Map());
    }
    return this.#types;
  }

  fields(value: unknown, path: string): readonly IdlField[] {
    return listAt(value, path).map(([each, at]) => {
      const field = objectAt(each, at);
      return {
        name: textAt(field['name'], `${at}.name`),
        type: this.read(field['type'], `${at}.type`),
      };
    });
  }

  /** Returns the fields of a struct that is defined. */
  fieldsOf(name: string, path: string): readonly IdlField[] {
    this.#define(name, name, new Map());
    const type = this.#types.get(name);
    if (type?.kind === 'struct') return type.fields;
    if (type?.kind === 'tuple')
      return type.items.map((item, i) => ({ name: String(i), type: item }));
    return refuseIdl(path, `a struct named ${name} in types`);
  }

  read(value: unknown, path: string): IdlType {
    if (typeof value === 'string') return this.#named(value, path);
    const type = objectAt(value, path);
    const [kind] = Object.keys(type);
    const inner = type[kind ?? ''];
    const at = `${path}.${kind}`;
    switch (kind) {
      case 'option':
        return { kind: 'option', prefix: u8, item: this.read(inner, at), isFixed: false };
      case 'coption':
        return { kind: 'option', prefix: u32, item: this.read(inner, at), isFixed: true };
      case 'vec':
      case 'hashSet':
      case 'bTreeSet':
        return { kind: 'array', count: { prefix: u32 }, item: this.read(inner, at) };
      case 'array':
        return this.#array(inner, at);
      case 'tuple':
        return {
          kind: 'tuple',
          items: listAt(inner, at).map(([each, where]) => this.read(each, where)),
        };
      case 'hashMap':
      case 'bTreeMap':
        return {
          kind: 'map',
          count: { prefix: u32 },
          key: this.read(memberOf(inner, '0'), at),
          value: this.read(memberOf(inner, '1'), at),
        };
      case 'generic':
        return this.#argument(textAt(inner, at), at);
      case 'defined':
        return this.#defined(inner, at);
      default:
        return refuseIdl(path, 'a type of Anchor');
    }
  }

  #named(name: string, path: string): IdlType {
    const number = INTEGER.exec(name);
    if (number !== null) return integer(Number(number[2]) / 8, number[1] === 'i');
    switch (name) {
      case 'bool':
        return boolean;
      case 'f32':
        return { kind: 'float', bytes: 4 };
      case 'f64':
        return { kind: 'float', bytes: 8 };
      case 'bytes':
        return sized(u32, bytes);
      case 'string':
        return sized(u32, text);
      case 'pubkey':
      case 'publicKey':
        return publicKey;
      default:
        return refuseIdl(path, 'a type of Anchor');
    }
  }

  #array(value: unknown, path: string): IdlType {
    const item = this.read(memberOf(value, '0'), `${path}.0`);
    const length = memberOf(value, '1');
    const generic = memberOf(length, 'generic');
    const count = generic === undefined ? length : this.#arguments.get(textAt(generic, path));
    return { kind: 'array', count: numberAt(count, `${path}.1`), item };
  }

  #argument(name: string, path: string): IdlType {
    const argument = this.#arguments.get(name);
    return typeof argument === 'object' ? argument : refuseIdl(path, 'a parameter of the type');
  }

  #defined(value: unknown, path: string): IdlType {
    if (typeof value === 'string') return { kind: 'defined', name: value };
    const reference = objectAt(value, path);
    const name = textAt(reference['name'], `${path}.name`);
    const given = listAt(reference['generics'], `${path}.generics`);
    if (given.length === 0) return { kind: 'defined', name };
    const values = given.map(([each, at]) => {
      const { kind, type, value: constant } = objectAt(each, at);
      return kind === 'const' ? Number(constant) : this.read(type, `${at}.type`);
    });
    const parameters = listAt(this.#definitions.get(name)?.[0]['generics'], `${path}.generics`);
    const names = parameters.map(([each, at]) => textAt(memberOf(each, 'name'), `${at}.name`));
    const key = `${name}<${JSON.stringify(values)}>`;
    // A type whose arguments grow each time that it refers to itself would have no end.
    if (key.length > 10_000) refuseIdl(path, 'fewer nested arguments');
    this.#define(key, name, new Map(names.map((each, i) => [each, values[i] ?? 0])));
    return { kind: 'defined', name: key };
  }

  #define(key: string, name: string, args: ReadonlyMap<string, IdlType | number>): void {
    const found = this.#definitions.get(name);
    if (found === undefined || this.#types.has(key)) return;
    const [definition, path] = found;
    // The type may refer to itself.
    this.#types.set(key, { kind: 'unit' });
    const before = this.#arguments;
    this.#arguments = args;
    this.#types.set(key, this.#body(objectAt(definition['type'], `${path}.type`), `${path}.type`));
    this.#arguments = before;
  }

  #body(type: Json, path: string): IdlType {
    switch (type['kind']) {
      case 'struct':
        return this.#members(type['fields'], `${path}.fields`) ?? { kind: 'struct', fields: [] };
      case 'enum':
        return {
          kind: 'enum',
          size: u8,
          variants: listAt(type['variants'], `${path}.variants`).map(([each, at], number) => {
            const variant = objectAt(each, at);
            const name = textAt(variant['name'], `${at}.name`);
            const members = this.#members(variant['fields'], `${at}.fields`);
            return members === undefined ? { name, number } : { name, number, type: members };
          }),
        };
      case 'alias':
        return this.read(type['value'], `${path}.value`);
      case 'type':
        return this.read(type['alias'], `${path}.alias`);
      default:
        return refuseIdl(path, 'a struct, an enum or an alias');
    }
  }

  /** Returns a struct or a tuple, or undefined if there are no members. */
  #members(value: unknown, path: string): IdlType | undefined {
    const members = listAt(value, path);
    if (members.length === 0) return undefined;
    if (
      memberOf(members[0]?.[0], 'name') !== undefined &&
      memberOf(members[0]?.[0], 'type') !== undefined
    ) {
      return { kind: 'struct', fields: this.fields(value, path) };
    }
    return { kind: 'tuple', items: members.map(([each, at]) => this.read(each, at)) };
  }
}
