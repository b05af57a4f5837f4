import { measureHead } from './measure-head.ts';
import { describeHead, verdict } from './report.ts';
import type { Scenario, ScenarioContext } from './scenario.ts';

const queryCount = 50;

async function measure(
  context: ScenarioContext,
  given: { readonly followerCount: number; readonly p99MsMax: number; readonly isPushed?: boolean },
): Promise<void> {
  const { p99MsMax, ...options } = given;
  const shape = { profile: '2025', queryCount, ...options } as const;
  const result = await measureHead(shape, context);
  const { latencyMs } = result;
  context.print(
    `p99 ${latencyMs.quantile(0.99).toFixed(0)} ms · ${verdict(latencyMs.quantile(0.99), p99MsMax, `of ${p99MsMax} ms`)}`,
  );
  for (const line of describeHead(result, shape)) context.print(line);
}

/**
 * Measures the time from when the node would first return a block until the client has received the last byte of its
 * lines.
 */
export const freshnessScenario: Scenario = {
  name: 'freshness',
  summary:
    'latency from confirmation of a block to reception of its lines: 2025 profile, 100 followers',
  run: (context) => measure(context, { followerCount: 100, p99MsMax: 250 }),
};

export const pushedScenario: Scenario = {
  name: 'freshness-grpc',
  summary: 'the same with a service that follows the node over gRPC',
  run: (context) => measure(context, { followerCount: 100, p99MsMax: 250, isPushed: true }),
};

export const crowdScenario: Scenario = {
  name: 'crowd',
  summary: `the same with 10,000 followers, ${queryCount} different queries`,
  run: (context) => measure(context, { followerCount: 10_000, p99MsMax: 1_500 }),
};
