import { systemClock } from '@sluice/base/clock';
import type { FaultRequest } from '@sluice/simulator/faults/faults';
import { type NodeOptions, type SimulatedNode, startNode } from '@sluice/simulator/start-node';
import {
  createSimulatedLedger,
  type SimulatedLedgerOptions,
} from '@sluice/simulator/start-simulated-node';
import type { GrpcSourceOptions } from '@sluice/source/grpc/grpc-source';
import { expect } from 'vitest';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import type { AlarmCode } from '../../dataset/alarm-codes.ts';
import { type Following, type FollowOptions, followNodes } from './follow-ledger.ts';

export interface World {
  readonly nodes: readonly SimulatedNode[];
  readonly node: SimulatedNode;
  readonly following: Following;
  /** Produces slots one at a time, so that each is noticed separately. */
  produce(slotCount: number): Promise<void>;
  /** Advances the ledger by several slots at once. */
  leap(slotCount: number): void;
  /** Waits until the stored head is the confirmed head of the node. */
  caughtUp(node?: SimulatedNode): Promise<ChainSnapshot>;
  close(): Promise<void>;
}

export interface WorldOptions extends FollowOptions {
  readonly ledger?: SimulatedLedgerOptions;
  readonly nodes?: readonly NodeOptions[];
  /** How the nodes are followed; by RPC if absent. */
  readonly by?: 'rpc' | 'grpc' | 'both';
  /** Options of the gRPC sources. */
  readonly grpc?: Partial<GrpcSourceOptions>;
  /** Faults of the first node from the start. */
  readonly faults?: readonly FaultRequest[];
}

const slotMs = 400;
/** A short time for each slot to be noticed, as on a real ledger. No test depends on it. */
const betweenSlotsMs = 20;

/** Starts a ledger with a manual clock, nodes that serve it, and a dataset that follows them. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const shape = { startSlot: 40, finalityDistance: 31, slotMs, skipRate: 0, forkRate: 0 };
  const ledger = createSimulatedLedger(
    {
      ...options.ledger,
      paused: true,
      chain: { ...shape, ...options.ledger?.chain },
      content: {
        transactionsPerBlock: 1,
        votes: 1,
        epochRewardsPerBlock: 1,
        ...options.ledger?.content,
      },
    },
    { clock: systemClock },
  );
  const nodes: SimulatedNode[] = [];
  for (const one of options.nodes ?? [{}]) nodes.push(await startNode(one, { ledger }));
  for (const fault of options.faults ?? []) nodes[0]?.faults.set(fault);
  const { by = 'rpc', grpc } = options;
  const pushing = nodes.map(({ grpcUrl: url }, i) => {
    return { kind: 'grpc' as const, name: `grpc-${i + 1}`, url, ...grpc };
  });
  const following = await followNodes(by === 'grpc' ? [] : nodes, {
    ...options,
    sources: [...(by === 'rpc' ? [] : pushing), ...(options.sources ?? [])],
  });
  return {
    nodes,
    node: nodes[0] as SimulatedNode,
    following,
    leap: (slotCount) => ledger.time.advance(slotCount * slotMs),
    produce: async (slotCount) => {
      for (let i = 0; i < slotCount; i++) {
        ledger.time.advance(slotMs);
        await systemClock.sleep(betweenSlotsMs);
      }
    },
    caughtUp: (node = nodes[0] as SimulatedNode) =>
      following.until('the head is reached', isCaughtUp(node)),
    close: async () => {
      await following.stop();
      for (const node of nodes) await node.close();
    },
  };
}

/** Returns a condition: the stored head is the confirmed head of the node. */
export function isCaughtUp(node: SimulatedNode): (snapshot: ChainSnapshot) => boolean {
  return ({ head }) => {
    const { branch, confirmedSlot } = node.state();
    return head !== null && head.hash === branch.blockAt(confirmedSlot)?.blockhash;
  };
}

/** Checks that the stored chain is identical to that of the node. */
export function expectSameChain(snapshot: ChainSnapshot, node: SimulatedNode, first = 0): void {
  const { branch, confirmedSlot } = node.state();
  const expected: string[] = [];
  for (let slot = first; slot <= confirmedSlot; slot++) {
    const block = branch.hasBlock(slot) ? branch.blockAt(slot) : undefined;
    if (block !== undefined) expected.push(`${slot} ${block.blockhash}`);
  }
  expect(snapshot.hot.map(({ header }) => `${header.number} ${header.hash}`)).toEqual(expected);
}

export async function untilAlarm(
  following: Following,
  code: AlarmCode,
  msMax = 15_000,
): Promise<void> {
  const endMs = performance.now() + msMax;
  while (!following.dataset.alarms.has(code)) {
    const state = [following.dataset.alarms.list(), following.ingester.status];
    if (performance.now() > endMs) throw new Error(`no alarm ${code}: ${JSON.stringify(state)}`);
    await systemClock.sleep(10);
  }
}
