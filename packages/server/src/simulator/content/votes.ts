/** The votes of the validators: the plainest and most frequent of all transactions. */
import type { Random } from '../../base/random.ts';
import type { Address } from '../../ledger/primitives.ts';
import type { AddressBook } from './address-book.ts';
import { drawData, drawSignature } from './base58-text.ts';
import { createCall } from './call-draft.ts';
import { VOTE } from './ledger-programs.ts';
import type { LogLine, SimulatedTransaction } from './simulated-block.ts';

export const VALIDATOR_COUNT = 1300;
const FAILED_RATE = 0.002;
const FEE = 5000;
const FAILURE = 'custom program error: 0x0';

export interface VotePlan {
  readonly validator: number;
  readonly recentBlockhash: Address;
}

export function drawVote(book: AddressBook, plan: VotePlan, random: Random): SimulatedTransaction {
  const identity = book.address('validator', plan.validator);
  const account = book.address('vote-account', plan.validator);
  const call = createCall(VOTE, VOTE.kinds.draw(random), 1);
  call.programIndex = 2;
  call.accounts = [1, 0];
  call.data = drawData(call.kind.data, random);
  const isFailed = random.chance(FAILED_RATE);
  const end: LogLine = isFailed
    ? { role: 'failed', text: VOTE.text.failed + FAILURE, call }
    : { role: 'success', text: VOTE.text.success, call };
  const lines: LogLine[] = [{ role: 'invoke', text: VOTE.text.invoke[1] as string, call }, end];
  const lamports = 1_000_000_000 + random.below(4_000_000_000) * 16;
  const staked = '27074400';
  return {
    version: 'legacy',
    signatures: [drawSignature(random)],
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
    log: { form: 'modern', lines, markIndex: lines.length, isPlain: true },
  };
}
