/** The reason why a source did not deliver, derived from codes and not from texts. */
export type RefusalReason =
  /** The source has removed the block; others may have it. */
  | 'pruned'
  /** The block does not exist yet, or the slot was skipped above the root. Ask again. */
  | 'not-available'
  /** The source reports the slot as skipped or missing, which proves nothing. */
  | 'skipped-hint'
  /** The block exists but cannot be read yet. Ask again soon. */
  | 'pending'
  /** The source is behind the ledger. */
  | 'behind'
  /** The source has no history, or does not support the method. */
  | 'incapable'
  /** The block has a transaction of a newer version than requested. */
  | 'version'
  /** The request was wrong, which is a bug. Do not repeat it. */
  | 'request-wrong'
  /** The source or the network fails or is overloaded. */
  | 'outage'
  /** The key was rejected. */
  | 'key'
  /** The reply is too large or not in the expected format. */
  | 'malformed';

export interface Refusal {
  readonly kind: 'refused';
  readonly reason: RefusalReason;
  /** The JSON-RPC code, the HTTP status, or a description. It never contains an address. */
  readonly cause: string;
  /** When the source wants to be asked again. */
  readonly retryAfterMs?: number;
}

export type SourceResult<Value> = { readonly kind: 'ok'; readonly value: Value } | Refusal;

export function refusal(reason: RefusalReason, cause: string): Refusal {
  return { kind: 'refused', reason, cause };
}

const reasonsByCode: ReadonlyMap<number, RefusalReason> = new Map<number, RefusalReason>([
  [-32001, 'pruned'],
  [-32004, 'not-available'],
  [-32005, 'behind'],
  [-32016, 'behind'],
  [-32011, 'incapable'],
  [-32601, 'incapable'],
  [-32014, 'pending'],
  [-32015, 'version'],
  [-32600, 'request-wrong'],
  [-32602, 'request-wrong'],
  [-32700, 'request-wrong'],
]);

/** Uses the text only for codes that some providers also use for their rate limit. */
export function refusalOfRpcError(code: number, message: string): Refusal {
  const cause = `code ${code}`;
  if (code === -32007 || code === -32009) {
    return refusal(/skipped/i.test(message) ? 'skipped-hint' : 'outage', cause);
  }
  return refusal(reasonsByCode.get(code) ?? 'outage', cause);
}

export function refusalOfStatus(status: number, retryAfter: string | undefined): Refusal {
  const reason = status === 401 || status === 403 ? 'key' : 'outage';
  const base = refusal(reason, `HTTP ${status}`);
  const seconds = Number(retryAfter);
  const isGiven = retryAfter !== undefined && Number.isFinite(seconds) && seconds >= 0;
  return isGiven ? { ...base, retryAfterMs: Math.min(seconds, retryAfterSecondsMax) * 1000 } : base;
}

/** The longest pause that a source can ask for. */
const retryAfterSecondsMax = 60;
