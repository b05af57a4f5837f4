import { unreachable } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { Slot } from '../ledger/primitives.ts';
import type { SimulatedLedger } from '../simulator/simulated-ledger.ts';
import type { SimulatedNode } from '../simulator/start-node.ts';
import { startSimulatedNode } from '../simulator/start-simulated-node.ts';
import type { SourceOptions } from '../source/open-source.ts';
import type { RpcSourceOptions } from '../source/rpc/rpc-source.ts';
import { socketAddresses } from '../source/rpc/socket-addresses.ts';
import type { Closers } from './closers.ts';
import type { DatasetConfig } from './config/config-schema.ts';
import type { RpcSourceConfig, SimulatorSourceConfig } from './config/source-schemas.ts';

/** What a simulated node keeps of its blocks: those who follow it here ask for the same ones within a second or so. */
const renderedBytesMax = 32 << 20;

/** A dataset that will follow its sources, and how far it has come. */
export interface FollowingDataset {
  readonly config: DatasetConfig;
  readonly head: Slot | null;
}

export interface BuiltSources {
  readonly sources: readonly SourceOptions[];
  /** What a clock would show inside the ledger, where that is simulated. */
  readonly ledgerUnixMs: (() => number) | undefined;
}

/** Makes of configured sources what ingestion follows; simulated nodes are started, one for all who want the same. */
export class SourceBuilder {
  readonly #datasets: readonly FollowingDataset[];
  readonly #clock: Clock;
  readonly #closers: Closers;
  readonly #nodes = new Map<string, SimulatedNode>();

  /** All datasets at once: a simulated ledger goes on from where the first of them has come to. */
  constructor(
    datasets: readonly FollowingDataset[],
    { clock, closers }: { readonly clock: Clock; readonly closers: Closers },
  ) {
    this.#datasets = datasets;
    this.#clock = clock;
    this.#closers = closers;
  }

  async build(config: DatasetConfig): Promise<BuiltSources> {
    const sources: SourceOptions[] = [];
    let ledgerUnixMs: (() => number) | undefined;
    for (const [i, source] of config.sources.entries()) {
      const name = source.name ?? `${source.kind}-${i + 1}`;
      switch (source.kind) {
        case 'rpc':
          sources.push({ ...describeNode(source), name });
          break;
        case 'portal':
          sources.push({ kind: 'portal', name, url: source.url, key: source.key });
          break;
        case 'simulator': {
          const { rpcUrl, wsUrl, ledger } = await this.#simulate(source);
          sources.push({ kind: 'rpc', name, url: rpcUrl, wsUrls: [wsUrl] });
          ledgerUnixMs ??= () => unixMsInside(ledger);
          break;
        }
        case 'files':
          // Read before anything is followed: `take-files.ts`.
          break;
        default:
          return unreachable(source);
      }
    }
    return { sources, ledgerUnixMs };
  }

  /** The node, on ports that nobody else has. */
  async #simulate(source: SimulatorSourceConfig): Promise<SimulatedNode> {
    const key = keyOf(source);
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const { seed, slotMs, startSlot, startSeconds, profile } = source;
    const resumeAtSlot = this.#highestHead(key);
    const node = await startSimulatedNode(
      {
        chain: { seed, slotMs, startSlot, startSeconds },
        content: { profile },
        limits: { renderedBytesMax },
        ...(resumeAtSlot === undefined ? {} : { resumeAtSlot }),
      },
      { clock: this.#clock },
    );
    this.#closers.add(() => node.close());
    this.#nodes.set(key, node);
    return node;
  }

  #highestHead(key: string): Slot | undefined {
    const heads = this.#datasets
      .filter(({ config }) => config.sources.some((one) => keyOf(one) === key))
      .flatMap(({ head }) => head ?? []);
    return heads.sort((a, b) => b - a)[0];
  }
}

/** Equal for simulators that are one ledger, whatever they are called. */
function keyOf({ name: _name, ...ledger }: DatasetConfig['sources'][number]): string {
  return JSON.stringify(ledger);
}

function describeNode({
  url,
  ws,
  headers,
  callsPerSecond,
  connectionCountMax,
}: RpcSourceConfig): Omit<RpcSourceOptions, 'name'> {
  const wsUrls = ws === undefined ? socketAddresses(url) : ws === 'none' ? [] : [ws];
  return {
    kind: 'rpc',
    url,
    wsUrls,
    headers,
    connectionCount: connectionCountMax,
    ...(callsPerSecond === undefined ? {} : { callsPerSecond }),
  };
}

function unixMsInside({ chain, time }: SimulatedLedger): number {
  const { startSeconds, startSlot, slotMs } = chain.options;
  return startSeconds * 1000 + time.nowMs() - startSlot * slotMs;
}
