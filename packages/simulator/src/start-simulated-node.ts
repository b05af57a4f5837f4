import type { Clock } from '@sluice/base/clock';
import { type ContentInput, parseContentOptions } from './content/content-options.ts';
import { renderContent } from './render-content.ts';
import { createLedger, type LedgerOptions, type SimulatedLedger } from './simulated-ledger.ts';
import { type NodeOptions, type SimulatedNode, startNode } from './start-node.ts';

export interface SimulatedLedgerOptions extends LedgerOptions {
  /** The options of the blocks' content. The default seed is the seed of the chain. */
  readonly content?: ContentInput;
}

/** Creates a ledger of realistic blocks, for one node or several (`startNode`). */
export function createSimulatedLedger(
  options: SimulatedLedgerOptions,
  dependencies: { clock: Clock },
): SimulatedLedger {
  const content = parseContentOptions({
    ...options.content,
    seed: options.content?.seed ?? options.chain?.seed,
  });
  return createLedger(options, { ...dependencies, render: renderContent(content) });
}

/** Starts a ledger and a node that serves it. */
export function startSimulatedNode(
  options: SimulatedLedgerOptions & NodeOptions,
  dependencies: { clock: Clock },
): Promise<SimulatedNode> {
  return startNode(options, { ledger: createSimulatedLedger(options, dependencies) });
}
