import { instructionErrors, transactionErrors } from '@sluice/grpc/error-variants';
import type { ByteCursor } from './byte-cursor.ts';

/**
 * Reads a `TransactionError` in bincode and returns it as `getBlock` writes it. `BorshIoError` had a text until it became a plain variant:
 * if `isAlone`, the error is all that is left of the bytes, so the text is there unless they end; otherwise it always is, because only old
 * metadata has an error in front of other values.
 */
export function readTransactionError(cursor: ByteCursor, isAlone: boolean): unknown {
  const name = readVariant(cursor, transactionErrors);
  switch (name) {
    case 'InstructionError': {
      const index = cursor.u8();
      return { [name]: [index, readInstructionError(cursor, isAlone)] };
    }
    case 'DuplicateInstruction':
      return { [name]: cursor.u8() };
    case 'InsufficientFundsForRent':
    case 'ProgramExecutionTemporarilyRestricted':
      return { [name]: { account_index: cursor.u8() } };
    default:
      return name;
  }
}

function readInstructionError(cursor: ByteCursor, isAlone: boolean): unknown {
  const name = readVariant(cursor, instructionErrors);
  if (name === 'Custom') return { [name]: cursor.u32() };
  if (name !== 'BorshIoError' || (isAlone && cursor.isAtEnd)) return name;
  return { [name]: cursor.text(cursor.length64()) };
}

function readVariant<Name extends string>(cursor: ByteCursor, names: readonly Name[]): Name {
  const start = cursor.at;
  const number = cursor.u32();
  return names[number] ?? cursor.fail(`an error of the unknown number ${number}`, start);
}
