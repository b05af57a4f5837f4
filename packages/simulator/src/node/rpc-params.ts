import { hasMembers } from '@sluice/protocol/unknown-value';
import type { RenderOptions, TransactionDetails } from '../content/render-raw-block.ts';
import { invalidParams, RpcFailure } from './rpc-failure.ts';

export type Commitment = 'processed' | 'confirmed' | 'finalized';

const commitments: readonly Commitment[] = ['processed', 'confirmed', 'finalized'];
const detailLevels: readonly TransactionDetails[] = ['full', 'none'];

export type Config = Readonly<Record<string, unknown>>;

export function parseConfig(value: unknown): Config {
  if (value === undefined || value === null) return {};
  if (hasMembers(value) && !Array.isArray(value)) return value;
  throw invalidParams(`invalid type: ${describe(value)}, expected a configuration object`);
}

export function parseSlotParam(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw invalidParams(`invalid type: ${describe(value)}, expected u64`);
}

export function parseCommitment(config: Config, preset: Commitment): Commitment {
  return parseChoice(config['commitment'], commitments, preset);
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
  parseChoice(config['encoding'], ['json'], 'json');
  return {
    commitment: parseBlockCommitment(config),
    transactionDetails: parseChoice(config['transactionDetails'], detailLevels, 'full'),
    rewards: parseBoolean(config['rewards'], true),
    versionMax: parseVersion(config['maxSupportedTransactionVersion']),
  };
}

function parseChoice<Name extends string>(
  value: unknown,
  allowed: readonly Name[],
  preset: Name,
): Name {
  if (value === undefined || value === null) return preset;
  const chosen = allowed.find((name) => name === value);
  if (chosen !== undefined) return chosen;
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
  const isByte = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 255;
  if (isByte) return value;
  throw invalidParams(`invalid value: ${describe(value)}, expected u8`);
}

const describedLengthMax = 60;

function describe(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, describedLengthMax);
}
