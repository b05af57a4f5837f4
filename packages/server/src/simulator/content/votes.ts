/** The votes of the validators: the plainest and most frequent of all transactions. */
import type { Address } from '../../ledger/primitives.ts';
import type { AddressBook } from './address-book.ts';
import { type DigitTape, drawData, drawSignature } from './base58-text.ts';
import { VOTE } from './ledger-programs.ts';
import type { Call, LogLine, SimulatedLog, SimulatedTransaction } from './simulated-block.ts';

export const VALIDATOR_COUNT = 1300;
const FAILED_RATE = 0.002;
const FEE = 5000;
const FAILURE = 'custom program error: 0x0';

const LOG = buildLog({ role: 'success', text: VOTE.text.success, caller: 0 });
const FAILED_LOG = buildLog({ role: 'failed', text: VOTE.text.failed + FAILURE, caller: 0 });

export interface VotePlan {
  readonly validator: number;
  readonly recentBlockhash: Address;
}

export function drawVote(book: AddressBook, plan: VotePlan, tape: DigitTape): SimulatedTransaction {
  const { random } = tape;
  const identity = book.address('validator', plan.validator);
  const account = book.address('voteAccount', plan.validator);
  const isFailed = random.chance(FAILED_RATE);
  const kind = VOTE.kinds.draw(random);
  const call: Call = {
    programId: VOTE.id,
    programIndex: 2,
    accounts: [1, 0],
    data: drawData(kind.data, tape),
    depth: 1,
    calls: [],
    ran: true,
  };
  const lamports = 1_000_000_000 + random.below(4_000_000_000) * 16;
  const staked = '27074400';
  return {
    version: 'legacy',
    signatures: [drawSignature(tape)],
    keys: [identity, account, VOTE.id],
    staticCount: 3,
    loadedWritableCount: 0,
    requiredSignatureCount: 1,
    readonlySignedCount: 0,
    readonlyUnsignedCount: 1,
    recentBlockhash: plan.recentBlockhash,
    lookups: [],
    calls: [call],
    error: isFailed ? { variant: 'InstructionError', detail: '[0,{"Custom":0}]' } : null,
    fee: String(FEE),
    computeUnits: '2100',
    preBalances: [String(lamports + FEE), staked, '1'],
    postBalances: [String(lamports), staked, '1'],
    holdings: [],
    log: isFailed ? FAILED_LOG : LOG,
  };
}

function buildLog(end: LogLine): SimulatedLog {
  const lines: LogLine[] = [
    { role: 'invoke', text: VOTE.text.invoke[1] as string, caller: 0 },
    end,
  ];
  const text = JSON.stringify(lines.map((line) => line.text));
  return { form: 'modern', lines, markIndex: lines.length, text, isPlain: true };
}
