/**
 * Everything a simulated node can do wrong, as one table: parsing, help, documentation and tests derive from it.
 *
 * `place` says what a fault touches, and so what can limit it:
 *   wire    a whole HTTP answer; methods and slots are those of any call of the request
 *   call    one call's answer
 *   batch   the order of a batch
 *   block   one block's content
 *   chain   what the node believes the ledger to be
 *   socket  the notifications of a WebSocket; methods are the subscribe methods
 */
export type FaultPlace = 'wire' | 'call' | 'batch' | 'block' | 'chain' | 'socket';

export type ParameterSpec =
  | {
      readonly type: 'integer';
      readonly min: number;
      readonly max: number;
      readonly default?: number;
    }
  | { readonly type: 'choice'; readonly values: readonly string[]; readonly default?: string }
  | { readonly type: 'text'; readonly lengthMax: number; readonly default?: string };

export const SCOPE_KEYS = ['fromSlot', 'toSlot', 'methods', 'times', 'probability'] as const;
export type ScopeKey = (typeof SCOPE_KEYS)[number];

export interface FaultSpec {
  readonly place: FaultPlace;
  /** What can limit it, where that is not what can limit all faults of the place. */
  readonly scope?: readonly ScopeKey[];
  /** One line for people. */
  readonly text: string;
  readonly parameters: Readonly<Record<string, ParameterSpec>>;
}

const depth = (preset: number): ParameterSpec => ({
  type: 'integer',
  min: 1,
  max: 1_000,
  default: preset,
});
const slots = (preset: number): ParameterSpec => ({
  type: 'integer',
  min: 1,
  max: 1_000_000,
  default: preset,
});

export const FAULT_KINDS = {
  // The wire.
  stall: {
    place: 'wire',
    text: 'requests are taken and never answered, notifications stop',
    parameters: {},
  },
  delay: {
    place: 'wire',
    text: 'answers come late',
    parameters: { ms: { type: 'integer', min: 1, max: 600_000 } },
  },
  'drop-connection': {
    place: 'wire',
    text: 'the connection is reset after so many bytes of the body',
    parameters: { atByte: { type: 'integer', min: 0, max: 1_000_000_000, default: 0 } },
  },
  drip: {
    place: 'wire',
    text: 'the body comes a few bytes a second',
    parameters: { bytesPerSecond: { type: 'integer', min: 1, max: 1_000_000, default: 1 } },
  },
  'malformed-json': { place: 'wire', text: 'the body is no JSON', parameters: {} },
  'truncated-gzip': {
    place: 'wire',
    text: 'the body is gzip that ends too early, also if none was asked for',
    parameters: {},
  },
  'invalid-utf8': {
    place: 'wire',
    text: 'a text of the body holds bytes that are no UTF-8',
    parameters: {},
  },
  bom: { place: 'wire', text: 'a byte order mark precedes the body', parameters: {} },
  'rate-limit': {
    place: 'wire',
    text: 'HTTP 429; with Retry-After if seconds are given',
    parameters: { retryAfterSeconds: { type: 'integer', min: 0, max: 3_600 } },
  },
  'http-status': {
    place: 'wire',
    text: 'an HTTP status without a JSON-RPC answer',
    parameters: { status: { type: 'integer', min: 400, max: 599 } },
  },

  // One call.
  'rpc-error': {
    place: 'call',
    text: 'a JSON-RPC error, with the text a node gives for the code',
    parameters: {
      code: { type: 'integer', min: -33_000, max: -1 },
      message: { type: 'text', lengthMax: 1_000 },
    },
  },
  'null-result': { place: 'call', text: 'the result is null', parameters: {} },
  'batch-shuffle': {
    place: 'batch',
    text: 'the answers of a batch come in reverse order',
    parameters: {},
  },
  'batch-missing': {
    place: 'batch',
    text: 'the last answer of a batch is left out',
    parameters: {},
  },

  // A block's content.
  'skip-block': {
    place: 'block',
    scope: ['fromSlot', 'toSlot'],
    text: 'a block is hidden: from lists alone, or also denied as skipped or not available',
    parameters: {
      as: { type: 'choice', values: ['omitted', 'skipped', 'unavailable'], default: 'skipped' },
    },
  },
  'wrong-parent-hash': {
    place: 'block',
    text: 'previousBlockhash names no block; or the one given',
    parameters: { hash: { type: 'text', lengthMax: 100 } },
  },
  'wrong-parent-slot': {
    place: 'block',
    text: 'parentSlot is too low by so many slots',
    parameters: { by: { type: 'integer', min: 1, max: 1_000_000, default: 1 } },
  },
  'wrong-height': {
    place: 'block',
    text: 'blockHeight is too high by so much',
    parameters: { by: { type: 'integer', min: 1, max: 1_000_000, default: 1 } },
  },
  'bad-hash': { place: 'block', text: 'blockhash holds a line break', parameters: {} },
  'incomplete-meta': {
    place: 'block',
    text: 'a kind of data is null, or absent where a node leaves it out',
    parameters: {
      missing: {
        type: 'choice',
        values: [
          'logs',
          'rewards',
          'meta',
          'inner',
          'balances',
          'token-balances',
          'loaded-addresses',
        ],
        default: 'logs',
      },
    },
  },
  'giant-block': {
    place: 'block',
    text: 'transactions repeat until the block has at least so many bytes',
    parameters: { bytes: { type: 'integer', min: 1, max: 268_435_456, default: 67_108_864 } },
  },

  // The chain.
  lag: {
    place: 'chain',
    text: 'the node is so many slots behind',
    parameters: { bySlots: slots(10) },
  },
  fork: {
    place: 'chain',
    text: 'the last blocks are replaced by another branch, for some slots; finality waits',
    parameters: { depth: depth(3), forSlots: slots(8) },
  },
  'fork-lower': {
    place: 'chain',
    text: 'as fork, and the new branch ends so many blocks lower',
    parameters: { depth: depth(3), lowerBy: depth(1), forSlots: slots(8) },
  },
  'fork-storm': {
    place: 'chain',
    text: 'in every slot the last blocks, up to so many, are replaced',
    parameters: { depth: depth(3) },
  },
  'fork-below-finality': {
    place: 'chain',
    text: 'another branch from so many blocks below the finalized one, and it becomes final too',
    parameters: { depth: depth(3) },
  },
  'finality-regress': {
    place: 'chain',
    text: 'the finalized slot is lower by so much',
    parameters: { bySlots: slots(10) },
  },
  'finality-stall': {
    place: 'chain',
    text: 'the finalized slot stays where it is',
    parameters: {},
  },
  'finality-ahead': {
    place: 'chain',
    text: 'the finalized slot is above the head by so much',
    parameters: { bySlots: slots(10) },
  },
  'other-genesis': {
    place: 'chain',
    scope: ['times', 'probability'],
    text: 'getGenesisHash names another ledger',
    parameters: {},
  },
  prune: {
    place: 'chain',
    text: 'nothing below the slot is available',
    parameters: { belowSlot: { type: 'integer', min: 0, max: Number.MAX_SAFE_INTEGER } },
  },

  // The sockets.
  redeliver: {
    place: 'socket',
    text: 'notifications come again, so many times in all; getBlocks lists slots as often',
    parameters: { copies: { type: 'integer', min: 2, max: 100, default: 2 } },
  },
  disorder: {
    place: 'socket',
    text: 'every second notification comes before the first',
    parameters: {},
  },
  'ws-close': {
    place: 'socket',
    text: 'WebSockets are closed instead of notified',
    parameters: { code: { type: 'integer', min: 1000, max: 4999, default: 1011 } },
  },
} as const satisfies Record<string, FaultSpec>;

export type FaultKind = keyof typeof FAULT_KINDS;

/** What can limit a fault: a state of the chain has no number of times, a batch no slot. */
const scopeByPlace: Readonly<Record<FaultPlace, readonly ScopeKey[]>> = {
  wire: SCOPE_KEYS,
  call: SCOPE_KEYS,
  batch: ['times', 'probability'],
  block: ['fromSlot', 'toSlot', 'times', 'probability'],
  chain: [],
  socket: SCOPE_KEYS,
};

export function scopeOf(kind: FaultKind): readonly ScopeKey[] {
  const spec: FaultSpec = FAULT_KINDS[kind];
  return spec.scope ?? scopeByPlace[spec.place];
}

/** Parameters without a default that may stay away. */
export const OPTIONAL_PARAMETERS: ReadonlySet<string> = new Set([
  'rate-limit.retryAfterSeconds',
  'rpc-error.message',
  'wrong-parent-hash.hash',
]);
