import { hasMembers } from '@sluice/protocol/unknown-value';
import { failure, type RpcFailure } from './rpc-failure.ts';

export type RpcId = string | number | null;

export interface RpcCall {
  /** Absent in a notification, which gets no response. */
  readonly id?: RpcId;
  readonly method: string;
  readonly params: readonly unknown[];
}

export type RpcItem = RpcCall | { readonly id: RpcId; readonly failure: RpcFailure };

export type RpcRequest =
  | { readonly kind: 'single'; readonly item: RpcItem }
  | { readonly kind: 'batch'; readonly items: readonly RpcItem[] };

export function parseRpcRequest(text: string, batchItemsMax: number): RpcRequest {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return invalid(failure(-32700));
  }
  if (!Array.isArray(body)) return { kind: 'single', item: parseItem(body) };
  if (body.length === 0 || body.length > batchItemsMax) return invalid(failure(-32600));
  return { kind: 'batch', items: body.map(parseItem) };
}

function invalid(reason: RpcFailure): RpcRequest {
  return { kind: 'single', item: { id: null, failure: reason } };
}

function parseItem(item: unknown): RpcItem {
  if (!hasMembers(item)) return { id: null, failure: failure(-32600) };
  const { jsonrpc, id, method, params } = item;
  const isId = id === undefined || id === null || typeof id === 'string' || typeof id === 'number';
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !isId) {
    return { id: isId ? (id ?? null) : null, failure: failure(-32600) };
  }
  if (params !== undefined && !Array.isArray(params)) {
    return { id: id ?? null, failure: failure(-32602) };
  }
  return { ...(id === undefined ? {} : { id }), method, params: params ?? [] };
}

/** Returns the slot that a call requests, for faults that are limited to some slots. */
export function slotOfCall({ params }: RpcCall): number | undefined {
  const [slot] = params;
  return typeof slot === 'number' && Number.isSafeInteger(slot) ? slot : undefined;
}
