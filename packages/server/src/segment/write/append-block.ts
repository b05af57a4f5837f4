import { assert } from '@sluice/base/assert';
import { base58Codec } from '@sluice/kernels/base58-codec';
import {
  INS_FLAGS_DROPPED_LOGS,
  OUTCOME_COMMITTED,
  OUTCOME_FAILED,
  OUTCOME_UNKNOWN,
} from '@sluice/kernels/layout/columns';
import type { Block, Instruction, Log, TokenBalance, Transaction } from '@sluice/ledger/block';
import { zigzag } from '../encoding/varint.ts';
import { LOG_KIND_CODES } from '../layout/columns.ts';
import type { DictionaryBuilder } from '../layout/dictionary.ts';
import type { GroupRows } from '../layout/row-buffer.ts';
import type { TextTable } from '../layout/text-table.ts';
import { TransactionKeys } from '../layout/transaction-keys.ts';
import type { TakenTransactions } from './taken-transactions.ts';

const signatureBytes = 64;

/** Positions in a block's records while its transactions are appended. */
interface Cursors {
  instruction: number;
  log: number;
  balance: number;
  tokenBalance: number;
}

/** Converts blocks to rows. Holds the dictionary and text table that the rows refer to. */
export class BlockAppender {
  readonly #dictionary: DictionaryBuilder;
  readonly #keys = new TransactionKeys();
  readonly #decoder = base58Codec();

  constructor(dictionary: DictionaryBuilder) {
    this.#dictionary = dictionary;
  }

  /** `taken` has the transactions of the block that are rows already. `block` has the records of the others. */
  append(block: Block, rows: GroupRows, texts: TextTable, taken?: TakenTransactions): void {
    const cursors: Cursors = { instruction: 0, log: 0, balance: 0, tokenBalance: 0 };
    for (const transaction of block.transactions) {
      const { transactionIndex } = transaction;
      taken?.copyBelow(transactionIndex, rows, texts);
      this.#appendTransaction(transaction, rows, texts);
      rows.txIndex.push(transactionIndex);
      this.#appendRecords(block, transactionIndex, cursors, { rows, texts });
      this.#keys.flush(rows);
    }
    taken?.copyBelow(Number.POSITIVE_INFINITY, rows, texts);
    assertAllTaken(block, cursors);
    for (const reward of block.rewards) {
      rows.rewKey.push(this.#dictionary.idOfText(reward.pubKey));
      rows.rewLamports.push(zigzag(reward.lamports));
      rows.rewPostBalance.push(reward.postBalance);
      rows.rewType.push(
        texts.codeOf(reward.rewardType === null ? 'null' : JSON.stringify(reward.rewardType)),
      );
      rows.rewCommission.push(reward.commission === null ? 0 : reward.commission + 1);
    }
  }

  #appendTransaction(transaction: Transaction, rows: GroupRows, texts: TextTable): void {
    const { loadedAddresses, signatures } = transaction;
    this.#keys.begin();
    for (const key of transaction.accountKeys) this.#keys.add(this.#dictionary.idOfText(key));
    for (const key of loadedAddresses.writable) this.#keys.add(this.#dictionary.idOfText(key));
    for (const key of loadedAddresses.readonly) this.#keys.add(this.#dictionary.idOfText(key));
    this.#keys.endOfListed();
    rows.txVersion.push(transaction.version + 1);
    rows.txRequiredSignatures.push(transaction.numRequiredSignatures);
    rows.txReadonlySigned.push(transaction.numReadonlySignedAccounts);
    rows.txReadonlyUnsigned.push(transaction.numReadonlyUnsignedAccounts);
    rows.txStaticCount.push(transaction.accountKeys.length);
    rows.txWritableCount.push(loadedAddresses.writable.length);
    rows.txReadonlyCount.push(loadedAddresses.readonly.length);
    rows.txBlockhash.push(this.#position(transaction.recentBlockhash));
    rows.txSignatureCount.push(signatures.length);
    for (const signature of signatures) {
      const length = this.#decoder.decode(signature);
      assert(length === signatureBytes, 'signatures are base58 of 64 bytes');
      rows.txSignatures.append(this.#decoder.bytes.subarray(0, length));
    }
    rows.txErr.push(texts.codeOf(transaction.err ?? 'null'));
    rows.txFee.push(transaction.fee ?? 0n);
    rows.txFeeNull.push(transaction.fee === null ? 1 : 0);
    rows.txUnits.push(transaction.computeUnitsConsumed ?? 0n);
    rows.txUnitsNull.push(transaction.computeUnitsConsumed === null ? 1 : 0);
    rows.txDropped.push(transaction.hasDroppedLogMessages ? 1 : 0);
    rows.txLookupCount.push(transaction.addressTableLookups.length);
    for (const lookup of transaction.addressTableLookups) {
      rows.lookupKey.push(this.#position(lookup.accountKey));
      rows.lookupReadonlyCount.push(lookup.readonlyIndexes.length);
      rows.lookupWritableCount.push(lookup.writableIndexes.length);
      for (const index of lookup.readonlyIndexes) rows.lookupIndexes.push(index);
      for (const index of lookup.writableIndexes) rows.lookupIndexes.push(index);
    }
  }

  #appendRecords(
    block: Block,
    transactionIndex: number,
    cursors: Cursors,
    { rows, texts }: { rows: GroupRows; texts: TextTable },
  ): void {
    const firstInstruction = cursors.instruction;
    let address: readonly number[] = [];
    for (
      let next = block.instructions[cursors.instruction];
      next?.transactionIndex === transactionIndex;
    ) {
      this.#appendInstruction(next, address, rows, texts);
      address = next.instructionAddress;
      next = block.instructions[++cursors.instruction];
    }
    const instructions = block.instructions.slice(firstInstruction, cursors.instruction);
    rows.txInstructionCount.push(instructions.length);
    rows.txLogCount.push(
      this.#appendLogs(block, transactionIndex, cursors, { rows, instructions }),
    );
    rows.txBalanceCount.push(this.#appendBalances(block, transactionIndex, cursors, rows));
    const firstTokenBalance = cursors.tokenBalance;
    for (
      let next = block.tokenBalances[firstTokenBalance];
      next?.transactionIndex === transactionIndex;
    ) {
      this.#appendTokenBalance(next, rows);
      next = block.tokenBalances[++cursors.tokenBalance];
    }
    rows.txTokenBalanceCount.push(cursors.tokenBalance - firstTokenBalance);
  }

  #appendInstruction(
    instruction: Instruction,
    before: readonly number[],
    rows: GroupRows,
    texts: TextTable,
  ): void {
    const address = instruction.instructionAddress;
    const isIrregular = !followsFrom(before, address);
    rows.insDepth.push(address.length);
    rows.insOdd.push(isIrregular ? address.length : 0);
    if (isIrregular) for (const step of address) rows.insOddSteps.push(step);
    rows.insProgram.push(this.#position(instruction.programId));
    rows.insAccountCount.push(instruction.accounts.length);
    for (const account of instruction.accounts) rows.insAccounts.push(this.#position(account));
    const dataLength = this.#decoder.decode(instruction.data);
    assert(dataLength >= 0, "an instruction's data is base58");
    rows.insDataLength.push(dataLength);
    rows.insData.append(this.#decoder.bytes.subarray(0, dataLength));
    rows.insError.push(
      texts.codeOf(instruction.error === null ? 'null' : JSON.stringify(instruction.error)),
    );
    rows.insUnits.push(instruction.computeUnitsConsumed ?? 0n);
    rows.insUnitsNull.push(instruction.computeUnitsConsumed === null ? 1 : 0);
    const dropped = instruction.hasDroppedLogMessages ? INS_FLAGS_DROPPED_LOGS : 0;
    rows.insFlags.push(outcomeOf(instruction) | dropped);
  }

  #appendLogs(
    block: Block,
    transactionIndex: number,
    cursors: Cursors,
    { rows, instructions }: { rows: GroupRows; instructions: readonly Instruction[] },
  ): number {
    const first = cursors.log;
    let indexBefore = 0;
    let row = 0;
    for (let next = block.logs[first]; next?.transactionIndex === transactionIndex; ) {
      row = findInstructionRow(instructions, next, row);
      rows.logIndex.push(next.logIndex - indexBefore);
      indexBefore = next.logIndex;
      rows.logInstruction.push(row);
      rows.logProgram.push(this.#position(next.programId));
      rows.logKind.push(LOG_KIND_CODES[next.kind]);
      rows.logLength.push(rows.logText.appendText(escapeText(next.message)));
      next = block.logs[++cursors.log];
    }
    return cursors.log - first;
  }

  #appendBalances(
    block: Block,
    transactionIndex: number,
    cursors: Cursors,
    rows: GroupRows,
  ): number {
    const first = cursors.balance;
    for (let next = block.balances[first]; next?.transactionIndex === transactionIndex; ) {
      rows.balAccount.push(this.#position(next.account));
      rows.balPre.push(next.pre);
      rows.balChange.push(zigzag(next.post - next.pre));
      next = block.balances[++cursors.balance];
    }
    return cursors.balance - first;
  }

  #appendTokenBalance(balance: TokenBalance, rows: GroupRows): void {
    rows.tokAccount.push(this.#position(balance.account));
    const sides = (pre: string | null, post: string | null): [number, number] =>
      codeSides(
        pre === null ? null : this.#position(pre),
        post === null ? null : this.#position(post),
      );
    const [preMint, postMint] = sides(balance.preMint, balance.postMint);
    rows.tokPreMint.push(preMint);
    rows.tokPostMint.push(postMint);
    const [preDecimals, postDecimals] = codeSides(balance.preDecimals, balance.postDecimals);
    rows.tokPreDecimals.push(preDecimals);
    rows.tokPostDecimals.push(postDecimals);
    const [preProgram, postProgram] = sides(balance.preProgramId, balance.postProgramId);
    rows.tokPreProgram.push(preProgram);
    rows.tokPostProgram.push(postProgram);
    const [preOwner, postOwner] = sides(balance.preOwner, balance.postOwner);
    rows.tokPreOwner.push(preOwner);
    rows.tokPostOwner.push(postOwner);
    const { preAmount, postAmount } = balance;
    rows.tokAmountNull.push((preAmount === null ? 1 : 0) | (postAmount === null ? 2 : 0));
    rows.tokPreAmount.push(preAmount ?? 0n);
    rows.tokChange.push(postAmount === null ? 0n : zigzag(postAmount - (preAmount ?? 0n)));
  }

  #position(text: string): number {
    return this.#keys.positionOf(this.#dictionary.idOfText(text));
  }
}

function codeSides(pre: number | null, post: number | null): [number, number] {
  const preCode = pre === null ? 0 : pre + 1;
  if (post === null) return [preCode, 0];
  return [preCode, post === pre ? 1 : post + 2];
}

function outcomeOf({ isCommitted }: Instruction): number {
  if (isCommitted === null) return OUTCOME_UNKNOWN;
  return isCommitted ? OUTCOME_COMMITTED : OUTCOME_FAILED;
}

/** Returns whether the address follows from the previous address and its own depth in pre-order. */
function followsFrom(before: readonly number[], address: readonly number[]): boolean {
  const depth = address.length;
  if (depth > before.length + 1 || depth === 0) return false;
  for (let i = 0; i < depth - 1; i++) if (address[i] !== before[i]) return false;
  return address[depth - 1] === (depth <= before.length ? (before[depth - 1] as number) + 1 : 0);
}

/** Consecutive logs are usually of the same or a near instruction, so the search starts there. */
function findInstructionRow(instructions: readonly Instruction[], log: Log, near: number): number {
  const matches = (row: number): boolean => {
    const address = instructions[row]?.instructionAddress;
    if (address === undefined || address.length !== log.instructionAddress.length) return false;
    return address.every((step, i) => step === log.instructionAddress[i]);
  };
  for (let row = near; row < instructions.length; row++) if (matches(row)) return row;
  const row = instructions.findIndex((_, index) => matches(index));
  assert(row >= 0, 'the instruction of every log is in its block');
  return row;
}

/** Returns the text as a JSON string without the quotes. */
function escapeText(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === 0x22 || code === 0x5c) return JSON.stringify(text).slice(1, -1);
  }
  return text;
}

function assertAllTaken(block: Block, cursors: Cursors): void {
  const isWhole =
    cursors.instruction === block.instructions.length &&
    cursors.log === block.logs.length &&
    cursors.balance === block.balances.length &&
    cursors.tokenBalance === block.tokenBalances.length;
  assert(isWhole, 'records are sorted and belong to a transaction of their block');
}
