/** A simulated node whose ledger forks on command, and a service that follows it and is killed repeatedly. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { Random } from '@sluice/base/random';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { ServiceProcess } from '../service/service-process.ts';
import { type CuttingRelay, startCuttingRelay } from './cutting-relay.ts';

export interface StormOptions {
  readonly seed: number;
  readonly slotMs: number;
  /** The service is killed and restarted after this many slots. */
  readonly killEverySlots: number;
  /** The average number of slots between two forks. */
  readonly forkEverySlots: number;
  /** The ledger advances by up to this many slots before the consumer must be at its head again. */
  readonly burstSlotsMax: number;
  readonly forkDepthMax: number;
  /** The average number of bytes after which a connection breaks. */
  readonly cutBytes: number;
}

/** A block of the final chain, with the first signatures of its transactions in order. */
export interface ChainBlock {
  readonly number: number;
  readonly hash: string;
  readonly signatures: readonly string[];
}

interface NodeBlock {
  readonly blockhash: string;
  readonly transactions: readonly {
    readonly transaction: { readonly signatures: readonly string[] };
  }[];
}

/** The distance of finality is larger than the depth of any fork. */
const finalityDistance = 31;
const startSlot = 100;

export class StormWorld {
  readonly node: Awaited<ReturnType<typeof startSimulatedNode>>;
  readonly relay: CuttingRelay;
  readonly random: Random;
  killCount = 0;
  /** The number of blocks that each fork replaces. */
  readonly forkDepths: number[] = [];
  readonly #options: StormOptions;
  readonly #folder: string;
  #service: ServiceProcess | undefined;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(options: StormOptions, parts: Pick<StormWorld, 'node' | 'relay'>) {
    this.#options = options;
    this.node = parts.node;
    this.relay = parts.relay;
    this.random = Random.fromSeed(options.seed).fork('storm');
    this.#folder = mkdtempSync(join(tmpdir(), 'sluice-storm-'));
  }

  static async start(options: StormOptions): Promise<StormWorld> {
    const node = await startSimulatedNode(
      {
        paused: true,
        chain: {
          seed: options.seed,
          startSlot,
          slotMs: options.slotMs,
          skipRate: 0.1,
          forkRate: 0,
          finalityDistance,
        },
        content: { transactionsPerBlock: 2, votes: 0, epochRewardsPerBlock: 0 },
      },
      { clock: systemClock },
    );
    const world = new StormWorld(options, { node, relay: await startCuttingRelay() });
    await world.#startService();
    world.relay.drawBytes = () => Math.ceil(-Math.log(1 - world.random.unit()) * options.cutBytes);
    return world;
  }

  /** The address of the proxy that breaks connections. */
  get url(): string {
    return `${this.relay.url}/datasets/storm`;
  }

  get directUrl(): string {
    return `${this.#service?.url}/datasets/storm`;
  }

  get adminUrl(): string {
    return this.#service?.adminUrl ?? '';
  }

  get slot(): number {
    return this.node.state().confirmedSlot;
  }

  /**
   * Forks the ledger and kills the service until the ledger reaches a slot. The ledger advances only when the consumer is at its head, so
   * the consumer sees the forks even on a slow machine.
   */
  runUntil(lastSlot: number, isAtHead: (head: string) => boolean): Promise<void> {
    this.#running = this.#runUntil(lastSlot, isAtHead);
    return this.#running;
  }

  async #runUntil(lastSlot: number, isAtHead: (head: string) => boolean): Promise<void> {
    const { forkEverySlots, forkDepthMax, killEverySlots } = this.#options;
    let nextKill = this.slot + killEverySlots;
    while (this.slot < lastSlot && !this.#isClosed) {
      const depth = 1 + this.random.below(forkDepthMax);
      // Most branches are the head for some slots. In a storm the branch changes in every slot.
      const isStorm = this.random.chance(0.2);
      if (isStorm) this.node.faults.set({ kind: 'fork-storm', depth });
      else this.node.faults.set({ kind: 'fork', depth, forSlots: 2 + this.random.below(10) });
      this.forkDepths.push(depth);
      await this.#advance(isStorm ? 4 : 1 + this.random.below(2 * forkEverySlots), isAtHead);
      if (isStorm) this.node.faults.clear({ kind: 'fork-storm' });
      if (this.node.faults.list().length > 50) this.node.faults.clear();
      if (this.slot < nextKill) continue;
      await this.restart();
      nextKill = this.slot + killEverySlots;
    }
    this.node.faults.clear();
  }

  /** Advances the ledger in bursts. Each starts when the consumer has the head of the previous one. */
  async #advance(slotCount: number, isAtHead: (head: string) => boolean): Promise<void> {
    const { burstSlotsMax, slotMs } = this.#options;
    for (let left = slotCount; left > 0; ) {
      const burst = Math.min(left, 1 + this.random.below(burstSlotsMax));
      left -= burst;
      this.node.ledger.time.advance(burst * slotMs);
      const { branch, confirmedSlot } = this.node.state();
      const head = branch.blockAt(branch.previousBlock(confirmedSlot))?.blockhash ?? '';
      while (!isAtHead(head) && !this.#isClosed) await systemClock.sleep(3);
    }
  }

  async restart(): Promise<void> {
    await this.#service?.end('SIGKILL');
    this.killCount++;
    await this.#startService();
  }

  /** Reads the final chain directly from the node. */
  async readChain(first: number, last: number): Promise<ChainBlock[]> {
    const blocks: ChainBlock[] = [];
    for (let slot = first; slot <= last; slot++) {
      const block = this.node.ledger.chain.blockAt(slot);
      if (block === undefined) continue;
      const { blockhash, transactions } = await this.readBlock<NodeBlock>(slot);
      const signatures = transactions.map(({ transaction }) => transaction.signatures[0] ?? '');
      blocks.push({ number: slot, hash: blockhash, signatures });
    }
    return blocks;
  }

  /** Reads a block as the node returns it. */
  async readBlock<Block>(slot: number): Promise<Block> {
    const params = [slot, { maxSupportedTransactionVersion: 0, rewards: false }];
    const response = await fetch(this.node.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: slot, method: 'getBlock', params }),
    });
    const { result } = (await response.json()) as { result?: Block };
    assert(result, `the node returns block ${slot}`);
    return result;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running.catch(() => undefined);
    await this.#service?.end('SIGKILL');
    this.relay.close();
    await this.node.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #startService(): Promise<void> {
    const dataset = ['--dataset', 'storm', '--from', 'genesis', '--dialect', 'solana'];
    const args = ['--data', this.#folder, '--rpc', this.node.rpcUrl, ...dataset];
    this.#service = await ServiceProcess.startServe(args);
    this.relay.target = Number(new URL(this.#service.url).port);
  }
}
