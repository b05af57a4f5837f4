import type { RenderOptions, TransactionDetails } from '../content/render-raw-block.ts';
import type { NodeState } from './node-view.ts';
import { invalidParams, RpcFailure } from './rpc-failure.ts';

export type Commitment = 'processed' | 'confirmed' | 'finalized';

const commitments: readonly string[] = ['processed', 'confirmed', 'finalized'];
const detailLevels: readonly string[] = ['full', 'none'];

export type Config = Readonly<Record<string, unknown>>;

export function parseConfig(value: unknown): Config {
  if (value === undefined || value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value as Config;
  throw invalidParams(`invalid type: ${describe(value)}, expected a configuration object`);
}

export function parseSlotParam(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 0) return value as number;
  throw invalidParams(`invalid type: ${describe(value)}, expected u64`);
}

export function parseCommitment(config: Config, preset: Commitment): Commitment {
  return parseChoice(config['commitment'], commitments, preset) as Commitment;
}

/** Parses the commitment of methods that read blocks. `processed` is refused, because such a block may be replaced before it is read. */
export function parseBlockCommitment(config: Config): 'confirmed' | 'finalized' {
  const commitment = parseCommitment(config, 'finalized');
  if (commitment === 'processed') {
    throw new RpcFailure(-32602, 'Method does not support commitment below `confirmed`');
  }
  return commitment;
}

export interface BlockConfig extends RenderOptions {
  readonly commitment: 'confirmed' | 'finalized';
  /** The highest transaction version that the caller supports; -1 if it gave none. */
  readonly versionMax: number;
}

export function parseBlockConfig(config: Config): BlockConfig {
  const commitment = parseBlockCommitment(config);
  parseChoice(config['encoding'], ['json'], 'json');
  const details = parseChoice(config['transactionDetails'], detailLevels, 'full');
  return {
    commitment,
    transactionDetails: details as TransactionDetails,
    rewards: parseBoolean(config['rewards'], true),
    versionMax: parseVersion(config['maxSupportedTransactionVersion']),
  };
}

export function slotAt(state: NodeState, commitment: Commitment): number {
  const { processedSlot: processed, confirmedSlot: confirmed, finalizedSlot: finalized } = state;
  return { processed, confirmed, finalized }[commitment];
}

function parseChoice(value: unknown, allowed: readonly string[], preset: string): string {
  if (value === undefined || value === null) return preset;
  if (typeof value === 'string' && allowed.includes(value)) return value;
  const list = allowed.map((name) => `\`${name}\``).join(', ');
  throw invalidParams(`unknown variant ${describe(value)}, expected one of ${list}`);
}

function parseBoolean(value: unknown, preset: boolean): boolean {
  if (value === undefined || value === null) return preset;
  if (typeof value === 'boolean') return value;
  throw invalidParams(`invalid type: ${describe(value)}, expected a boolean`);
}

function parseVersion(value: unknown): number {
  if (value === undefined || value === null) return -1;
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255) {
    return value as number;
  }
  throw invalidParams(`invalid value: ${describe(value)}, expected u8`);
}

const describedLengthMax = 60;

function describe(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, describedLengthMax);
}
