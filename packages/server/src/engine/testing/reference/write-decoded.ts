/** The decoded form of an instruction or a log, from the records of its block. */
import { decodeBase58 } from '@sluice/base/base58';
import type { IdlRegistry } from '@sluice/decode/idl-registry';
import { describeUnknown, isEventCall, rangeOf } from '@sluice/decode/program-decoder';
import type { Block, Instruction, Log } from '@sluice/ledger/block';
import type { Dialect } from '@sluice/protocol/dialect';

/** What the text of a record depends on besides the record. */
export interface WriteContext {
  readonly dialect: Dialect;
  readonly block: Block;
  readonly idls: IdlRegistry;
}

export function writeDecodedInstruction(instruction: Instruction, context: WriteContext): string {
  const { block, idls } = context;
  const range = rangeOf(bytesOf(instruction));
  const decoder = idls.find(instruction.programId, block.header.number);
  if (decoder === undefined) return describeUnknown(range);
  const accounts = instruction.accounts.map((account) => JSON.stringify(account));
  if (decoder.hasEvents && isEventCall(range)) return decoder.decodeEventCall(range, accounts);
  const events = decoder.hasEvents ? eventsOf(instruction, context) : [];
  const texts = events.map((bytes) => decoder.decodeEvent(rangeOf(bytes)));
  return decoder.decodeInstruction(range, accounts, texts.join());
}

/** Returns the bytes of the events in the log lines of an instruction, then those of its calls to itself. */
function eventsOf(
  { transactionIndex, instructionAddress, programId }: Instruction,
  { block }: WriteContext,
): Uint8Array[] {
  const path = instructionAddress.join();
  const logs = block.logs.filter(
    (log) =>
      log.transactionIndex === transactionIndex &&
      log.kind === 'data' &&
      log.instructionAddress.join() === path,
  );
  const calls = block.instructions.filter(
    (call) =>
      call.transactionIndex === transactionIndex &&
      call.programId === programId &&
      call.instructionAddress.slice(0, -1).join() === path &&
      isEventCall(rangeOf(bytesOf(call))),
  );
  return [...logs.map(messageBytes), ...calls.map((call) => bytesOf(call).subarray(8))];
}

export function writeDecodedLog(log: Log, { block, idls }: WriteContext): string {
  if (log.kind !== 'data') return 'null';
  const decoder = idls.find(log.programId, block.header.number);
  const range = rangeOf(messageBytes(log));
  return decoder === undefined ? describeUnknown(range) : decoder.decodeEvent(range);
}

function bytesOf({ data }: Instruction): Uint8Array {
  return data === '' ? new Uint8Array(0) : (decodeBase58(data) ?? new Uint8Array(0));
}

function messageBytes({ message }: Log): Uint8Array {
  return Buffer.concat(message.split(' ').map((part) => Buffer.from(part, 'base64')));
}
