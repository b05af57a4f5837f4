import type { ServiceBenchOptions } from './options.ts';

export interface ScenarioContext {
  readonly options: ServiceBenchOptions;
  /** A temporary folder, removed afterwards. */
  readonly folder: string;
  /** Prints a result. */
  readonly print: (line: string) => void;
  /** Reports progress. */
  readonly progress: (text: string) => void;
}

/** One scenario that measures the service with real processes. */
export interface Scenario {
  readonly name: string;
  readonly summary: string;
  run(context: ScenarioContext): Promise<void>;
}

/** Thrown if a precondition of a measurement fails. */
export class ScenarioFailure extends Error {}
