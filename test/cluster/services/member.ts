import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { findFreePorts } from '../../find-free-ports.ts';
import { type Child, startChild, waitUntil } from './child.ts';
import { type Relay, startRelay } from './relay.ts';
import type { NatsCluster } from './start-nats.ts';
import type { S3Server } from './start-s3.ts';

const command = fileURLToPath(new URL('../../../packages/server/bin/sluice.js', import.meta.url));

export interface MemberOptions {
  readonly name: string;
  readonly role: 'both' | 'write' | 'read';
  readonly folder: string;
  readonly rpcUrl: string;
  readonly s3: S3Server;
  readonly nats: NatsCluster | undefined;
  readonly store?: object;
  readonly feed?: object;
  readonly dataset?: { readonly name?: string; readonly keep?: number };
}

/** A `sluice serve` process behind its own relays, which is restarted whenever it ends. */
export class ClusterMember {
  readonly name: string;
  readonly url: string;
  readonly s3Relay: Relay;
  readonly natsRelays: readonly Relay[];
  readonly #config: string;
  #child: Child | undefined;
  #isClosed = false;
  startCount = 0;

  private constructor(
    options: MemberOptions,
    parts: { url: string; config: string; s3Relay: Relay; natsRelays: readonly Relay[] },
  ) {
    this.name = options.name;
    this.url = parts.url;
    this.s3Relay = parts.s3Relay;
    this.natsRelays = parts.natsRelays;
    this.#config = parts.config;
  }

  static async start(options: MemberOptions): Promise<ClusterMember> {
    const { name, folder, role, rpcUrl, s3, nats } = options;
    const memberFolder = join(folder, name);
    mkdirSync(memberFolder, { recursive: true });
    const [port = 0, adminPort = 0] = await findFreePorts(2);
    const s3Relay = await startRelay(() => s3.port);
    const natsRelays = await Promise.all((nats?.ports ?? []).map((one) => startRelay(() => one)));
    const config = join(memberFolder, 'sluice.yaml');
    const servers = natsRelays.map((relay) => `nats://127.0.0.1:${relay.port}`);
    const { bucket, accessKeyId, secretAccessKey } = s3;
    const endpoint = `http://127.0.0.1:${s3Relay.port}`;
    const store = { kind: 's3', bucket, endpoint, accessKeyId, secretAccessKey, ...options.store };
    const feed = { kind: 'jetstream', servers, replicas: servers.length, ...options.feed };
    const sources = [{ kind: 'rpc', url: rpcUrl, ws: 'none' }];
    writeFileSync(
      config,
      stringify({
        data: join(memberFolder, 'data'),
        listen: { port },
        admin: { port: adminPort },
        store,
        ...(nats === undefined ? {} : { role, feed }),
        datasets: [{ name: 'ledger', from: 'genesis', sources, ...options.dataset }],
      }),
    );
    const url = `http://127.0.0.1:${port}/datasets/${options.dataset?.name ?? 'ledger'}`;
    const member = new ClusterMember(options, { url, config, s3Relay, natsRelays });
    member.spawn();
    return member;
  }

  spawn(): void {
    this.startCount++;
    const child = startChild(process.execPath, [command, 'serve', '--config', this.#config]);
    this.#child = child;
    child.process.once('exit', () => {
      if (this.#isClosed) return;
      this.#lastOutput = child.output();
      setTimeout(() => !this.#isClosed && this.spawn(), 300);
    });
  }

  #lastOutput = '';

  /** Returns the end of its log, and of the log of the previous process. */
  get output(): string {
    return `${this.#lastOutput}\n---\n${this.#child?.output() ?? ''}`;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.process.kill(signal);
  }

  get pid(): number {
    return this.#child?.process.pid ?? 0;
  }

  async readHead(): Promise<number | undefined> {
    try {
      const response = await fetch(`${this.url}/head`, { signal: AbortSignal.timeout(1_000) });
      return ((await response.json()) as { number?: number } | null)?.number;
    } catch {
      return undefined;
    }
  }

  async readStatus(): Promise<{
    alarms: { code: string }[];
    storage: unknown;
    counters: Record<string, number>;
  }> {
    const response = await fetch(`${this.url}/status`, { signal: AbortSignal.timeout(5_000) });
    return (await response.json()) as never;
  }

  /** Whether this process follows the sources. */
  async isLeading(): Promise<boolean> {
    const status = (await this.readStatus().catch(() => undefined)) as
      | { sources?: unknown[] }
      | undefined;
    return (status?.sources?.length ?? 0) > 0;
  }

  async untilHead(slot: number): Promise<void> {
    await waitUntil(
      `${this.name} reaches slot ${slot}`,
      async () => ((await this.readHead()) ?? -1) >= slot,
    ).catch((error: Error) => {
      throw new Error(`${error.message}\n${this.output}`);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.signal('SIGCONT');
    await this.#child?.stop('SIGKILL');
    this.s3Relay.close();
    for (const relay of this.natsRelays) relay.close();
  }
}
