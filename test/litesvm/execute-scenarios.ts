import { SCENARIOS } from '../scenarios/scenarios.ts';
import { World } from '../scenarios/world.ts';
import { Bank, type ExecutedTransaction } from './bank.ts';
import type { LiteSvmModule } from './load-litesvm.ts';

/** Executes everything in one bank, one after another: the same transactions with the same results every time. */
export async function executeScenarios(litesvm: LiteSvmModule): Promise<ExecutedTransaction[]> {
  const bank = new Bank(litesvm);
  const world = await World.open(bank);
  const executed: ExecutedTransaction[] = [];
  for (const scenario of SCENARIOS) executed.push(await bank.execute(await scenario(world)));
  return executed;
}
