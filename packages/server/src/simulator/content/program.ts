/**
 * A program of the simulated ledger: what its instructions look like and what it prints. What a program or a kind lacks is
 * undefined and never left out: objects of one shape are read several times as fast.
 */
import type { Random } from '../../base/random.ts';
import type { Address } from '../../ledger/primitives.ts';
import type { DataTemplate } from './base58-text.ts';
import type { Bands, Choice } from './distributions.ts';

export interface InstructionKind {
  readonly data: DataTemplate;
  /** How many different data there are; undefined where nearly every instruction has its own. */
  readonly variantCount: number | undefined;
  readonly accountCount: Bands;
  /** The text of its first `Program log:` line. */
  readonly opening: string | undefined;
  /** A second line that always follows. */
  readonly remark: string | undefined;
  /** What `Program return:` shows. */
  readonly returns: string | undefined;
  /** Compute units without those of the calls it makes. */
  readonly units: Bands;
}

/** How a program uses accounts: decides which of the transaction's keys its instructions name. */
export type ProgramRole = 'token' | 'system' | 'budget' | 'associated' | 'vote' | 'app' | 'silent';

export interface Program {
  readonly id: Address;
  /** Place among the applications, 0 the most used; -1 for the ledger's own programs. */
  readonly rank: number;
  readonly role: ProgramRole;
  /** Built into the node: prints no `consumed` line. */
  readonly isNative: boolean;
  readonly kinds: Choice<InstructionKind>;
  /** Calls itself with this to leave an event in the ledger. */
  readonly event: InstructionKind | undefined;
  /** Lines besides the opening one. */
  readonly lineCount: Bands;
  readonly lines: readonly LineTemplate[];
  /** Mean number of `Program data:` lines an instruction. */
  readonly dataRate: number;
  readonly returnRate: number;
  readonly text: ProgramText;
}

/** A text with numbers in it: the pieces between them, and how many digits each may have. */
export interface LineTemplate {
  readonly pieces: readonly string[];
  readonly numberEnd: number;
}

export function drawLine(template: LineTemplate, random: Random): string {
  const { pieces, numberEnd } = template;
  let text = pieces[0] as string;
  for (let i = 1; i < pieces.length; i++) text += `${random.below(numberEnd)}${pieces[i]}`;
  return text;
}

/** The parts of a program's log lines that never change. */
export interface ProgramText {
  /** `Program ID invoke [`. */
  readonly invoke: readonly string[];
  readonly success: string;
  readonly consumed: string;
  readonly failed: string;
  readonly returned: string;
}

/** Deeper than any call goes. */
const DEPTH_END = 16;

export function buildProgramText(id: Address): ProgramText {
  return {
    invoke: Array.from({ length: DEPTH_END }, (_, depth) => `Program ${id} invoke [${depth}]`),
    success: `Program ${id} success`,
    consumed: `Program ${id} consumed `,
    failed: `Program ${id} failed: `,
    returned: `Program return: ${id} `,
  };
}
