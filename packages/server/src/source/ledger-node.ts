/** One node of the ledger, by what ingestion asks of it. */
import { isBase58Of32 } from '../base/base58.ts';
import type { BlockHeader } from '../ledger/block.ts';
import { type BlockHash, parseSlot, type Slot } from '../ledger/primitives.ts';
import { RpcClient, type RpcClientModules, type RpcClientOptions } from './rpc-client.ts';
import { type Answer, refusal } from './rpc-refusal.ts';
import type { Commitment, SourceIdentity, SourceNode } from './source-node.ts';

export interface LedgerNodeOptions extends RpcClientOptions {
  /** For logs and `/status`; never the address, which may hold a key. */
  readonly name: string;
}

/** Nodes wait longer for history than for the head. */
export const headTimeoutMs = 10_000;
export const historyTimeoutMs = 30_000;
/** The most slots that nodes list at once. */
export const listSlotsMax = 500_000;

/** What a server writes that does not know the parent's hash: 32 zero bytes. */
const unknownHash = '1'.repeat(32);

export class LedgerNode implements SourceNode {
  readonly name: string;
  readonly format = 'node';
  readonly #client: RpcClient;

  constructor(options: LedgerNodeOptions, modules: RpcClientModules) {
    this.name = options.name;
    this.#client = new RpcClient(options, modules);
  }

  identity(signal: AbortSignal): Promise<Answer<SourceIdentity>> {
    return this.#call('getGenesisHash', [], signal, (value) =>
      typeof value === 'string' && isBase58Of32(value)
        ? { genesisHash: value, content: null }
        : undefined,
    );
  }

  /** The newest slot of a commitment. */
  slot(commitment: Commitment, signal: AbortSignal): Promise<Answer<Slot>> {
    return this.#call('getSlot', [{ commitment }], signal, parseSlot);
  }

  firstAvailable(signal: AbortSignal): Promise<Answer<Slot>> {
    return this.#call('getFirstAvailableBlock', [], signal, parseSlot);
  }

  /** The slots with a block, ascending. A node silently leaves out what it no longer has. */
  listSlots(
    range: { readonly first: number; readonly last: number },
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<Answer<Slot[]>> {
    const { first, last } = range;
    return this.#call('getBlocks', [first, last, { commitment }], signal, (value) =>
      parseSlots(value, first, last),
    );
  }

  /** A block's place in the chain, without its content. */
  header(slot: Slot, commitment: Commitment, signal: AbortSignal): Promise<Answer<BlockHeader>> {
    const params = [
      slot,
      { ...blockConfig, commitment, transactionDetails: 'none', rewards: false },
    ];
    return this.#call('getBlock', params, signal, (value) => parseHeader(slot, value));
  }

  /** The bytes of a block with everything in it. */
  async block(
    slot: Slot,
    commitment: Commitment,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<Answer<Uint8Array>> {
    const params = [slot, { ...blockConfig, commitment }];
    const answer = await this.#client.callForBytes('getBlock', params, options);
    if (answer.kind !== 'ok') return answer;
    if (answer.value === null) return refusal('pending', 'the result is null');
    return { kind: 'ok', value: answer.value };
  }

  giveBack(bytes: Uint8Array): void {
    this.#client.giveBack(bytes);
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #call<Value>(
    method: string,
    params: readonly unknown[],
    signal: AbortSignal,
    parse: (value: unknown) => Value | undefined,
  ): Promise<Answer<Value>> {
    const answer = await this.#client.call(method, params, { timeoutMs: headTimeoutMs, signal });
    if (answer.kind !== 'ok') return answer;
    if (answer.value === null) return refusal('pending', 'the result is null');
    const value = parse(answer.value);
    if (value === undefined) return refusal('malformed', `the result of ${method} is not one`);
    return { kind: 'ok', value };
  }
}

/** Every option is sent: what a server takes for one that is absent has changed over the years. */
const blockConfig = {
  encoding: 'json',
  transactionDetails: 'full',
  maxSupportedTransactionVersion: 1,
  rewards: true,
};

function parseSlots(value: unknown, first: number, last: number): Slot[] | undefined {
  if (!Array.isArray(value) || value.length > listSlotsMax + 1) return undefined;
  const slots = new Set<Slot>();
  for (const one of value) {
    const slot = parseSlot(one);
    if (slot === undefined || slot < first || slot > last) return undefined;
    slots.add(slot);
  }
  return [...slots].sort((a, b) => a - b);
}

function parseHeader(slot: Slot, value: unknown): BlockHeader | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { blockhash, previousBlockhash, parentSlot, blockHeight } = value as Record<
    string,
    unknown
  >;
  const parent = parseSlot(parentSlot);
  const isChild = parent !== undefined && (slot === 0 ? parent === 0 : parent < slot);
  if (!isChild || typeof blockhash !== 'string' || !isBase58Of32(blockhash)) return undefined;
  const height = blockHeight === null || blockHeight === undefined ? null : parseSlot(blockHeight);
  if (height === undefined) return undefined;
  const isKnown = typeof previousBlockhash === 'string' && isBase58Of32(previousBlockhash);
  const isParentKnown = slot !== 0 && isKnown && previousBlockhash !== unknownHash;
  return {
    number: slot,
    hash: blockhash as BlockHash,
    parentSlot: parent,
    parentHash: isParentKnown ? (previousBlockhash as BlockHash) : null,
    height,
    timestamp: null,
  };
}
