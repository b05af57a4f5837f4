/** A node of the ledger as a source: JSON-RPC over HTTP, with slot notifications over its WebSocket. */

import type { Random } from '@sluice/base/random';
import type { BlockHeader } from '@sluice/ledger/block';
import { parseBlockHash, parseSlot, type Slot } from '@sluice/ledger/primitives';
import { hasMembers } from '@sluice/protocol/unknown-value';
import { refusal, type SourceResult } from '../refusal.ts';
import {
  type Commitment,
  headTimeoutMs,
  listSlotsMax,
  type Source,
  type SourceIdentity,
  unknownHash,
} from '../source.ts';
import { RpcClient, type RpcClientDependencies, type RpcClientOptions } from './rpc-client.ts';
import { SlotWatcher } from './slot-watcher.ts';

export interface RpcSourceOptions extends RpcClientOptions {
  readonly kind: 'rpc';
  readonly name: string;
  /** Addresses that may offer slot notifications, in the order to try. Without any the node is polled. */
  readonly wsUrls: readonly string[];
}

export interface RpcSourceDependencies extends RpcClientDependencies {
  readonly random: Random;
  /** Called once if no WebSocket address works, so that the node is polled. */
  readonly onPolled?: (sourceName: string) => void;
}

export class RpcSource implements Source {
  readonly name: string;
  readonly format = 'node';
  readonly isRateLimited: boolean;
  readonly notices: SlotWatcher;
  readonly #client: RpcClient;

  constructor(options: RpcSourceOptions, dependencies: RpcSourceDependencies) {
    const { name, wsUrls, headers } = options;
    this.name = name;
    this.isRateLimited = options.callsPerSecond !== undefined;
    this.#client = new RpcClient(options, dependencies);
    const onMute = () => dependencies.onPolled?.(name);
    this.notices = new SlotWatcher({ urls: wsUrls, headers, onMute }, dependencies);
  }

  identity(signal: AbortSignal): Promise<SourceResult<SourceIdentity>> {
    return this.#call('getGenesisHash', [], signal, (value) => {
      const genesisHash = parseBlockHash(value);
      return genesisHash === undefined ? undefined : { genesisHash, content: null };
    });
  }

  slot(commitment: Commitment, signal: AbortSignal): Promise<SourceResult<Slot>> {
    return this.#call('getSlot', [{ commitment }], signal, parseSlot);
  }

  firstAvailable(signal: AbortSignal): Promise<SourceResult<Slot>> {
    return this.#call('getFirstAvailableBlock', [], signal, parseSlot);
  }

  listSlots(
    range: { readonly first: number; readonly last: number },
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<Slot[]>> {
    const { first, last } = range;
    return this.#call('getBlocks', [first, last, { commitment }], signal, (value) =>
      parseSlots(value, first, last),
    );
  }

  header(
    slot: Slot,
    commitment: Commitment,
    signal: AbortSignal,
  ): Promise<SourceResult<BlockHeader>> {
    const params = [
      slot,
      { ...blockConfig, commitment, transactionDetails: 'none', rewards: false },
    ];
    return this.#call('getBlock', params, signal, (value) => parseHeader(slot, value));
  }

  async block(
    slot: Slot,
    commitment: Commitment,
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<SourceResult<Uint8Array>> {
    const params = [slot, { ...blockConfig, commitment }];
    const result = await this.#client.callForBytes('getBlock', params, options);
    if (result.kind !== 'ok') return result;
    if (result.value === null) return refusal('pending', 'getBlock returned null');
    return { kind: 'ok', value: result.value };
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
  ): Promise<SourceResult<Value>> {
    const result = await this.#client.call(method, params, { timeoutMs: headTimeoutMs, signal });
    if (result.kind !== 'ok') return result;
    if (result.value === null) return refusal('pending', `${method} returned null`);
    const value = parse(result.value);
    if (value === undefined) return refusal('malformed', `${method} returned an invalid result`);
    return { kind: 'ok', value };
  }
}

/** All options are sent, because the servers' defaults have changed over the years. */
const blockConfig = {
  encoding: 'json',
  transactionDetails: 'full',
  maxSupportedTransactionVersion: 1,
  rewards: true,
};

function parseSlots(value: unknown, first: number, last: number): Slot[] | undefined {
  if (!Array.isArray(value) || value.length > listSlotsMax + 1) return undefined;
  const slots = new Set<Slot>();
  for (const entry of value) {
    const slot = parseSlot(entry);
    if (slot === undefined || slot < first || slot > last) return undefined;
    slots.add(slot);
  }
  return [...slots].sort((a, b) => a - b);
}

function parseHeader(slot: Slot, value: unknown): BlockHeader | undefined {
  if (!hasMembers(value)) return undefined;
  const { blockhash, previousBlockhash, parentSlot, blockHeight } = value;
  const parent = parseSlot(parentSlot);
  const isParentBelow = parent !== undefined && (slot === 0 ? parent === 0 : parent < slot);
  const hash = parseBlockHash(blockhash);
  if (!isParentBelow || hash === undefined) return undefined;
  const height = blockHeight === null || blockHeight === undefined ? null : parseSlot(blockHeight);
  if (height === undefined) return undefined;
  const isParentUnknown = slot === 0 || previousBlockhash === unknownHash;
  return {
    number: slot,
    hash,
    parentSlot: parent,
    parentHash: isParentUnknown ? null : (parseBlockHash(previousBlockhash) ?? null),
    height,
    timestamp: null,
  };
}
