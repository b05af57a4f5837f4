import { ASSOCIATED_TOKEN_SCENARIOS } from './associated-token-scenarios.ts';
import { CUT_SCENARIOS } from './cut-scenarios.ts';
import { LOOKUP_SCENARIOS } from './lookup-scenarios.ts';
import { MEMO_SCENARIOS } from './memo-scenarios.ts';
import { NATIVE_SCENARIOS } from './native-scenarios.ts';
import { REFUSAL_SCENARIOS } from './refusal-scenarios.ts';
import { RELAY_SCENARIOS } from './relay-scenarios.ts';
import { SMALL_CUT_SCENARIOS } from './small-cut-scenarios.ts';
import { TOKEN_SCENARIOS } from './token-scenarios.ts';
import type { Scenario } from './world.ts';

export const SCENARIOS: readonly Scenario[] = [
  ...NATIVE_SCENARIOS,
  ...TOKEN_SCENARIOS,
  ...ASSOCIATED_TOKEN_SCENARIOS,
  ...MEMO_SCENARIOS,
  ...LOOKUP_SCENARIOS,
  ...RELAY_SCENARIOS,
  ...REFUSAL_SCENARIOS,
  ...CUT_SCENARIOS,
  ...SMALL_CUT_SCENARIOS,
];
