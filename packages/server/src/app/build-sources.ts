import { unreachable } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import type { Slot } from '@sluice/ledger/primitives';
import type { SimulatedLedger } from '@sluice/simulator/simulated-ledger';
import type { SimulatedNode } from '@sluice/simulator/start-node';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import type { SourceOptions } from '@sluice/source/open-source';
import type { RpcSourceOptions } from '@sluice/source/rpc/rpc-source';
import { socketAddresses } from '@sluice/source/rpc/socket-addresses';
import type { Closers } from './closers.ts';
import type { DatasetConfig } from './config/config-schema.ts';
import type { RpcSourceConfig, SimulatorSourceConfig } from './config/source-schemas.ts';

/** The cache of a simulated node. All datasets that follow it request the same blocks within about a second. */
const renderedBytesMax = 32 << 20;

export interface FollowingDataset {
  readonly config: DatasetConfig;
  readonly head: Slot | null;
}

export interface BuiltSources {
  readonly sources: readonly SourceOptions[];
  /** Returns the time of the ledger, if it is simulated. */
  readonly ledgerUnixMs: (() => number) | undefined;
}

/** Converts configured sources into options for ingestion. Starts simulated nodes; equal simulators share one. */
export class SourceBuilder {
  readonly #datasets: readonly FollowingDataset[];
  readonly #clock: Clock;
  readonly #closers: Closers;
  readonly #nodes = new Map<string, SimulatedNode>();

  /** Takes all datasets, because a simulated ledger continues from the highest head of them. */
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
        case 'grpc':
          sources.push({ ...source, name });
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
          // Files are read before other sources are followed (`take-files.ts`).
          break;
        default:
          return unreachable(source);
      }
    }
    return { sources, ledgerUnixMs };
  }

  /** Returns the node for a simulator, on free ports. */
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
      .filter(({ config }) => config.sources.some((source) => keyOf(source) === key))
      .flatMap(({ head }) => head ?? []);
    return heads.sort((a, b) => b - a)[0];
  }
}

/** Returns a key that is equal for simulators of the same ledger, regardless of their names. */
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
