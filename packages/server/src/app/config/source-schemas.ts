/** The configuration of each kind of source: its keys, and the checks that a schema cannot express. */
import { keysOf } from '@sluice/protocol/typed-keys';
import { CHAIN_OPTIONS } from '@sluice/simulator/chain/chain-options';
import { PROFILES } from '@sluice/simulator/content/content-options';
import { messageBytesMaxDefault } from '@sluice/source/grpc/grpc-subscription';
import { ADDRESSES } from '@sluice/source/source-addresses';
import Type, { type Static } from 'typebox';
import { choice, count } from './schema-parts.ts';

const sourceName = Type.Optional(
  Type.String({
    pattern: '^[\\w.-]{1,64}$',
    expected: '1 to 64 letters, digits, - _ .',
    description: 'its name in logs, `/status` and metrics; if absent, the kind and a number',
  }),
);

const rpcSource = Type.Object(
  {
    kind: Type.Literal('rpc', { description: 'a node, by JSON-RPC' }),
    name: sourceName,
    url: Type.String({
      secret: 'url',
      expected: ADDRESSES.rpc.expected,
      description: "the node's address",
    }),
    ws: Type.Optional(
      Type.String({
        secret: 'url',
        expected: ADDRESSES.ws.expected,
        description:
          'its WebSocket address, or `none` for polling; if absent, the same address is tried, then one port higher',
      }),
    ),
    headers: Type.Record(Type.String(), Type.String({ secret: 'value' }), {
      default: {},
      description: 'headers of every request, such as a key of the provider',
    }),
    callsPerSecond: Type.Optional(
      Type.Number({
        minimum: 0.1,
        maximum: 100_000,
        description: 'the number of calls that the node allows; unlimited if absent',
      }),
    ),
    connectionCountMax: count('connections to the node', 16, { max: 256 }),
  },
  { description: 'A node of the ledger, followed by JSON-RPC. Its WebSocket reports new slots.' },
);

const grpcSource = Type.Object(
  {
    kind: Type.Literal('grpc', { description: 'a node, by Yellowstone gRPC' }),
    name: sourceName,
    url: Type.String({
      secret: 'url',
      expected: ADDRESSES.grpc.expected,
      description: "the address of the node's gRPC interface",
    }),
    token: Type.Optional(
      Type.String({
        secret: 'value',
        minLength: 1,
        description: 'sent as `x-token`, if the provider requires one; preferably a variable',
      }),
    ),
    commitment: choice(['confirmed', 'processed'], {
      default: 'confirmed',
      description:
        'with `processed`, blocks are received before they are confirmed, and used as soon as they are',
    }),
    subscribe: Type.Optional(
      choice(['blocks', 'transactions'], {
        description:
          'whole blocks, or transactions and block metas that are joined; if absent, whole blocks unless the server refuses them',
      }),
    ),
    messageBytesMax: count('the largest message that is accepted', messageBytesMaxDefault, {
      min: 1_048_576,
    }),
  },
  {
    description:
      'A node that pushes its blocks: Yellowstone gRPC, or another server with this protocol. It has only recent blocks, so a source of kind `rpc` should be configured too.',
  },
);

const portalSource = Type.Object(
  {
    kind: Type.Literal('portal', { description: 'a dataset of another Sluice' }),
    name: sourceName,
    url: Type.String({
      secret: 'url',
      expected: ADDRESSES.portal.expected,
      description: "the dataset's address",
    }),
    key: Type.Optional(
      Type.String({
        secret: 'value',
        minLength: 1,
        description: 'its key, if it requires one; preferably a variable',
      }),
    ),
  },
  {
    description:
      'A dataset of another Sluice, followed over its stream. It must be of the same ledger, with the same `votes` and no more `allowMissing`.',
  },
);

const chainNumber = (name: 'seed' | 'slotMs' | 'startSlot' | 'startSeconds', description: string) =>
  Type.Integer({
    minimum: CHAIN_OPTIONS[name].min,
    maximum: CHAIN_OPTIONS[name].max,
    default: CHAIN_OPTIONS[name].default,
    description,
  });

const simulatorSource = Type.Object(
  {
    kind: Type.Literal('simulator', { description: 'a simulated ledger' }),
    name: sourceName,
    profile: choice(keysOf(PROFILES), {
      default: 'demo',
      description: 'the size of blocks',
    }),
    seed: chainNumber('seed', 'the same seed gives the same blocks'),
    slotMs: chainNumber('slotMs', 'the duration of a slot, in ms'),
    startSlot: chainNumber('startSlot', 'the slot that is produced at the first start'),
    startSeconds: chainNumber('startSeconds', 'the time of that slot, in unix seconds'),
  },
  {
    description:
      'A simulated ledger inside the process. Datasets whose simulators have the same values share one. Its time is paused while the process does not run.',
  },
);

const filesSource = Type.Object(
  {
    kind: Type.Literal('files', { description: 'files of blocks' }),
    name: sourceName,
    paths: Type.Array(Type.String({ minLength: 1, path: true }), {
      minItems: 1,
      maxItems: 10_000,
      description:
        'the files in the order of their blocks: lines `{"slot":N,"block":…}`, plain, gzip or zstd',
    }),
  },
  {
    description:
      'Files of blocks that count as final, as for `sluice import`. They are read once, before other sources are followed, and their blocks are served as soon as they are stored. A completely read file is not read again unless it changes. The dataset starts at their first block.',
  },
);

export const sourceSchema = Type.Union([
  rpcSource,
  grpcSource,
  portalSource,
  simulatorSource,
  filesSource,
]);

export type SourceConfig = Static<typeof sourceSchema>;

/** The kinds of sources that exist separately on each machine, so that several machines cannot share a dataset with them. */
export const LOCAL_KINDS: ReadonlySet<SourceConfig['kind']> = new Set(['simulator', 'files']);

export type RpcSourceConfig = Static<typeof rpcSource>;
export type SimulatorSourceConfig = Static<typeof simulatorSource>;

/** An invalid key of a source, and the expected value. */
export interface SourceFault {
  readonly key: string;
  readonly expected: string;
}

/** Returns the invalid keys of a source that fits the schema. */
export function findSourceFaults(source: SourceConfig): SourceFault[] {
  switch (source.kind) {
    case 'rpc':
      return findRpcFaults(source);
    case 'grpc':
      return findGrpcFaults(source);
    case 'portal':
      return findPortalFaults(source);
    default:
      return [];
  }
}

function findRpcFaults({ url, ws, headers }: RpcSourceConfig): SourceFault[] {
  const faults: SourceFault[] = [];
  const { rpc, ws: socket } = ADDRESSES;
  if (!rpc.isValid(url)) faults.push({ key: 'url', expected: rpc.expected });
  if (ws !== undefined && !socket.isValid(ws))
    faults.push({ key: 'ws', expected: socket.expected });
  for (const [name, value] of Object.entries(headers)) {
    const isLegal = /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
    if (!isLegal) faults.push({ key: `headers.${name}`, expected: 'a legal header of HTTP' });
  }
  return faults;
}

function findGrpcFaults({ url, token }: Static<typeof grpcSource>): SourceFault[] {
  const { grpc } = ADDRESSES;
  return [
    ...(grpc.isValid(url) ? [] : [{ key: 'url', expected: grpc.expected }]),
    ...findKeyFaults('token', token),
  ];
}

function findPortalFaults({ url, key }: Static<typeof portalSource>): SourceFault[] {
  const { portal } = ADDRESSES;
  return [
    ...(portal.isValid(url) ? [] : [{ key: 'url', expected: portal.expected }]),
    ...findKeyFaults('key', key),
  ];
}

function findKeyFaults(name: string, value: string | undefined): SourceFault[] {
  if (value === undefined || /^[\x21-\x7e]+$/.test(value)) return [];
  return [{ key: name, expected: `a ${name}: printable characters without spaces` }];
}
