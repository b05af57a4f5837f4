import { ASSOCIATED_TOKEN_SCENARIOS } from './associated-token-scenarios.ts';
import { Bank, type ExecutedTransaction } from './bank.ts';
import { CUT_SCENARIOS } from './cut-scenarios.ts';
import type { LiteSvmModule } from './load-litesvm.ts';
import { LOOKUP_SCENARIOS } from './lookup-scenarios.ts';
import { MEMO_SCENARIOS } from './memo-scenarios.ts';
import { NATIVE_SCENARIOS } from './native-scenarios.ts';
import { REFUSAL_SCENARIOS } from './refusal-scenarios.ts';
import { RELAY_SCENARIOS } from './relay-scenarios.ts';
import { TOKEN_SCENARIOS } from './token-scenarios.ts';
import { World } from './world.ts';

/** Everything, one after the other in one bank: the same transactions with the same results every time. */
export async function executeScenarios(litesvm: LiteSvmModule): Promise<ExecutedTransaction[]> {
  const world = await World.open(new Bank(litesvm));
  const executed: ExecutedTransaction[] = [];
  for (const scenario of [
    ...NATIVE_SCENARIOS,
    ...TOKEN_SCENARIOS,
    ...ASSOCIATED_TOKEN_SCENARIOS,
    ...MEMO_SCENARIOS,
    ...LOOKUP_SCENARIOS,
    ...RELAY_SCENARIOS,
    ...REFUSAL_SCENARIOS,
    ...CUT_SCENARIOS,
  ]) {
    executed.push(await world.bank.execute(await scenario(world)));
  }
  return executed;
}
