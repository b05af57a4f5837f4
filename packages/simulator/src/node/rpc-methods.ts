import type { SimulatedChain } from '../chain/chain.ts';
import type { ChainBlock } from '../chain/chain-block.ts';
import type { RenderedContent } from '../content/render-raw-block.ts';
import { applyBlockFaults } from '../faults/block-faults.ts';
import { type Faults, numberOf, textOf } from '../faults/faults.ts';
import type { RpcMethod } from './method-names.ts';
import type { NodeState, NodeView } from './node-view.ts';
import type { RenderedBlocks } from './rendered-blocks.ts';
import { failure, RpcFailure } from './rpc-failure.ts';
import {
  type BlockConfig,
  parseBlockCommitment,
  parseBlockConfig,
  parseCommitment,
  parseConfig,
  parseSlotParam,
} from './rpc-params.ts';

/** The maximum number of slots in one getBlocks, as in a real node. */
const rangeSlotsMax = 500_000;
/** A real node that is further behind reports itself as unhealthy. */
const healthySlotsBehindMax = 128;

export interface RpcDependencies {
  readonly chain: SimulatedChain;
  readonly view: NodeView;
  readonly faults: Faults;
  readonly blocks: RenderedBlocks;
}

/** A result as JSON text or its bytes. */
export type RpcResult = string | Uint8Array;

type Method = (node: RpcNode, params: readonly unknown[]) => RpcResult;

/** The methods of one node at the time of a call. */
export class RpcNode {
  readonly dependencies: RpcDependencies;
  readonly state: NodeState;

  constructor(dependencies: RpcDependencies) {
    this.dependencies = dependencies;
    this.state = dependencies.view.stateAt();
  }

  call(method: string, params: readonly unknown[]): RpcResult {
    const run = METHODS.get(method);
    if (run === undefined) throw failure(-32601);
    return run(this, params);
  }

  /** Returns the block of a slot at a commitment. Throws the error of a real node if the slot was skipped or is not available. */
  committedBlock(slot: number, commitment: 'confirmed' | 'finalized'): ChainBlock {
    const { firstAvailableSlot, branch } = this.state;
    if (slot < firstAvailableSlot) throw failure(-32001, { slot, firstAvailableSlot });
    const hidden = this.dependencies.faults.find('skip-block', { slot });
    const as = hidden && textOf(hidden, 'as');
    if (as === 'skipped') throw failure(-32007, { slot });
    if (as === 'unavailable') throw failure(-32004, { slot });
    const block = slot > this.headAt(commitment) ? undefined : branch.blockAt(slot);
    if (block !== undefined) return block;
    throw failure(slot <= this.headAt('finalized') ? -32007 : -32004, { slot });
  }

  rendered(block: ChainBlock, config: BlockConfig): RenderedContent {
    const rendered = this.dependencies.blocks.get(block, config);
    if (config.transactionDetails === 'full' && rendered.versionMax > config.versionMax) {
      throw failure(-32015, { slot: block.slot, version: rendered.versionMax });
    }
    return applyBlockFaults(block, rendered, this.dependencies);
  }

  listBlocks(first: number, last: number): string {
    const { faults } = this.dependencies;
    const redeliver = faults.take('redeliver', { method: 'getBlocks', slot: first });
    const copies = redeliver ? numberOf(redeliver, 'copies') : 1;
    const slots: number[] = [];
    const { branch, firstAvailableSlot } = this.state;
    for (let slot = Math.max(first, firstAvailableSlot); slot <= last; slot++) {
      if (!branch.hasBlock(slot) || faults.find('skip-block', { slot })) continue;
      for (let copy = 0; copy < copies; copy++) slots.push(slot);
    }
    return `[${slots.join(',')}]`;
  }

  /** Returns the highest slot that the node serves at a commitment. */
  headAt(commitment: 'confirmed' | 'finalized'): number {
    const { confirmedSlot, finalizedSlot } = this.state;
    return commitment === 'finalized' ? Math.min(finalizedSlot, confirmedSlot) : confirmedSlot;
  }
}

function getBlock(node: RpcNode, params: readonly unknown[]): RpcResult {
  const slot = parseSlotParam(params[0]);
  const given = typeof params[1] === 'string' ? { encoding: params[1] } : parseConfig(params[1]);
  const config = parseBlockConfig(given);
  return node.rendered(node.committedBlock(slot, config.commitment), config).json;
}

function getBlocks(node: RpcNode, params: readonly unknown[]): RpcResult {
  const first = parseSlotParam(params[0]);
  const hasEnd = params[1] !== undefined && params[1] !== null && typeof params[1] !== 'object';
  const config = hasEnd || params.length > 2 ? params[2] : params[1];
  const last = hasEnd ? parseSlotParam(params[1]) : first + rangeSlotsMax;
  const head = node.headAt(parseBlockCommitment(parseConfig(config)));
  if (last < first) return '[]';
  if (last - first > rangeSlotsMax) {
    throw new RpcFailure(-32602, `Slot range too large; max ${rangeSlotsMax}`);
  }
  return node.listBlocks(first, Math.min(last, head));
}

function getBlockTime(node: RpcNode, params: readonly unknown[]): RpcResult {
  return String(node.committedBlock(parseSlotParam(params[0]), 'confirmed').blockTime);
}

function getHealth(node: RpcNode): RpcResult {
  const slotsBehind = node.dependencies.view.lagSlots;
  if (slotsBehind > healthySlotsBehindMax) {
    throw failure(-32005, { slotsBehind }, { numSlotsBehind: slotsBehind });
  }
  return '"ok"';
}

function getGenesisHash(node: RpcNode): RpcResult {
  const { chain, faults } = node.dependencies;
  const isOther = faults.take('other-genesis', { method: 'getGenesisHash' }) !== undefined;
  return JSON.stringify(isOther ? chain.hash('other genesis') : chain.genesisHash);
}

const byName: Readonly<Record<RpcMethod, Method>> = {
  getBlock,
  getBlocks,
  getBlockTime,
  getSlot: ({ state }, params) => {
    const commitment = parseCommitment(parseConfig(params[0]), 'finalized');
    return String(state[`${commitment}Slot` as const]);
  },
  getFirstAvailableBlock: (node) => String(node.state.firstAvailableSlot),
  getGenesisHash,
  getHealth,
};

const METHODS: ReadonlyMap<string, Method> = new Map(Object.entries(byName));
