/** Converts the error object of a transaction to sentences. */
import { writeJson } from '../base/write-json.ts';
import { findIdl } from './address-names.ts';

export interface ExplainedError {
  readonly title: string;
  readonly text: string;
  /** The index of the top-level instruction that failed, if the error has one. */
  readonly instruction?: number;
}

const transactionErrors: Readonly<Record<string, string>> = {
  AccountInUse: 'Another transaction held an account that this one needs.',
  AccountNotFound: 'An account that should pay does not exist.',
  AlreadyProcessed: 'The ledger has processed this transaction before.',
  BlockhashNotFound: 'The recent block hash is unknown or too old. The transaction came too late.',
  DuplicateInstruction: 'An instruction occurs twice where only one is allowed.',
  InsufficientFundsForFee: 'The fee payer has too few lamports for the fee.',
  InsufficientFundsForRent: 'An account would be left with fewer lamports than its rent requires.',
  InvalidAccountForFee: 'The fee payer is an account that cannot pay fees.',
  MaxLoadedAccountsDataSizeExceeded: 'The accounts hold more data than the transaction may load.',
  ProgramAccountNotFound: 'A program that should run does not exist.',
  SignatureFailure: 'A signature does not match.',
  TooManyAccountLocks: 'The transaction names more accounts than are allowed.',
};

const instructionErrors: Readonly<Record<string, string>> = {
  AccountAlreadyInitialized: 'The account is initialized already.',
  AccountBorrowFailed: 'The account is in use by another call.',
  AccountNotExecutable: 'The called account is not a program.',
  ComputationalBudgetExceeded: 'The transaction used up its compute units. Request a higher limit.',
  GenericError: 'The program failed without saying why.',
  IllegalOwner: 'An account belongs to another program than the instruction expects.',
  IncorrectProgramId: 'The account belongs to another program.',
  InsufficientFunds: 'An account has too few lamports or tokens.',
  InvalidAccountData: 'The data of an account is not what the program expects.',
  InvalidAccountOwner: 'An account has another owner than the program expects.',
  InvalidArgument: 'The program rejected an argument.',
  InvalidInstructionData: 'The program does not understand the data of the instruction.',
  MaxSeedLengthExceeded: 'A seed of a derived address is too long.',
  MissingAccount: 'An account that the instruction needs is missing.',
  MissingRequiredSignature: 'An account that must sign did not.',
  NotEnoughAccountKeys: 'The instruction has fewer accounts than the program needs.',
  PrivilegeEscalation: 'A called program asked for more rights than its caller has.',
  ProgramFailedToComplete: 'The program crashed.',
  ReadonlyDataModified: 'The program changed an account that it may only read.',
  UninitializedAccount: 'An account is not initialized.',
  UnbalancedInstruction: 'Lamports would appear or vanish.',
};

/** Codes that the token programs return, by number. */
const tokenErrors = [
  'The account has too few lamports to be exempt from rent.',
  'The account has too few tokens.',
  'The mint is invalid.',
  'The account is of another mint.',
  'The owner does not match.',
  'The supply of the mint is fixed.',
  'The account or mint is in use already.',
];
const tokenPrograms = new Set([
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
]);
const systemProgram = '11111111111111111111111111111111';

/**
 * `failedProgram` is the program of the first failed call, which defines the meaning of a custom code. The error object only has the
 * index of the top-level instruction.
 */
export function explainError(err: object, failedProgram: string | undefined): ExplainedError {
  const [name = 'Error', detail] = Object.entries(err)[0] ?? [];
  if (name !== 'InstructionError' || !Array.isArray(detail)) {
    return { title: spaced(name), text: transactionErrors[name] ?? describeRest(detail) };
  }
  const [index, cause]: readonly unknown[] = detail;
  const instruction = Number(index);
  const title = `Instruction ${instruction + 1} failed`;
  if (typeof cause === 'object' && cause !== null && 'Custom' in cause) {
    const code = Number(cause.Custom);
    const meaning = customMeaning(code, failedProgram);
    return {
      title,
      instruction,
      text: `The program returned its error ${code} (0x${code.toString(16)})${meaning}`,
    };
  }
  const cut = typeof cause === 'string' ? cause : (Object.keys(cause ?? {})[0] ?? 'Error');
  return { title, instruction, text: `${spaced(cut)}. ${instructionErrors[cut] ?? ''}`.trim() };
}

function customMeaning(code: number, program: string | undefined): string {
  const idlError = program === undefined ? undefined : findIdl(program)?.errors[code];
  if (idlError !== undefined) return `: ${idlError}.`;
  if (program !== undefined && tokenPrograms.has(program)) {
    const text = tokenErrors[code];
    if (text !== undefined) return `: ${text}`;
  }
  if (program === systemProgram && code === 1) return ': The account has too few lamports.';
  return '. Its meaning is defined by the program; the logs may have more.';
}

function describeRest(detail: unknown): string {
  return detail === null || detail === undefined
    ? 'The ledger rejected the transaction.'
    : writeJson(detail);
}

/** Returns `InvalidAccountData` as `Invalid account data`. */
function spaced(name: string): string {
  const text = name.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
