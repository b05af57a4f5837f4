import type { ServiceProcess } from './processes.ts';
import { ScenarioFailure } from './scenario.ts';

export interface FollowedAnswer {
  /** Which of the queries. */
  readonly query: number;
  readonly text: Buffer;
  readonly first: number;
  readonly last: number;
}

/** Asks again for what followers got, as a bounded range of stored blocks; the bytes must be the same. Returns how many. */
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
