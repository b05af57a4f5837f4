import type { ServiceProcess } from './processes.ts';
import { ScenarioFailure } from './scenario.ts';

export interface FollowedAnswer {
  /** The index of the query. */
  readonly query: number;
  readonly text: Buffer;
  readonly first: number;
  readonly last: number;
}

/**
 * Requests the blocks that followers received again as a bounded range, and checks that the bytes are equal. Returns
 * the number of bytes.
 */
export async function compareAnswers(
  answers: readonly FollowedAnswer[],
  { service, queries }: { readonly service: ServiceProcess; readonly queries: readonly object[] },
): Promise<number> {
  let bytes = 0;
  for (const { query, text, first, last } of answers) {
    const again = await service.ask({ ...queries[query], fromBlock: first, toBlock: last });
    if (!again.equals(text)) {
      throw new ScenarioFailure(`query ${query}, slots ${first} to ${last}: answers differ`);
    }
    bytes += text.length;
  }
  return bytes;
}
