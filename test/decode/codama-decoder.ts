/** Decodes instructions and events with Codama's own codecs, and converts the values to the form that Sluice writes. */
import { getNodeCodec } from '@codama/dynamic-codecs';
import { type AnchorIdl, rootNodeFromAnchor } from '@codama/nodes-from-anchor';

type Values = Readonly<Record<string, unknown>>;

export interface CodamaDecoder {
  /** The JSON text of the IDL in Codama's form. */
  readonly idl: string;
  readonly encode: (instruction: string, args: Values) => Uint8Array;
  readonly decodeInstruction: (instruction: string, data: Uint8Array) => unknown;
  readonly decodeEvent: (event: string, data: Uint8Array) => unknown;
}

/** The part of a root node that is used here. */
interface Root {
  readonly program: { readonly instructions: readonly Node[]; readonly events: readonly Node[] };
}

interface Node {
  readonly name: string;
}

export function codamaDecoder(anchorIdl: unknown): CodamaDecoder {
  const anchorRoot = rootNodeFromAnchor(anchorIdl as AnchorIdl);
  const root = withLists(anchorRoot) as Root;
  const { program } = root;
  const codecOf = (name: string) => {
    const nodes = [...program.instructions, ...program.events];
    const node = nodes.find((each) => each.name === toCamelCase(name));
    if (node === undefined) throw new Error(`Codama has no ${name}`);
    const path: unknown = [root, program, node];
    return getNodeCodec(path as Parameters<typeof getNodeCodec>[0], { bytesEncoding: 'base16' });
  };
  const codecs = new Map<string, ReturnType<typeof codecOf>>();
  const cached = (name: string) => {
    const codec = codecs.get(name) ?? codecOf(name);
    codecs.set(name, codec);
    return codec;
  };
  return {
    idl: JSON.stringify(anchorRoot),
    encode: (name, args) => Uint8Array.from(cached(name).encode(args)),
    decodeInstruction: (name, data) => withoutDiscriminator(cached(name).decode(data)),
    decodeEvent: (name, data) => withoutDiscriminator(cached(name).decode(data)),
  };
}

/** The codecs are of an older version than the reader of IDLs, which leaves out empty lists. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  rootNode: ['additionalPrograms'],
  programNode: ['accounts', 'instructions', 'definedTypes', 'pdas', 'events', 'errors'],
  instructionNode: ['accounts', 'arguments'],
  structTypeNode: ['fields'],
  tupleTypeNode: ['items'],
};

function withLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withLists);
  if (typeof value !== 'object' || value === null) return value;
  const kind = String((value as Values)['kind']);
  const empty = (LISTS[kind] ?? []).map((name) => [name, []] as const);
  const members = Object.entries(value).map(([name, each]) => [name, withLists(each)] as const);
  return Object.fromEntries([...empty, ...members]);
}

function withoutDiscriminator(value: unknown): unknown {
  const { discriminator: _, ...rest } = value as Values;
  return toSluice(rest);
}

/** Converts a decoded value of Codama or of a client that Codama generated. */
export function toSluice(value: unknown): unknown {
  if (typeof value === 'bigint') {
    return value >= -9007199254740991n && value <= 9007199254740991n
      ? Number(value)
      : String(value);
  }
  if (value instanceof Uint8Array) return `0x${Buffer.from(value).toString('hex')}`;
  if (value instanceof Map) return [...value].map(([key, each]) => [toSluice(key), toSluice(each)]);
  if (value instanceof Set) return [...value].map(toSluice);
  if (Array.isArray(value))
    return value.length === 2 && value[0] === 'base16' ? `0x${value[1]}` : value.map(toSluice);
  if (typeof value !== 'object' || value === null) return value;
  const values = value as Values;
  if ('__option' in values) return values['__option'] === 'Some' ? toSluice(values['value']) : null;
  if ('__kind' in values) return toVariant(values);
  return Object.fromEntries(Object.entries(values).map(([name, each]) => [name, toSluice(each)]));
}

function toVariant({ __kind: kind, ...rest }: Values): unknown {
  const name = String(kind);
  if (Object.keys(rest).length === 0) return name;
  return { [name]: 'fields' in rest ? toSluice(rest['fields']) : toSluice(rest) };
}

function toCamelCase(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[\s_]+/);
  return words
    .map((word, i) =>
      i === 0
        ? word.toLowerCase()
        : `${word.charAt(0).toUpperCase()}${word.slice(1).toLowerCase()}`,
    )
    .join('');
}

/** Converts the names of fields to those of Codama. */
export function withCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withCamelCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [toCamelCase(name), withCamelCase(each)]),
  );
}
