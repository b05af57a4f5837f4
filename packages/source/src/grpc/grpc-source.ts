/**
 * A node that pushes its blocks over Yellowstone gRPC, as a source. It answers from the blocks that it has received lately, so requests take no
 * time, and a request follows each block at once. Earlier blocks come from another source.
 */
import type { Clock } from '@sluice/base/clock';
import type { Random } from '@sluice/base/random';
import type { BlockHeader } from '@sluice/ledger/block';
import { type Slot, toSlot } from '@sluice/ledger/primitives';
import { type Refusal, refusal, type SourceResult } from '../refusal.ts';
import type { Commitment, SlotRange, Source, SourceIdentity } from '../source.ts';
import { GrpcSubscription, type GrpcSubscriptionOptions } from './grpc-subscription.ts';
import type { HeldBlock, RecentChain } from './recent-chain.ts';

export interface GrpcSourceOptions extends GrpcSubscriptionOptions {
  readonly kind: 'grpc';
  readonly name: string;
}

export class GrpcSource implements Source {
  readonly name: string;
  readonly format = 'protobuf';
  readonly isRateLimited = false;
  readonly isPushed = true;
  readonly notices: GrpcSubscription;

  constructor(
    options: GrpcSourceOptions,
    dependencies: { readonly clock: Clock; readonly random: Random },
  ) {
    this.name = options.name;
    this.notices = new GrpcSubscription(options, dependencies);
  }

  get activity(): string {
    return this.notices.activity;
  }

  /** The protocol does not name the ledger. The links of its blocks do. */
  async identity(): Promise<SourceResult<SourceIdentity>> {
    return this.#read(() => ({ kind: 'ok', value: { genesisHash: null, content: null } }));
  }

  async slot(commitment: Commitment): Promise<SourceResult<Slot>> {
    return this.#read((chain, tip) => {
      if (commitment === 'confirmed') return { kind: 'ok', value: tip.number };
      // Below its first block the stream cannot show what is final.
      if (chain.finalizedSlot < chain.knownFrom) {
        return refusal('pending', 'no received block is final yet');
      }
      return { kind: 'ok', value: toSlot(chain.finalizedSlot) };
    });
  }

  async firstAvailable(): Promise<SourceResult<Slot>> {
    return this.#read((chain) => ({ kind: 'ok', value: toSlot(chain.knownFrom) }));
  }

  async listSlots(range: SlotRange, commitment: Commitment): Promise<SourceResult<Slot[]>> {
    return this.#read((chain) => {
      if (range.first < chain.knownFrom) {
        this.notices.rewind(range.first);
        return below(range.first, chain);
      }
      const headers = listHeaders(chain, range, commitment);
      return { kind: 'ok', value: headers.map(({ number }) => number) };
    });
  }

  /** Returns the headers in the range that were received. */
  async readHeaders(
    range: SlotRange,
    commitment: Commitment,
  ): Promise<SourceResult<BlockHeader[]>> {
    return this.#read((chain) => ({ kind: 'ok', value: listHeaders(chain, range, commitment) }));
  }

  async header(slot: Slot, commitment: Commitment): Promise<SourceResult<BlockHeader>> {
    return this.#readBlock(slot, commitment, ({ header }) => header);
  }

  async block(slot: Slot, commitment: Commitment): Promise<SourceResult<Uint8Array>> {
    return this.#readBlock(slot, commitment, ({ bytes }) => bytes);
  }

  giveBack(): void {
    // The bytes of a block are kept for further requests, and garbage-collected.
  }

  async close(): Promise<void> {
    // The subscription ends with the signal of its `run`.
  }

  #read<Value>(
    read: (chain: RecentChain, tip: BlockHeader) => SourceResult<Value>,
  ): SourceResult<Value> {
    const chain = this.notices.chain();
    if (chain.kind === 'refused') return chain;
    const { tip } = chain.value;
    if (tip === undefined) return refusal('pending', 'no block has been received yet');
    return read(chain.value, tip);
  }

  #readBlock<Value>(
    slot: Slot,
    commitment: Commitment,
    read: (block: HeldBlock) => Value,
  ): SourceResult<Value> {
    return this.#read((chain, tip) => {
      if (slot < chain.knownFrom) return below(slot, chain);
      const last = commitment === 'finalized' ? chain.finalizedSlot : tip.number;
      if (slot > last) return refusal('not-available', `slot ${slot} is above the newest one`);
      const block = chain.at(slot);
      if (block === undefined) return refusal('skipped-hint', `slot ${slot} was skipped`);
      return { kind: 'ok', value: read(block) };
    });
  }
}

function listHeaders(
  { line, finalizedSlot }: RecentChain,
  { first, last }: SlotRange,
  commitment: Commitment,
): BlockHeader[] {
  const end = commitment === 'finalized' ? Math.min(last, finalizedSlot) : last;
  return line.map(({ header }) => header).filter(({ number }) => number >= first && number <= end);
}

function below(slot: number, { knownFrom }: RecentChain): Refusal {
  const cause = `slot ${slot} is below slot ${knownFrom}, the first one of the stream; add an RPC source of the same ledger`;
  return refusal('pruned', cause);
}
