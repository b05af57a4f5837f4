import type { ByteCursor } from './byte-cursor.ts';

/** The variants of `TransactionError` in the order of their numbers, which never change. */
const transactionErrors = [
  'AccountInUse',
  'AccountLoadedTwice',
  'AccountNotFound',
  'ProgramAccountNotFound',
  'InsufficientFundsForFee',
  'InvalidAccountForFee',
  'AlreadyProcessed',
  'BlockhashNotFound',
  'InstructionError',
  'CallChainTooDeep',
  'MissingSignatureForFee',
  'InvalidAccountIndex',
  'SignatureFailure',
  'InvalidProgramForExecution',
  'SanitizeFailure',
  'ClusterMaintenance',
  'AccountBorrowOutstanding',
  'WouldExceedMaxBlockCostLimit',
  'UnsupportedVersion',
  'InvalidWritableAccount',
  'WouldExceedMaxAccountCostLimit',
  'WouldExceedAccountDataBlockLimit',
  'TooManyAccountLocks',
  'AddressLookupTableNotFound',
  'InvalidAddressLookupTableOwner',
  'InvalidAddressLookupTableData',
  'InvalidAddressLookupTableIndex',
  'InvalidRentPayingAccount',
  'WouldExceedMaxVoteCostLimit',
  'WouldExceedAccountDataTotalLimit',
  'DuplicateInstruction',
  'InsufficientFundsForRent',
  'MaxLoadedAccountsDataSizeExceeded',
  'InvalidLoadedAccountsDataSizeLimit',
  'ResanitizationNeeded',
  'ProgramExecutionTemporarilyRestricted',
  'UnbalancedTransaction',
  'ProgramCacheHitMaxLimit',
  'CommitCancelled',
] as const;

/** The variants of `InstructionError`. */
const instructionErrors = [
  'GenericError',
  'InvalidArgument',
  'InvalidInstructionData',
  'InvalidAccountData',
  'AccountDataTooSmall',
  'InsufficientFunds',
  'IncorrectProgramId',
  'MissingRequiredSignature',
  'AccountAlreadyInitialized',
  'UninitializedAccount',
  'UnbalancedInstruction',
  'ModifiedProgramId',
  'ExternalAccountLamportSpend',
  'ExternalAccountDataModified',
  'ReadonlyLamportChange',
  'ReadonlyDataModified',
  'DuplicateAccountIndex',
  'ExecutableModified',
  'RentEpochModified',
  'NotEnoughAccountKeys',
  'AccountDataSizeChanged',
  'AccountNotExecutable',
  'AccountBorrowFailed',
  'AccountBorrowOutstanding',
  'DuplicateAccountOutOfSync',
  'Custom',
  'InvalidError',
  'ExecutableDataModified',
  'ExecutableLamportChange',
  'ExecutableAccountNotRentExempt',
  'UnsupportedProgramId',
  'CallDepth',
  'MissingAccount',
  'ReentrancyNotAllowed',
  'MaxSeedLengthExceeded',
  'InvalidSeeds',
  'InvalidRealloc',
  'ComputationalBudgetExceeded',
  'PrivilegeEscalation',
  'ProgramEnvironmentSetupFailure',
  'ProgramFailedToComplete',
  'ProgramFailedToCompile',
  'Immutable',
  'IncorrectAuthority',
  'BorshIoError',
  'AccountNotRentExempt',
  'InvalidAccountOwner',
  'ArithmeticOverflow',
  'UnsupportedSysvar',
  'IllegalOwner',
  'MaxAccountsDataAllocationsExceeded',
  'MaxAccountsExceeded',
  'MaxInstructionTraceLengthExceeded',
  'BuiltinProgramsMustConsumeComputeUnits',
] as const;

/** The names of all variants, for the kernel and for the encoder of the tests. */
export const errorVariants = { transactionErrors, instructionErrors };

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
