import { systemClock } from '@sluice/base/clock';
import { createLedger, type LedgerOptions, type SimulatedLedger } from '../simulated-ledger.ts';
import { type NodeOptions, type SimulatedNode, startNode } from '../start-node.ts';
import { renderPlainBlock } from './render-plain-block.ts';

/** Creates a ledger whose time is paused until a test changes it. */
export function createTestLedger(options: LedgerOptions = {}): SimulatedLedger {
  return createLedger(
    { paused: true, ...options, chain: { skipRate: 0, forkRate: 0, ...options.chain } },
    { clock: systemClock, render: renderPlainBlock },
  );
}

export function startTestNode(
  options: LedgerOptions & { node?: NodeOptions } = {},
): Promise<SimulatedNode> {
  return startNode(options.node ?? {}, { ledger: createTestLedger(options) });
}

export interface RpcReply {
  readonly result?: unknown;
  readonly error?: { code: number; message: string; data?: unknown };
  readonly id: unknown;
}

export async function post(
  node: SimulatedNode,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(node.rpcUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

export async function call(
  node: SimulatedNode,
  method: string,
  ...params: unknown[]
): Promise<RpcReply> {
  const response = await post(node, { jsonrpc: '2.0', id: 1, method, params });
  return (await response.json()) as RpcReply;
}

export const blockConfig = {
  commitment: 'confirmed',
  encoding: 'json',
  transactionDetails: 'full',
  maxSupportedTransactionVersion: 1,
  rewards: true,
};

export interface WireBlock {
  readonly blockhash: string;
  readonly previousBlockhash: string;
  readonly parentSlot: number;
  readonly blockHeight: number;
  readonly blockTime: number;
  readonly transactions?: { meta: Record<string, unknown> | null; version: unknown }[];
  readonly signatures?: string[];
  readonly rewards?: unknown[];
}

export async function getBlock(node: SimulatedNode, slot: number): Promise<WireBlock> {
  const { result, error } = await call(node, 'getBlock', slot, blockConfig);
  if (error) throw new Error(`getBlock ${slot}: ${error.message}`);
  return result as WireBlock;
}
