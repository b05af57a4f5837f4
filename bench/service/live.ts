import { measureHead } from './measure-head.ts';
import { describeHead, verdict } from './report.ts';
import type { Scenario } from './scenario.ts';

const coresMax = 0.8;
const followerCount = 50;

/** Measures the cost at the head: full blocks, and followers with different queries. */
export const liveScenario: Scenario = {
  name: 'live',
  summary: `processor time at the head: blocks of the busy profile, ${followerCount} followers, each with a query of its own, gzip`,
  async run(context) {
    const shape = { profile: 'busy', followerCount, queryCount: followerCount } as const;
    const result = await measureHead(shape, context);
    context.print(
      `service ${result.cores.toFixed(2)} cores over ${context.options.seconds} s · ${verdict(result.cores, coresMax, 'of 0.8 core')}`,
    );
    for (const line of describeHead(result, shape)) context.print(line);
  },
};
