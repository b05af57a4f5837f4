/**
 * Every fault of a simulated node, as one table for parsing, help, documentation and tests.
 *
 * The layer of a fault determines how it can be restricted:
 *   wire    a whole HTTP response; methods and slots are those of any call of the request
 *   call    the response to one call
 *   batch   the order of a batch
 *   block   the content of one block
 *   chain   the ledger as the node sees it
 *   socket  the notifications of a WebSocket and the updates of a gRPC stream; methods are the subscribe methods
 */
export type FaultLayer = 'wire' | 'call' | 'batch' | 'block' | 'chain' | 'socket';

/** A parameter without a default is required unless it is optional. */
export type ParameterSpec = { readonly isOptional?: boolean } & (
  | {
      readonly type: 'integer';
      readonly min: number;
      readonly max: number;
      readonly default?: number;
    }
  | { readonly type: 'choice'; readonly values: readonly string[]; readonly default?: string }
  | { readonly type: 'text'; readonly lengthMax: number; readonly default?: string }
  | { readonly type: 'share'; readonly default?: number }
);

const SCOPE_KEYS = ['fromSlot', 'toSlot', 'methods', 'times', 'probability'] as const;
export type ScopeKey = (typeof SCOPE_KEYS)[number];

export interface FaultSpec {
  readonly layer: FaultLayer;
  /** The keys that restrict it, if they differ from those of its layer. */
  readonly scope?: readonly ScopeKey[];
  readonly text: string;
  readonly parameters: Readonly<Record<string, ParameterSpec>>;
}

/** The keys that restrict the faults of each layer. A state of the chain cannot apply a number of times; a batch has no slot. */
const scopeByLayer: Readonly<Record<FaultLayer, readonly ScopeKey[]>> = {
  wire: SCOPE_KEYS,
  call: SCOPE_KEYS,
  batch: ['times', 'probability'],
  block: ['fromSlot', 'toSlot', 'times', 'probability'],
  chain: [],
  socket: SCOPE_KEYS,
};

function integer(min: number, max: number, preset?: number): ParameterSpec {
  return { type: 'integer', min, max, ...(preset === undefined ? {} : { default: preset }) };
}
/** The allowed values of these keys, except `methods`. */
export const SCOPE: Readonly<Record<Exclude<ScopeKey, 'methods'>, ParameterSpec>> = {
  fromSlot: integer(0, Number.MAX_SAFE_INTEGER),
  toSlot: integer(0, Number.MAX_SAFE_INTEGER),
  times: integer(1, 1_000_000_000),
  probability: { type: 'share' },
};

const depth = (preset: number): ParameterSpec => integer(1, 1_000, preset);
const slots = (preset: number): ParameterSpec => integer(1, 1_000_000, preset);

function at(layer: FaultLayer) {
  return (text: string, parameters: FaultSpec['parameters'] = {}): FaultSpec => {
    return { layer, text, parameters };
  };
}
const [wire, call, batch, block] = [at('wire'), at('call'), at('batch'), at('block')];
const [chain, socket] = [at('chain'), at('socket')];
/** A fault that ends a gRPC stream with a status. */
function grpcEnd(text: string, status: number): FaultSpec {
  const message = { type: 'text', lengthMax: 1_000, isOptional: true } as const;
  const parameters = { status: integer(1, 16, status), message };
  return { ...socket(text, parameters), scope: ['times', 'probability'] };
}
const MISSING = 'logs rewards meta inner balances token-balances loaded-addresses'.split(' ');

export const FAULT_KINDS = {
  stall: wire('requests are accepted and never answered, notifications stop'),
  delay: wire('responses are late', { ms: integer(1, 600_000) }),
  'drop-connection': wire('the connection is reset after this many bytes of the body', {
    atByte: integer(0, 1_000_000_000, 0),
  }),
  drip: wire('the body is sent slowly', { bytesPerSecond: integer(1, 1_000_000, 1) }),
  'malformed-json': wire('the body is not JSON'),
  'truncated-gzip': wire('the body is gzip that ends too early, even if gzip was not accepted'),
  'invalid-utf8': wire('a text of the body has bytes that are not UTF-8'),
  bom: wire('a byte order mark precedes the body'),
  'rate-limit': wire('HTTP 429, with Retry-After if seconds are given', {
    retryAfterSeconds: { ...integer(0, 3_600), isOptional: true },
  }),
  'http-status': wire('an HTTP status instead of a JSON-RPC response', {
    status: integer(400, 599),
  }),

  'rpc-error': call('a JSON-RPC error, with the text of a real node for the code', {
    code: integer(-33_000, -1),
    message: { type: 'text', lengthMax: 1_000, isOptional: true },
  }),
  'null-result': call('the result is null'),
  'batch-shuffle': batch('the responses of a batch come in reverse order'),
  'batch-missing': batch('the last response of a batch is left out'),

  'skip-block': {
    ...block('a block is missing in lists, and optionally reported as skipped or not available', {
      as: { type: 'choice', values: ['omitted', 'skipped', 'unavailable'], default: 'skipped' },
    }),
    scope: ['fromSlot', 'toSlot'],
  },
  'wrong-parent-hash': block('previousBlockhash is a wrong hash, or the given one', {
    hash: { type: 'text', lengthMax: 100, isOptional: true },
  }),
  'wrong-parent-slot': block('parentSlot is too low by this many slots', { by: slots(1) }),
  'wrong-height': block('blockHeight is too high by this much', { by: slots(1) }),
  'bad-hash': block('blockhash has a line break'),
  'incomplete-meta': block('a kind of data is null, or absent if a node would omit it', {
    missing: { type: 'choice', values: MISSING, default: 'logs' },
  }),
  'giant-block': block('transactions repeat until the block has at least this many bytes', {
    bytes: integer(1, 268_435_456, 67_108_864),
  }),

  lag: chain('the node is this many slots behind', { bySlots: slots(10) }),
  fork: chain('another branch replaces the last blocks for some slots; finality waits', {
    depth: depth(3),
    forSlots: slots(8),
  }),
  'fork-lower': chain('as fork, and the new branch ends this many blocks lower', {
    depth: depth(3),
    lowerBy: depth(1),
    forSlots: slots(8),
  }),
  'fork-storm': chain('in every slot up to this many of the last blocks are replaced', {
    depth: depth(3),
  }),
  'fork-below-finality': chain('a branch from this many blocks below the finalized one is final', {
    depth: depth(3),
  }),
  'finality-regress': chain('the finalized slot is lower by this many slots', {
    bySlots: slots(10),
  }),
  'finality-stall': chain('the finalized slot stays where it is'),
  'finality-ahead': chain('the finalized slot is above the head', { bySlots: slots(10) }),
  'other-genesis': {
    ...chain('getGenesisHash returns the hash of another ledger'),
    scope: ['times', 'probability'],
  },
  prune: chain('nothing below the slot is available', {
    belowSlot: integer(0, Number.MAX_SAFE_INTEGER),
  }),

  redeliver: socket('notifications are sent several times, and lists repeat slots as often', {
    copies: integer(2, 100, 2),
  }),
  disorder: socket('every second notification is sent before the first'),
  'grpc-omit': socket('updates of a kind are not sent over gRPC', {
    part: {
      type: 'choice',
      values: ['block', 'transaction', 'block-meta', 'slot', 'ping'],
      default: 'block',
    },
  }),
  'grpc-end': grpcEnd('running gRPC streams end with a status', 13),
  'grpc-refuse': grpcEnd('new gRPC streams are refused with a status', 14),
  'grpc-no-replay': grpcEnd('gRPC streams that request earlier slots are refused', 11),
  'ws-close': socket('WebSockets are closed instead of notified', {
    code: integer(1000, 4999, 1011),
  }),
} as const satisfies Record<string, FaultSpec>;

export type FaultKind = keyof typeof FAULT_KINDS;

export function scopeOf(kind: FaultKind): readonly ScopeKey[] {
  const spec: FaultSpec = FAULT_KINDS[kind];
  return spec.scope ?? scopeByLayer[spec.layer];
}
