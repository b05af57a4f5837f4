import { CodedError } from '@sluice/base/errors';
import type { Client } from '@sluice/client';
import type { QueryDraft } from './build-body.ts';
import type { QueryOptions, RangeEnd } from './query-options.ts';

/** The slots of a query, both inclusive. Without a last slot the query follows the ledger. */
export interface SlotRange {
  readonly first: number;
  readonly last: number | undefined;
}

/**
 * Determines the range from the flags, then from the query, then from the dataset: from its first block to its head. Without
 * `--follow` the range ends at the head, so that the command ends.
 */
export async function resolveRange(
  options: QueryOptions,
  draft: QueryDraft,
  client: Client,
): Promise<SlotRange> {
  const { from, to, last, follow, finalized } = options;
  if (last !== undefined && (from !== undefined || to !== undefined)) {
    throw new CodedError('cli-usage', {
      option: '--last',
      fault: 'cannot be combined with --from and --to',
    });
  }
  const head = await (finalized === true ? client.finalizedHead() : client.head());
  if (head === null) throw new CodedError('dataset-starting');
  const { start_block: start } = await client.metadata();
  const given =
    to === undefined ? (draft.toBlock ?? undefined) : await slotBefore(to, client, head.number);
  refuseReversed(options, draft);
  const end = follow === true ? given : Math.min(given ?? head.number, head.number);
  if (last !== undefined) return { first: Math.max(start, head.number - last + 1), last: end };
  if (from !== undefined) return { first: await slotAt(from, client, head.number), last: end };
  // A stream that follows without a start begins at the head.
  const first = draft.fromBlock ?? (follow === true ? head.number : start);
  return { first, last: end };
}

/** A range of slots that ends before it starts is a mistake; one that starts above the head is not. */
function refuseReversed({ from, to }: QueryOptions, draft: QueryDraft): void {
  const first = from === undefined ? draft.fromBlock : 'slot' in from ? from.slot : undefined;
  const last = to === undefined ? draft.toBlock : 'slot' in to ? to.slot : undefined;
  if (typeof first !== 'number' || typeof last !== 'number' || last >= first) return;
  throw new CodedError('cli-usage', {
    option: '--to',
    fault: `slot ${last} is below the first slot ${first}`,
  });
}

async function slotAt(end: RangeEnd, client: Client, head: number): Promise<number> {
  if ('slot' in end) return end.slot;
  return (await client.blockAt(end.seconds)) ?? head + 1;
}

/** Returns the last slot before a time. */
async function slotBefore(end: RangeEnd, client: Client, head: number): Promise<number> {
  if ('slot' in end) return end.slot;
  const after = await client.blockAt(end.seconds);
  return after === null ? head : Math.max(after - 1, 0);
}
