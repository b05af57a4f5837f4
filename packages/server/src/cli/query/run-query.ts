/** Reads a query from a dataset into a sink, with progress on stderr. */
import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { isTerminal } from '@sluice/base/terminal';
import {
  type Batch,
  type Client,
  type ClientEvent,
  type CursorState,
  createClient,
} from '@sluice/client';
import type { QueryBody } from '@sluice/protocol/query-body';
import type { CommandContext } from '../context.ts';
import { Progress } from '../progress.ts';
import type { Target } from '../target/open-target.ts';
import type { ReadBlock } from './block-writer.ts';
import type { BlockSink } from './sinks.ts';

/** A command that does not follow the ledger fails after this many failures in a row. */
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
    headers: localHeaders(url),
    ...(folder === undefined ? {} : { fetch: reloading(folder.reload) }),
  });
}

/** Compression is not worthwhile on the same machine. */
export function localHeaders(url: string): Record<string, string> {
  const isLocal = ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname);
  return isLocal ? { 'accept-encoding': 'identity' } : {};
}

/** Reads the files again before each further request for a stream: the previous stream ended early, for example because another process removed a segment. */
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
  readonly limit: number | undefined;
  /** Whether an interruption is the normal end. */
  readonly isEndless: boolean;
  readonly showsProgress: boolean;
}

export interface RunDependencies {
  readonly target: Target;
  readonly sink: BlockSink;
  readonly signal: AbortSignal;
  readonly err: CommandContext['err'];
}

/** Returns the number of blocks that were read. */
export async function runQuery(
  options: RunOptions,
  dependencies: RunDependencies,
): Promise<number> {
  const { target, signal, err } = dependencies;
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
    return await pump(stream, options, dependencies);
  } catch (error) {
    throw explain(error, dependencies);
  } finally {
    meter.end();
  }
}

async function pump(
  stream: AsyncIterable<Batch>,
  { limit = Infinity, isEndless }: RunOptions,
  { sink, signal }: RunDependencies,
): Promise<number> {
  let count = 0;
  try {
    for await (const batch of stream) {
      if (batch.kind === 'rollback') {
        await sink.rollBack(batch);
        continue;
      }
      const blocks: readonly ReadBlock[] = batch.blocks.slice(0, limit - count);
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

function explain(error: unknown, { target, signal }: RunDependencies): unknown {
  if (signal.aborted) return new CodedError('query-interrupted', {}, { cause: error });
  const [file] = target.folder?.damaged ?? [];
  return file === undefined ? error : new CodedError('segment-damaged', { file }, { cause: error });
}

/** Shows the progress, and failures that are retried. */
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
      this.#err.write(`fork: the blocks above slot ${event.to.number} were replaced\n`);
    } else if (event.kind === 'retry' && event.attempt > 1) {
      this.#err.write(`${event.error.message}; retrying\n`);
    }
  }

  /** If the work is done before any progress was shown, the final state is only shown on a terminal. */
  end(): void {
    if (this.#progress?.isShown === true || isTerminal(this.#err)) this.#progress?.finish();
  }
}
