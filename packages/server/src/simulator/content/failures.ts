/** How transactions fail: where, with which error, and what is left of the call tree. */
import type { Random } from '../../base/random.ts';
import { type CallDraft, flattenCalls } from './call-draft.ts';
import { Choice } from './distributions.ts';
import type { SimulatedError } from './simulated-block.ts';

interface Cause {
  /** The instruction's error as JSON. */
  readonly detail: string;
  readonly text: string;
  readonly lament?: string;
  /** Raised before the program started, so that it prints nothing. */
  readonly isBeforeInvoke?: boolean;
}

function custom(code: number, lament?: string): Cause {
  const cause = {
    detail: `{"Custom":${code}}`,
    text: `custom program error: 0x${code.toString(16)}`,
  };
  return lament === undefined ? cause : { ...cause, lament };
}

function anchor(code: number, name: string, message: string): Cause {
  return custom(
    code,
    `AnchorError occurred. Error Code: ${name}. Error Number: ${code}. Error Message: ${message}.`,
  );
}

function named(name: string, text: string, isBeforeInvoke = false): Cause {
  return { detail: `"${name}"`, text, ...(isBeforeInvoke && { isBeforeInvoke }) };
}

/** The simplest cause of all, and the only one that programs of the node itself fail with here. */
const SHORT_OF_FUNDS = custom(1, 'Error: insufficient funds');

const CAUSES = new Choice<Cause>([
  [SHORT_OF_FUNDS, 20],
  [anchor(6001, 'SlippageToleranceExceeded', 'Slippage tolerance exceeded'), 25],
  [anchor(6003, 'InvalidState', 'The account is not in the expected state'), 9],
  [custom(0, 'Error: the account is already in use'), 5],
  [custom(17, 'Error: account is frozen'), 2],
  [custom(30, 'Error: exceeds desired slippage limit'), 6],
  [anchor(3012, 'AccountNotInitialized', 'The program expected this account to be initialized'), 5],
  [anchor(6024, 'TooLate', 'The deadline has passed'), 4],
  [custom(4_294_967_295), 1],
  [named('IllegalOwner', 'Provided owner is not allowed'), 5],
  [named('InvalidArgument', 'invalid program argument'), 4],
  [named('ProgramFailedToComplete', 'SBF program panicked'), 3],
  [named('ComputationalBudgetExceeded', 'Computational budget exceeded'), 2],
  [
    {
      detail: '{"BorshIoError":"Unknown"}',
      text: 'Failed to serialize or deserialize account data',
    },
    0.5,
  ],
]);

/** Raised by the runtime before the program that it names was started. */
const BEFORE_INVOKE_TOP = new Choice<Cause>([
  [named('AccountNotExecutable', 'instruction expected an executable account', true), 1],
  [named('UnsupportedProgramId', 'Unsupported program id', true), 1],
  [named('NotEnoughAccountKeys', 'insufficient account keys for instruction', true), 1],
]);
const BEFORE_INVOKE_INNER = new Choice<Cause>([
  [named('CallDepth', 'Cross-program invocation call depth too deep', true), 1],
  [named('MissingAccount', 'An account required by the instruction is missing', true), 1],
  [
    named(
      'ReentrancyNotAllowed',
      'Cross-program invocation reentrancy not allowed for this instruction',
      true,
    ),
    1,
  ],
  [named('MaxInstructionTraceLengthExceeded', 'Max instruction trace length exceeded', true), 1],
]);

/** Nothing runs and only the fee is taken. */
const FEE_ONLY: readonly string[] = [
  'InvalidProgramForExecution',
  'ProgramAccountNotFound',
  'MaxLoadedAccountsDataSizeExceeded',
];

export interface FailureRates {
  /** Shares of the failures; the rest is an instruction's own. */
  readonly feeOnly: number;
  readonly rent: number;
  readonly beforeInvoke: number;
}

/** Decides how a transaction fails, and cuts its call tree to what really ran. Null where nothing in it can fail. */
export function drawFailure(
  calls: readonly CallDraft[],
  rates: FailureRates,
  random: Random,
): SimulatedError | null {
  const choice = random.unit();
  if (choice < rates.feeOnly) {
    for (const call of calls) forget(call);
    return { variant: random.pick(FEE_ONLY), detail: null };
  }
  const candidates = flattenCalls(calls).filter(({ program }) => {
    return program.role !== 'budget' && program.role !== 'silent';
  });
  if (candidates.length === 0) return null;
  // The fee payer is always among the accounts, so its number always points at one.
  if (choice < rates.feeOnly + rates.rent) {
    return { variant: 'InsufficientFundsForRent', detail: '{"account_index":0}' };
  }
  // Programs of the node itself rarely fail when others run beside them.
  const loaded = candidates.filter(({ program }) => !program.isNative);
  const failing = random.pick(loaded.length > 0 && random.chance(0.95) ? loaded : candidates);
  const isBeforeInvoke = choice < rates.feeOnly + rates.rent + rates.beforeInvoke;
  const cause = drawCause(failing, isBeforeInvoke, random);
  const index = cutAfter(calls, failing, cause);
  return { variant: 'InstructionError', detail: `[${index},${cause.detail}]` };
}

function drawCause(failing: CallDraft, isBeforeInvoke: boolean, random: Random): Cause {
  if (isBeforeInvoke) {
    return (failing.depth === 1 ? BEFORE_INVOKE_TOP : BEFORE_INVOKE_INNER).draw(random);
  }
  if (!failing.program.isNative) return CAUSES.draw(random);
  const need = random.between(1_000_000, 4_000_000_000);
  const lament = `Transfer: insufficient lamports ${random.below(need)}, need ${need}`;
  return { ...SHORT_OF_FUNDS, lament };
}

/** Marks the failing call and those that led to it, and removes what would have followed. Returns its top-level index. */
function cutAfter(calls: readonly CallDraft[], failing: CallDraft, cause: Cause): number {
  failing.calls = [];
  const index = calls.findIndex((top) => failAlong(top, failing, cause));
  for (const call of calls.slice(index + 1)) forget(call);
  if (cause.isBeforeInvoke === true) failing.prints = false;
  else if (cause.lament !== undefined) {
    failing.lament = { role: failing.program.isNative ? 'other' : 'log', text: cause.lament };
  }
  return index;
}

function failAlong(call: CallDraft, failing: CallDraft, cause: Cause): boolean {
  if (call !== failing) {
    const index = call.calls.findIndex((inner) => failAlong(inner, failing, cause));
    if (index === -1) return false;
    call.calls.length = index + 1;
  }
  call.failure = cause.text;
  return true;
}

function forget(call: CallDraft): void {
  call.ran = false;
  call.prints = false;
  call.calls = [];
}
