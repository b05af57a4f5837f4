/** Why a node did not give what it was asked for, judged by code, not by text. */
export type RefusalReason =
  /** Cleaned up at this node; others may have it. */
  | 'pruned'
  /** Not there yet, or skipped above the root: ask again. */
  | 'not-available'
  /** The node says skipped or missing. A hint, never a proof. */
  | 'skipped-hint'
  /** The block exists and cannot be read yet: ask again soon. */
  | 'pending'
  /** The node is behind. */
  | 'behind'
  /** No history, no such method. */
  | 'incapable'
  /** A transaction of a version above the one we asked for. */
  | 'version'
  /** The request was wrong: our bug, do not repeat it. */
  | 'request-wrong'
  /** The node, or the way to it, is out of order or overloaded. */
  | 'outage'
  /** The key was refused. */
  | 'key'
  /** The answer is too large, no JSON, or no JSON-RPC. */
  | 'malformed';

export interface Refusal {
  readonly kind: 'refused';
  readonly reason: RefusalReason;
  /** The JSON-RPC code, the HTTP status, or what happened; never an address. */
  readonly cause: string;
  /** When the node wants to be asked again. */
  readonly retryAfterMs?: number;
}

export type Answer<Value> = { readonly kind: 'ok'; readonly value: Value } | Refusal;

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

/** The text decides in one case: some services answer "-32007" when they limit the rate. */
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

/** A node that asks for more is treated as one that is down. */
const retryAfterSecondsMax = 60;
