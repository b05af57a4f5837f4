import type { ServiceBenchOptions } from './options.ts';

export interface ScenarioContext {
  readonly options: ServiceBenchOptions;
  /** For what it keeps while it runs; removed afterwards. */
  readonly folder: string;
  /** Results. */
  readonly print: (line: string) => void;
  /** What it is doing. */
  readonly progress: (text: string) => void;
}

/** One figure of the service, measured on real processes. */
export interface Scenario {
  readonly name: string;
  readonly summary: string;
  run(context: ScenarioContext): Promise<void>;
}

/** What a measurement cannot go on without did not happen. */
export class ScenarioFailure extends Error {}
