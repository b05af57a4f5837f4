import type { Clock } from '@sluice/base/clock';
import { type CodedError, isCodedError } from '@sluice/base/errors';
import type { NewChange } from '../dataset/chain-writer.ts';
import type { Dataset } from '../dataset/dataset.ts';

/** How often a commit is attempted while the local disk is full or fails. */
export interface Patience {
  readonly attemptCountMax: number;
  readonly signal: AbortSignal;
}

/** Attempts a commit twice: if the journal has failed, it is opened again in between. Each call has a signal that collects no listeners. */
export function impatient(): Patience {
  return { attemptCountMax: 2, signal: new AbortController().signal };
}

export function patient(signal: AbortSignal): Patience {
  return { attemptCountMax: Number.POSITIVE_INFINITY, signal };
}

const retryMs = 500;
const localFaults: ReadonlySet<string> = new Set(['disk-floor-reached', 'dataset-write-failed']);

/** Commits changes. A full or failing local disk only delays the commit, until the attempts are used up. */
export async function commitPatiently(
  dataset: Dataset,
  changes: readonly NewChange[],
  { clock, signal, attemptCountMax }: Patience & { readonly clock: Clock },
): Promise<void> {
  for (let count = 1; ; count++) {
    try {
      await dataset.commit(changes);
      return;
    } catch (error) {
      const isLocal = isCodedError(error) && localFaults.has(error.code);
      if (!isLocal || count >= attemptCountMax || signal.aborted) throw error;
      await clock.sleep(retryMs, signal);
      await reopenAfter(error, dataset);
    }
  }
}

/** Opens a failed journal again. If that fails too, the next commit tries it again. */
async function reopenAfter({ code }: CodedError, dataset: Dataset): Promise<void> {
  if (code !== 'dataset-write-failed') return;
  try {
    await dataset.reopen();
  } catch (error) {
    if (!isCodedError(error)) throw error;
  }
}
