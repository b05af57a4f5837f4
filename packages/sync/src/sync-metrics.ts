/** Counts what happens to tables, and serves the numbers in the text form of Prometheus. */
import { createServer } from 'node:http';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { listeningPort } from '@sluice/base/listening-port';
import { systemErrorCode } from '@sluice/base/system-error-code';
import type { SyncEvent } from './sync-events.ts';

interface TableMetrics {
  rows: number;
  forks: number;
  retries: number;
  slot: number;
  blockSeconds: number | null;
  isFollowing: boolean;
}

/** The names, the types and the meanings, as `docs/sync.md` lists them. */
const METRICS = [
  ['sluice_sync_rows_total', 'counter', 'Rows that this process has written.'],
  ['sluice_sync_forks_total', 'counter', 'Forks whose rows were replaced.'],
  ['sluice_sync_retries_total', 'counter', 'Failures after which the table was opened again.'],
  ['sluice_sync_slot', 'gauge', 'The slot of the newest stored block.'],
  ['sluice_sync_lag_seconds', 'gauge', 'The age of the newest stored block.'],
  ['sluice_sync_following', 'gauge', '1 if the history is loaded, otherwise 0.'],
] as const;

export class SyncMetrics {
  readonly #clock: Clock;
  readonly #tables = new Map<string, TableMetrics>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(event: SyncEvent): void {
    const table = this.#table(event.table);
    if (event.kind === 'load') table.rows += event.rows;
    else if (event.kind === 'retry') table.retries++;
    else if (event.kind === 'follow') {
      table.isFollowing = true;
      table.slot = event.slot ?? table.slot;
    } else if (event.kind === 'commit') {
      table.rows += event.rows;
      table.slot = event.slot;
      table.blockSeconds = event.unixSeconds ?? table.blockSeconds;
      if (event.rollbackTo !== undefined) table.forks++;
    }
  }

  #table(name: string): TableMetrics {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = { rows: 0, forks: 0, retries: 0, slot: 0, blockSeconds: null, isFollowing: false };
      this.#tables.set(name, table);
    }
    return table;
  }

  render(): string {
    const lines = METRICS.flatMap(([name, type, text]) => [
      `# HELP ${name} ${text}`,
      `# TYPE ${name} ${type}`,
      ...[...this.#tables].flatMap(([table, metrics]) => {
        const value = this.#valueOf(name, metrics);
        return value === undefined ? [] : [`${name}{table="${table}"} ${value}`];
      }),
    ]);
    return `${lines.join('\n')}\n`;
  }

  #valueOf(name: (typeof METRICS)[number][0], table: TableMetrics): number | undefined {
    switch (name) {
      case 'sluice_sync_rows_total':
        return table.rows;
      case 'sluice_sync_forks_total':
        return table.forks;
      case 'sluice_sync_retries_total':
        return table.retries;
      case 'sluice_sync_slot':
        return table.slot;
      case 'sluice_sync_following':
        return table.isFollowing ? 1 : 0;
      default: {
        const { blockSeconds } = table;
        return blockSeconds === null ? undefined : this.#clock.unixMs() / 1000 - blockSeconds;
      }
    }
  }

  /** Serves `/metrics` on loopback. Returns the port and a function that stops the server. */
  async listen(port: number): Promise<{ readonly port: number; close(): void }> {
    const host = '127.0.0.1';
    const server = createServer((request, response) => {
      const isKnown = request.url === '/metrics';
      response.writeHead(isKnown ? 200 : 404, { 'content-type': 'text/plain; version=0.0.4' });
      response.end(isKnown ? this.render() : 'GET /metrics\n');
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => {
        const code = systemErrorCode(error) ?? 'unknown';
        reject(new CodedError('listen-failed', { host, port, code }, { cause: error }));
      });
      server.listen(port, host, resolve);
    });
    return { port: listeningPort(server), close: () => server.close() };
  }
}
