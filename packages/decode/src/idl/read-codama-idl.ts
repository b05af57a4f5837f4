/** Reads the IDLs of Codama: a root node with a program, and possibly further programs. */
import { Buffer } from 'node:buffer';
import { decodeBase58 } from '@sluice/base/base58';
import { memberOf } from '@sluice/protocol/unknown-value';
import {
  bytes,
  type IdlAccount,
  type IdlField,
  type IdlInstruction,
  type IdlLayout,
  type IdlType,
  type IdlVariant,
  type ItemCount,
  integer,
  type Move,
  type ProgramDescription,
  publicKey,
  sized,
  type TextEncoding,
} from '../program-description.ts';
import {
  addressAt,
  type Json,
  listAt,
  numberAt,
  objectAt,
  refuseIdl,
  textAt,
} from './idl-input.ts';

export function readCodamaIdl(value: unknown): readonly ProgramDescription[] {
  const root = objectAt(value, '');
  const others = listAt(root['additionalPrograms'], 'additionalPrograms');
  const programs = ([[root['program'], 'program'], ...others] as const).map(
    ([each, path]) => [objectAt(each, path), path] as const,
  );
  // A link may name the program whose type it means.
  const types = new Map<string, IdlType>();
  for (const [program, path] of programs)
    readTypes(program, path, `${textAt(program['name'], `${path}.name`)}.`, types);
  return programs.map(([program, path]) => readProgram(program, path, types));
}

function readTypes(program: Json, path: string, prefix: string, types: Map<string, IdlType>): void {
  for (const [each, at] of listAt(program['definedTypes'], `${path}.definedTypes`)) {
    const definition = objectAt(each, at);
    types.set(
      `${prefix}${textAt(definition['name'], `${at}.name`)}`,
      readType(definition['type'], `${at}.type`),
    );
  }
}

function readProgram(
  program: Json,
  path: string,
  shared: ReadonlyMap<string, IdlType>,
): ProgramDescription {
  const types = new Map(shared);
  readTypes(program, path, '', types);
  const instructions = listAt(program['instructions'], `${path}.instructions`).flatMap(
    ([each, at]) => withSubInstructions(each, at),
  );
  return {
    address: addressAt(program['publicKey'], `${path}.publicKey`),
    name: textAt(program['name'], `${path}.name`),
    instructions: instructions.map(([each, at]) => readInstruction(each, at)),
    events: listAt(program['events'], `${path}.events`).map(([each, at]) =>
      readEvent(objectAt(each, at), at),
    ),
    types,
  };
}

/** A sub-instruction has further discriminators, so it is more specific than the instruction that contains it. */
function withSubInstructions(value: unknown, path: string): (readonly [Json, string])[] {
  const instruction = objectAt(value, path);
  const inner = listAt(instruction['subInstructions'], `${path}.subInstructions`);
  return [
    [instruction, path] as const,
    ...inner.flatMap(([each, at]) => withSubInstructions(each, at)),
  ];
}

function readInstruction(instruction: Json, path: string): IdlInstruction {
  const fields = listAt(instruction['arguments'], `${path}.arguments`);
  const absent = instruction['optionalAccountStrategy'] === 'omitted' ? 'omitted' : 'program';
  return {
    ...readLayout(instruction, path, fields),
    accounts: listAt(instruction['accounts'], `${path}.accounts`).map(([each, at]): IdlAccount => {
      const account = objectAt(each, at);
      const name = textAt(account['name'], `${at}.name`);
      return account['isOptional'] === true ? { name, absent } : { name };
    }),
  };
}

function readEvent(event: Json, path: string): IdlLayout {
  const data = objectAt(event['data'], `${path}.data`);
  if (data['kind'] === 'structTypeNode')
    return readLayout(event, path, listAt(data['fields'], `${path}.data.fields`));
  const layout = readLayout(event, path, []);
  // The constants of the discriminator are a hidden prefix of the data.
  return { ...layout, fields: [{ name: 'data', type: readType(data, `${path}.data`) }] };
}

function readLayout(
  node: Json,
  path: string,
  fields: readonly (readonly [unknown, string])[],
): IdlLayout {
  const byName = new Map(
    fields.map(([field, at]) => [
      textAt(memberOf(field, 'name'), `${at}.name`),
      [objectAt(field, at), at] as const,
    ]),
  );
  const discriminators: { offset: number; bytes: Uint8Array }[] = [];
  const hidden = new Set<string>();
  let byteLength: number | undefined;
  for (const [each, at] of listAt(node['discriminators'], `${path}.discriminators`)) {
    const discriminator = objectAt(each, at);
    const offset = numberAt(discriminator['offset'] ?? 0, `${at}.offset`);
    if (discriminator['kind'] === 'sizeDiscriminatorNode')
      byteLength = numberAt(discriminator['size'], `${at}.size`);
    else if (discriminator['kind'] === 'constantDiscriminatorNode') {
      discriminators.push({
        offset,
        bytes: constantBytes(discriminator['constant'], `${at}.constant`),
      });
    } else {
      const name = textAt(discriminator['name'], `${at}.name`);
      const [field, where] = byName.get(name) ?? refuseIdl(at, 'the name of a field');
      hidden.add(name);
      const type = readType(field['type'], `${where}.type`);
      discriminators.push({
        offset,
        bytes: valueBytes(field['defaultValue'], type, `${where}.defaultValue`),
      });
    }
  }
  return {
    name: textAt(node['name'], `${path}.name`),
    discriminators,
    ...(byteLength === undefined ? {} : { byteLength }),
    fieldsAt: 0,
    fields: [...byName].map(([name, [field, at]]) => readField(name, field, at, hidden.has(name))),
  };
}

function readField(name: string, field: Json, path: string, isDiscriminator: boolean): IdlField {
  const type = readType(field['type'], `${path}.type`);
  return isDiscriminator || field['defaultValueStrategy'] === 'omitted'
    ? { name, type, isHidden: true }
    : { name, type };
}

/** Returns the bytes of a constant with its type. */
function constantBytes(value: unknown, path: string): Uint8Array {
  const constant = objectAt(value, path);
  return valueBytes(constant['value'], readType(constant['type'], `${path}.type`), `${path}.value`);
}

function valueBytes(value: unknown, type: IdlType, path: string): Uint8Array {
  const node = objectAt(value, path);
  switch (node['kind']) {
    case 'numberValueNode': {
      const number = BigInt(numberAt(node['number'], `${path}.number`));
      if (type.kind !== 'integer') return refuseIdl(path, 'a value of an integer type');
      const all = Array.from({ length: type.bytes }, (_, i) =>
        Number(BigInt.asUintN(8, number >> BigInt(8 * i))),
      );
      return Uint8Array.from(type.isBigEndian ? all.reverse() : all);
    }
    case 'bytesValueNode':
      return textBytes(textAt(node['data'], `${path}.data`), node['encoding']);
    case 'stringValueNode':
      return Buffer.from(textAt(node['string'], `${path}.string`));
    case 'publicKeyValueNode':
      return textBytes(textAt(node['publicKey'], `${path}.publicKey`), 'base58');
    case 'booleanValueNode':
      return Uint8Array.of(node['boolean'] === true ? 1 : 0);
    case 'constantValueNode':
      return constantBytes(node, path);
    default:
      return refuseIdl(path, 'a constant');
  }
}

function textBytes(data: string, encoding: unknown): Uint8Array {
  if (encoding === 'base16') return Buffer.from(data, 'hex');
  if (encoding === 'base58') return decodeBase58(data) ?? refuseIdl('a constant', 'base58');
  return Buffer.from(data, encoding === 'base64' ? 'base64' : 'utf8');
}

const INTEGER = /^(u|i)(8|16|32|64|128)$/;

function readType(value: unknown, path: string): IdlType {
  const node = objectAt(value, path);
  const inner = (name: string) => readType(node[name], `${path}.${name}`);
  switch (node['kind']) {
    case 'numberTypeNode':
      return readNumber(node, path);
    case 'amountTypeNode':
    case 'dateTimeTypeNode':
    case 'solAmountTypeNode':
      return inner('number');
    case 'booleanTypeNode':
      return { kind: 'boolean', size: inner('size') };
    case 'bytesTypeNode':
      return bytes;
    case 'stringTypeNode':
      return { kind: 'string', encoding: readEncoding(node['encoding'], path) };
    case 'publicKeyTypeNode':
      return publicKey;
    case 'structTypeNode': {
      const fields = listAt(node['fields'], `${path}.fields`);
      return {
        kind: 'struct',
        fields: fields.map(([each, at]) =>
          readField(textAt(memberOf(each, 'name'), `${at}.name`), objectAt(each, at), at, false),
        ),
      };
    }
    case 'tupleTypeNode':
      return {
        kind: 'tuple',
        items: listAt(node['items'], `${path}.items`).map(([each, at]) => readType(each, at)),
      };
    case 'definedTypeLinkNode': {
      const program = memberOf(node['program'], 'name');
      const name = textAt(node['name'], `${path}.name`);
      return { kind: 'defined', name: typeof program === 'string' ? `${program}.${name}` : name };
    }
    case 'enumTypeNode':
      return { kind: 'enum', size: inner('size'), variants: readVariants(node, path) };
    default:
      return readWrapper(node, path, inner);
  }
}

/** Reads a type that contains others. */
function readWrapper(node: Json, path: string, inner: (name: string) => IdlType): IdlType {
  const constants = (name: string) =>
    listAt(node[name], `${path}.${name}`).reduce(
      (sum, [each, at]) => sum + constantBytes(each, at).length,
      0,
    );
  switch (node['kind']) {
    case 'fixedSizeTypeNode':
      return sized(numberAt(node['size'], `${path}.size`), inner('type'));
    case 'sizePrefixTypeNode':
      return sized(inner('prefix'), inner('type'));
    case 'sentinelTypeNode':
      return {
        kind: 'terminated',
        sentinel: constantBytes(node['sentinel'], `${path}.sentinel`),
        item: inner('type'),
      };
    case 'arrayTypeNode':
    case 'setTypeNode':
      return { kind: 'array', count: readCount(node, path), item: inner('item') };
    case 'mapTypeNode':
      return {
        kind: 'map',
        count: readCount(node, path),
        key: inner('key'),
        value: inner('value'),
      };
    case 'optionTypeNode':
      return {
        kind: 'option',
        prefix: inner('prefix'),
        item: inner('item'),
        isFixed: node['fixed'] === true,
      };
    case 'remainderOptionTypeNode':
      return { kind: 'remainderOption', item: inner('item') };
    case 'zeroableOptionTypeNode': {
      const none =
        node['zeroValue'] === undefined
          ? {}
          : { none: constantBytes(node['zeroValue'], `${path}.zeroValue`) };
      return { kind: 'zeroable', item: inner('item'), ...none };
    }
    case 'preOffsetTypeNode':
      return { kind: 'moved', before: readMove(node, path), item: inner('type') };
    case 'postOffsetTypeNode':
      return { kind: 'moved', after: readMove(node, path), item: inner('type') };
    case 'hiddenPrefixTypeNode':
      return { kind: 'hidden', before: constants('prefix'), after: 0, item: inner('type') };
    case 'hiddenSuffixTypeNode':
      return { kind: 'hidden', before: 0, after: constants('suffix'), item: inner('type') };
    default:
      return refuseIdl(path, 'a type of Codama');
  }
}

function readNumber(node: Json, path: string): IdlType {
  const format = textAt(node['format'], `${path}.format`);
  if (format === 'shortU16') return { kind: 'shortInteger', bytesMax: 3 };
  if (format === 'f32' || format === 'f64')
    return { kind: 'float', bytes: format === 'f32' ? 4 : 8 };
  const match = INTEGER.exec(format) ?? refuseIdl(`${path}.format`, 'a format of numbers');
  return integer(Number(match[2]) / 8, match[1] === 'i', node['endian'] === 'be');
}

function readEncoding(value: unknown, path: string): TextEncoding {
  const encodings = ['utf8', 'base16', 'base58', 'base64'] as const;
  return (
    encodings.find((encoding) => encoding === value) ??
    refuseIdl(`${path}.encoding`, encodings.join(', '))
  );
}

function readCount(node: Json, path: string): ItemCount {
  const count = objectAt(node['count'], `${path}.count`);
  if (count['kind'] === 'fixedCountNode') return numberAt(count['value'], `${path}.count.value`);
  if (count['kind'] === 'remainderCountNode') return 'remainder';
  return { prefix: readType(count['prefix'], `${path}.count.prefix`) };
}

function readMove(node: Json, path: string): Move {
  const by = numberAt(node['offset'], `${path}.offset`);
  const from =
    node['strategy'] === 'absolute' ? 'start' : node['strategy'] === 'preOffset' ? 'value' : 'here';
  return { from, by };
}

function readVariants(node: Json, path: string): readonly IdlVariant[] {
  let next = 0;
  return listAt(node['variants'], `${path}.variants`).map(([each, at]) => {
    const variant = objectAt(each, at);
    const number =
      variant['discriminator'] === undefined ? next : numberAt(variant['discriminator'], at);
    next = number + 1;
    const name = textAt(variant['name'], `${at}.name`);
    const type = variant['struct'] ?? variant['tuple'];
    return type === undefined
      ? { name, number }
      : { name, number, type: readType(type, `${at}.type`) };
  });
}
