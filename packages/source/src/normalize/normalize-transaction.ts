import { CodedError } from '@sluice/base/errors';
import type { Balance, Instruction, Log, TokenBalance, Transaction } from '@sluice/ledger/block';
import type { Address } from '@sluice/ledger/primitives';
import { memberOf } from '@sluice/protocol/unknown-value';
import type { CallTree } from '../logs/call-tree.ts';
import type { LogParser } from '../logs/parse-log.ts';
import type { BlockReader, Raw } from './block-reader.ts';
import { encodeError } from './encode-error.ts';
import { countOutcome, type NormalizeCounts } from './normalize-counts.ts';
import type { NormalizeOptions } from './normalize-options.ts';
import { readBalances, readTokenBalances } from './read-balances.ts';
import { readCalls } from './read-calls.ts';
import {
  isVote,
  keyListOf,
  type RawMessage,
  type RawTransaction,
  readLoadedAddresses,
  readLookups,
  readSignatures,
  readVersion,
} from './read-message.ts';

/** The records of a block while they are collected, and the tools for it. */
export interface BlockDraft {
  readonly reader: BlockReader;
  readonly options: NormalizeOptions;
  readonly counts: NormalizeCounts;
  readonly logParser: LogParser;
  readonly transactions: Transaction[];
  readonly instructions: Instruction[];
  readonly logs: Log[];
  readonly balances: Balance[];
  readonly tokenBalances: TokenBalance[];
}

type RawMeta = Raw<
  | 'err'
  | 'fee'
  | 'preBalances'
  | 'postBalances'
  | 'innerInstructions'
  | 'logMessages'
  | 'preTokenBalances'
  | 'postTokenBalances'
  | 'loadedAddresses'
  | 'computeUnitsConsumed'
>;

/** The newest known version of transactions. */
const versionKnownMax = 1;

/** Appends the records of one transaction to the draft. */
export function normalizeTransaction(draft: BlockDraft, entry: unknown, index: number): void {
  const { reader } = draft;
  reader.transaction = index;
  if (draft.options.votes === 'drop' && isVote(entry)) {
    draft.counts.votesDropped++;
    return;
  }
  const raw: RawTransaction = reader.object(entry, 'transaction');
  const body = reader.object<'signatures' | 'message'>(raw.transaction, 'transaction');
  const message: RawMessage = reader.object(body.message, 'transaction.message');
  const meta = readMeta(draft, raw.meta);
  const accountKeys = reader.addresses(message.accountKeys, 'message.accountKeys');
  if (accountKeys.length === 0) {
    reader.refuse('message.accountKeys', accountKeys, 'at least one key');
  }
  const addressTableLookups = readLookups(reader, message.addressTableLookups);
  const loadedAddresses = readLoadedAddresses(reader, meta?.loadedAddresses, addressTableLookups);
  const version = readVersion(reader, raw.version, addressTableLookups.length > 0);
  if (version > versionKnownMax) draft.counts.unknownVersions++;
  const header = reader.object<
    'numRequiredSignatures' | 'numReadonlySignedAccounts' | 'numReadonlyUnsignedAccounts'
  >(message.header, 'message.header');
  const keys = keyListOf(accountKeys, loadedAddresses);
  const err = readErr(reader, meta?.err);
  const hasDroppedLogMessages =
    meta === null
      ? addCallsWithoutMeta(draft, message, keys)
      : addMetaRecords(draft, { message, meta, keys, isVote: isVote(entry) });
  draft.transactions.push({
    transactionIndex: index,
    version,
    accountKeys,
    addressTableLookups,
    numReadonlySignedAccounts: reader.count(
      header.numReadonlySignedAccounts,
      255,
      'message.header.numReadonlySignedAccounts',
    ),
    numReadonlyUnsignedAccounts: reader.count(
      header.numReadonlyUnsignedAccounts,
      255,
      'message.header.numReadonlyUnsignedAccounts',
    ),
    numRequiredSignatures: reader.count(
      header.numRequiredSignatures,
      255,
      'message.header.numRequiredSignatures',
    ),
    recentBlockhash: reader.address(message.recentBlockhash, 'message.recentBlockhash'),
    signatures: readSignatures(reader, body.signatures),
    err,
    fee: meta === null ? null : reader.u64(meta.fee, 'meta.fee'),
    computeUnitsConsumed: readUnits(reader, meta),
    loadedAddresses,
    hasDroppedLogMessages,
  });
}

/** Returns null for a transaction without `meta`, if that is allowed. */
function readMeta(draft: BlockDraft, value: unknown): RawMeta | null {
  const { reader } = draft;
  if (value !== undefined && value !== null) return reader.object(value, 'meta');
  if (!draft.options.metaOptional) {
    throw new CodedError('block-meta-missing', reader.detail('meta'));
  }
  draft.counts.missingMeta++;
  return null;
}

function readErr(reader: BlockReader, err: unknown): string | null {
  if (err === undefined || err === null) return null;
  return (
    encodeError(err, reader.mark) ?? reader.refuse('meta.err', err, 'null, a text or an object')
  );
}

function readUnits(reader: BlockReader, meta: RawMeta | null): bigint | null {
  const units = meta?.computeUnitsConsumed;
  if (units === undefined || units === null) return null;
  return reader.u64(units, 'meta.computeUnitsConsumed');
}

/** Returns true, because the log of a transaction without `meta` is unknown. */
function addCallsWithoutMeta(
  draft: BlockDraft,
  message: RawMessage,
  keys: readonly Address[],
): boolean {
  const tree = readCalls(draft.reader, { message, keys, inner: null, isCommitted: null });
  addCalls(draft, tree);
  for (const [top, call] of tree.calls.entries()) {
    call.instructionAddress = [top];
    call.hasDroppedLogMessages = true;
  }
  return true;
}

interface MetaInput {
  readonly message: RawMessage;
  readonly meta: RawMeta;
  readonly keys: readonly Address[];
  readonly isVote: boolean;
}

/** Returns whether the log of the transaction is incomplete. */
function addMetaRecords(draft: BlockDraft, input: MetaInput): boolean {
  const { reader, counts } = draft;
  const { message, meta, keys } = input;
  const isCommitted = meta.err === undefined || meta.err === null;
  const tree = readCalls(reader, { message, keys, inner: meta.innerInstructions, isCommitted });
  const lines = readLines(reader, meta.logMessages);
  if (lines === null && isCommitted && !input.isVote) noteMissingLog(draft);
  const outcome = draft.logParser.parse({
    transactionIndex: reader.transaction,
    tree,
    lines,
    ...findFailure(meta.err, tree, lines),
  });
  countOutcome(counts, outcome);
  addCalls(draft, tree);
  const balanceInput = { transactionIndex: reader.transaction, keys, meta };
  readBalances(reader, balanceInput, draft.balances);
  readTokenBalances(reader, balanceInput, draft.tokenBalances);
  return outcome.hasDroppedLogMessages;
}

function readLines(reader: BlockReader, value: unknown): readonly string[] | null {
  if (value === undefined || value === null) return null;
  const lines = reader.array(value, 'meta.logMessages');
  for (let i = 0; i < lines.length; i++) reader.text(lines[i], 'meta.logMessages', i);
  return lines as readonly string[];
}

/** Handles a successful transaction without a log. Every such transaction has one, possibly empty, so the source lost it. */
function noteMissingLog(draft: BlockDraft): void {
  if (!draft.options.allowMissing.includes('logs')) {
    const { slot, transaction } = draft.reader;
    throw new CodedError('block-kind-missing', { slot, transaction, kind: 'logs' });
  }
  draft.counts.missingLogs++;
}

function addCalls(draft: BlockDraft, tree: CallTree): void {
  for (const call of tree.calls) draft.instructions.push(call);
}

/** Errors that are raised before the program is invoked, so that its call prints no line. */
const errorsBeforeInvoke = new Set([
  'AccountNotExecutable',
  'CallDepth',
  'MissingAccount',
  'NotEnoughAccountKeys',
  'ReentrancyNotAllowed',
  'UnsupportedProgramId',
  'MaxInstructionTraceLengthExceeded',
]);

interface Failure {
  /** The top-level instruction that failed; later ones did not run. -1 if none ran, their number if all ran. */
  readonly failed: number;
  readonly failedBeforeInvoke: boolean;
}

/** Determines from the `err` of a transaction which instructions ran. */
function findFailure(err: unknown, tree: CallTree, lines: readonly string[] | null): Failure {
  const topCount = tree.starts.length - 1;
  if (err === undefined || err === null) return { failed: topCount, failedBeforeInvoke: false };
  const cause = memberOf(err, 'InstructionError');
  if (Array.isArray(cause) && Number.isSafeInteger(cause[0]) && cause[0] >= 0) {
    return { failed: cause[0], failedBeforeInvoke: errorsBeforeInvoke.has(cause[1]) };
  }
  // Another kind of error occurs before the first instruction or after the last one.
  const hasRun = (lines !== null && lines.length > 0) || tree.calls.length > topCount;
  return { failed: hasRun ? topCount : -1, failedBeforeInvoke: false };
}
