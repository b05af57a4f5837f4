/** Compares the built-in programs with the clients that Codama generated for them, on every recorded instruction. */
import { IdlRegistry } from '@sluice/decode/idl-registry';
import { rangeOf } from '@sluice/decode/program-decoder';
import {
  COMPUTE_BUDGET_PROGRAM_ADDRESS,
  ComputeBudgetInstruction,
  parseComputeBudgetInstruction,
} from '@solana-program/compute-budget';
import {
  parseStakeInstruction,
  STAKE_PROGRAM_ADDRESS,
  StakeAuthorize,
  StakeInstruction,
} from '@solana-program/stake';
import {
  parseSystemInstruction,
  SYSTEM_PROGRAM_ADDRESS,
  SystemInstruction,
} from '@solana-program/system';
import {
  ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
  AssociatedTokenInstruction,
  AuthorityType,
  parseAssociatedTokenInstruction,
  parseTokenInstruction,
  TOKEN_PROGRAM_ADDRESS,
  TokenInstruction,
} from '@solana-program/token';
import { describe, expect, test } from 'vitest';
import { toSluice } from './codama-decoder.ts';
import {
  hasRealInstructions,
  type RealInstruction,
  readRealInstructions,
} from './real-instructions.ts';

interface Parsed {
  readonly instructionType: number;
  readonly accounts?: Readonly<Record<string, { readonly address: string } | undefined>>;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Decoded {
  readonly name: string | null;
  readonly error?: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly accounts: Readonly<Record<string, string | null>>;
}

interface Oracle {
  readonly parse: (instruction: never) => unknown;
  readonly names: Readonly<Record<number, string>>;
}

const oracles: Readonly<Record<string, Oracle>> = {
  [SYSTEM_PROGRAM_ADDRESS]: { parse: parseSystemInstruction, names: SystemInstruction },
  [TOKEN_PROGRAM_ADDRESS]: { parse: parseTokenInstruction, names: TokenInstruction },
  [ASSOCIATED_TOKEN_PROGRAM_ADDRESS]: {
    parse: parseAssociatedTokenInstruction,
    names: AssociatedTokenInstruction,
  },
  [COMPUTE_BUDGET_PROGRAM_ADDRESS]: {
    parse: parseComputeBudgetInstruction,
    names: ComputeBudgetInstruction,
  },
  [STAKE_PROGRAM_ADDRESS]: { parse: parseStakeInstruction, names: StakeInstruction },
};
/** The clients ignore old forms of these programs' data, or have other accounts. */
const withoutAccounts = new Set<string>([STAKE_PROGRAM_ADDRESS, ASSOCIATED_TOKEN_PROGRAM_ADDRESS]);
const builtin = new Set([
  ...Object.keys(oracles),
  'Vote111111111111111111111111111111111111111',
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  'AddressLookupTab1e1111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
]);

const registry = new IdlRegistry();

function decode({ programId, accounts, data }: RealInstruction): Decoded {
  const texts = accounts.map((account) => JSON.stringify(account));
  return JSON.parse(
    registry.find(programId, 0)?.decodeInstruction(rangeOf(data), texts, '') ?? '',
  ) as Decoded;
}

/** Returns undefined if the client cannot parse the instruction. */
function parse(
  { parse: parseInstruction }: Oracle,
  { programId, accounts, data }: RealInstruction,
): Parsed | undefined {
  const instruction = {
    programAddress: programId,
    accounts: accounts.map((address) => ({ address, role: 0 })),
    data,
  };
  try {
    return parseInstruction(instruction as never) as Parsed;
  } catch {
    return undefined;
  }
}

/** Converts the arguments to the form of Sluice: names of variants, no discriminators. */
function argsOf({ data }: Parsed): Record<string, unknown> {
  const args = Object.entries(data).filter(([name]) => !/discriminator$/i.test(name));
  return Object.fromEntries(
    args.map(([name, value]) => {
      if (name === 'authorityType') return [name, AuthorityType[Number(value)]];
      if (name === 'stakeAuthorize' || (name === 'arg1' && typeof value === 'number'))
        return [name, StakeAuthorize[Number(value)]];
      return [name, toSluice(value)];
    }),
  );
}

describe('built-in programs', () => {
  test.skipIf(!hasRealInstructions)(
    'property: every recorded instruction has the name, arguments and accounts that the client has (needs recorded blocks)',
    () => {
      const counts = new Map<string, number>();
      for (const instruction of readRealInstructions()) {
        const { programId } = instruction;
        const oracle = oracles[programId];
        const parsed = oracle === undefined ? undefined : parse(oracle, instruction);
        if (oracle === undefined || parsed === undefined) continue;
        const decoded = decode(instruction);
        const name = oracle.names[parsed.instructionType] ?? '';
        expect(decoded.name?.toLowerCase()).toBe(name.toLowerCase());
        // The client of the stake program has no names for some arguments.
        if (programId === STAKE_PROGRAM_ADDRESS)
          expect(Object.values(decoded.args)).toEqual(Object.values(argsOf(parsed)));
        else expect(decoded.args).toEqual(argsOf(parsed));
        if (!withoutAccounts.has(programId)) {
          const named = Object.entries(parsed.accounts ?? {}).map(([key, account]) => [
            key,
            account?.address ?? null,
          ]);
          expect(decoded.accounts).toEqual(Object.fromEntries(named));
        }
        counts.set(programId, (counts.get(programId) ?? 0) + 1);
      }
      for (const programId of [
        SYSTEM_PROGRAM_ADDRESS,
        TOKEN_PROGRAM_ADDRESS,
        COMPUTE_BUDGET_PROGRAM_ADDRESS,
      ]) {
        expect(counts.get(programId), programId).toBeGreaterThan(100);
      }
    },
  );

  test.skipIf(!hasRealInstructions)(
    'property: only recorded instructions that the programs themselves refuse have errors (needs recorded blocks)',
    () => {
      const errors = new Map<string, number>();
      const totals = new Map<string, number>();
      for (const instruction of readRealInstructions()) {
        const { programId } = instruction;
        if (!builtin.has(programId)) continue;
        const { name, error } = decode(instruction);
        totals.set(programId, (totals.get(programId) ?? 0) + 1);
        if (error !== undefined)
          errors.set(
            `${programId} ${name}: ${error}`,
            (errors.get(`${programId} ${name}: ${error}`) ?? 0) + 1,
          );
      }
      expect([...totals.keys()].length).toBeGreaterThan(8);
      // Two failed transactions call the system program with data that it refuses.
      expect(Object.fromEntries(errors)).toEqual({
        [`${SYSTEM_PROGRAM_ADDRESS} null: the IDL describes no instruction with this data`]: 2,
      });
    },
  );
});
