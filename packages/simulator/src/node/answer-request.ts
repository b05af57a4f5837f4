import { type Faults, numberOf, textOf } from '../faults/faults.ts';
import { failure, RpcFailure } from './rpc-failure.ts';
import { type RpcDependencies, RpcNode, type RpcResult } from './rpc-methods.ts';
import {
  type RpcCall,
  type RpcId,
  type RpcItem,
  type RpcRequest,
  slotOfCall,
} from './rpc-request.ts';

/** Yields the pieces of a response one by one, so that a batch of large blocks is never in memory as a whole. */
export function* answerRequest(
  request: RpcRequest,
  dependencies: RpcDependencies,
): Generator<Uint8Array | string> {
  if (request.kind === 'single') {
    yield* answerItem(request.item, dependencies);
    yield lineEnd;
    return;
  }
  const items = orderBatch(request.items.filter(isAnswered), dependencies.faults);
  yield '[';
  for (const [index, item] of items.entries()) {
    if (index > 0) yield ',';
    yield* answerItem(item, dependencies);
  }
  yield `]${lineEnd}`;
}

/** Nodes end the body of a response with a line break. */
const lineEnd = '\n';

/** A call without an id is a notification, which gets no response. */
function isAnswered(item: RpcItem): boolean {
  return 'failure' in item || item.id !== undefined;
}

function orderBatch(items: readonly RpcItem[], faults: Faults): RpcItem[] {
  const ordered = [...items];
  if (faults.take('batch-missing')) ordered.pop();
  if (faults.take('batch-shuffle')) ordered.reverse();
  return ordered;
}

function* answerItem(item: RpcItem, dependencies: RpcDependencies): Generator<Uint8Array | string> {
  if (!isAnswered(item)) return;
  if ('failure' in item) {
    yield renderFailure(item.failure, item.id);
    return;
  }
  const id = item.id ?? null;
  let result: RpcResult;
  try {
    result = answerCall(item, dependencies);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    yield renderFailure(error, id);
    return;
  }
  yield '{"jsonrpc":"2.0","result":';
  yield result;
  yield `,"id":${JSON.stringify(id)}}`;
}

function answerCall(call: RpcCall, dependencies: RpcDependencies): RpcResult {
  const { faults } = dependencies;
  const subject = { method: call.method, slot: slotOfCall(call) };
  const refused = faults.take('rpc-error', subject);
  if (refused !== undefined) {
    const standard = failure(numberOf(refused, 'code'), subject);
    throw new RpcFailure(standard.code, textOf(refused, 'message') ?? standard.message);
  }
  if (faults.take('null-result', subject)) return 'null';
  return new RpcNode(dependencies).call(call.method, call.params);
}

export function renderFailure({ code, message, data }: RpcFailure, id: RpcId): string {
  const error = data === undefined ? { code, message } : { code, message, data };
  return JSON.stringify({ jsonrpc: '2.0', error, id });
}
