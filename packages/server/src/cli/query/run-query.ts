/** Reads a query from a dataset into a sink, with progress on stderr. */
import type { Batch, ClientEvent, CursorState } from '@sluice/client';
import { type Client, createClient } from '@sluice/client';
import type { QueryBody } from '@sluice/protocol/query-body';
import { systemClock } from '../../base/clock.ts';
import { CodedError } from '../../base/errors.ts';
import { isTerminal } from '../../base/terminal.ts';
import type { CommandContext } from '../context.ts';
import { Progress } from '../progress.ts';
import type { Target } from '../target/open-target.ts';
import type { ReadBlock } from './block-writer.ts';
import type { BlockSink } from './sinks.ts';

/** A command that is not to follow for ever gives up after so many failures in a row. */
const attemptsMax = 5;

export function createTargetClient(
  target: Target,
  options: { readonly isPatient: boolean; readonly onEvent?: (event: ClientEvent) => void },
): Client {
  const { url, key, folder } = target;
  return createClient({
    url,
    ...(key === undefined ? {} : { key }),
    ...(options.onEvent === undefined ? {} : { onEvent: options.onEvent }),
    ...(options.isPatient ? {} : { retry: { attemptsMax } }),
    // Within this machine compression costs more than it saves.
    ...(folder === undefined
      ? {}
      : { fetch: reloading(folder.reload), headers: { 'accept-encoding': 'identity' } }),
  });
}

/** A request for a stream after the first follows an early end, as when another process removed a segment: files are read anew. */
function reloading(reload: () => Promise<void>): typeof fetch {
  let streamCount = 0;
  return async (input, init) => {
    if (init?.method === 'POST' && streamCount++ > 0) await reload();
    return fetch(input, init);
  };
}

export interface RunOptions {
  readonly query: QueryBody;
  readonly finalized: boolean;
  readonly cursor: CursorState | undefined;
  /** Stop after so many blocks. */
  readonly limit: number | undefined;
  /** Whether an interruption is how it ends. */
  readonly isEndless: boolean;
  /** Whether to show how far it is. */
  readonly showsProgress: boolean;
}

export interface RunModules {
  readonly target: Target;
  readonly sink: BlockSink;
  readonly signal: AbortSignal;
  readonly err: CommandContext['err'];
}

/** Returns how many blocks came. */
export async function runQuery(options: RunOptions, modules: RunModules): Promise<number> {
  const { target, signal, err } = modules;
  const meter = new QueryMeter(options, err);
  const client = createTargetClient(target, {
    isPatient: options.isEndless,
    onEvent: (event) => meter.take(event),
  });
  const { query, cursor, finalized } = options;
  const stream = client.stream(query, {
    signal,
    finalized,
    ...(cursor === undefined ? {} : { cursor }),
  });
  try {
    return await pump(stream, options, modules);
  } catch (error) {
    throw explain(error, modules);
  } finally {
    meter.end();
  }
}

async function pump(
  stream: AsyncIterable<Batch>,
  { limit = Infinity, isEndless }: RunOptions,
  { sink, signal }: RunModules,
): Promise<number> {
  let count = 0;
  try {
    for await (const batch of stream) {
      if (batch.kind === 'rollback') {
        await sink.rollBack(batch);
        continue;
      }
      const blocks = batch.blocks.slice(0, limit - count) as unknown as readonly ReadBlock[];
      count += blocks.length;
      const isRead = await sink.take(blocks, batch, systemClock.nowMs());
      if (!isRead || count >= limit) break;
    }
  } catch (error) {
    if (!signal.aborted || !isEndless) throw error;
  }
  await sink.end();
  return count;
}

function explain(error: unknown, { target, signal }: RunModules): unknown {
  if (signal.aborted) return new CodedError('query-interrupted', {}, { cause: error });
  const [file] = target.folder?.damaged ?? [];
  return file === undefined ? error : new CodedError('segment-damaged', { file }, { cause: error });
}

/** Shows progress, and what went wrong on the way. */
class QueryMeter {
  readonly #progress: Progress | undefined;
  readonly #err: CommandContext['err'];
  #slot: number;

  constructor({ query, showsProgress }: RunOptions, err: CommandContext['err']) {
    const { fromBlock, toBlock } = query;
    this.#err = err;
    this.#slot = fromBlock - 1;
    if (!showsProgress) return;
    const share =
      typeof toBlock === 'number'
        ? () => Math.min((this.#slot - fromBlock + 1) / Math.max(toBlock - fromBlock + 1, 1), 1)
        : () => undefined;
    this.#progress = new Progress({ unit: 'blocks', share }, { err, clock: systemClock });
  }

  take(event: ClientEvent): void {
    if (event.kind === 'blocks') {
      this.#slot = event.tip.number;
      this.#progress?.add(event.count, event.bytes);
    } else if (event.kind === 'rollback') {
      this.#err.write(`fork: the blocks above slot ${event.to.number} are replaced\n`);
    } else if (event.kind === 'retry' && event.attempt > 1) {
      this.#err.write(`${event.error.message}; trying again\n`);
    }
  }

  /** Work that was done before anything was shown needs no last word, except on a terminal. */
  end(): void {
    if (this.#progress?.isShown === true || isTerminal(this.#err)) this.#progress?.finish();
  }
}
