/**
 * Converts the bytes of a `getBlock` result into records.
 *
 *   bytes ─► size, depth, UTF-8, exact integers ─► header
 *                                                  rewards
 *                                                  per transaction: vote? ─► dropped
 *                                                    message, keys ─► calls ─► log ─► instructions, logs
 *                                                    balances, token balances
 *
 * An invalid value rejects the block with a coded error that contains slot, transaction and field. A log that contradicts its calls
 * is discarded without rejecting the block. The same bytes give the same records.
 */
import { CodedError } from '@sluice/base/errors';
import type { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import type { Block, BlockHeader, Log } from '@sluice/ledger/block';
import type { BlockHash, Slot } from '@sluice/ledger/primitives';
import { type JsonParts, type JsonRefusal, parseExactJson } from '../json/parse-exact-json.ts';
import { LogParser } from '../logs/parse-log.ts';
import { BlockReader, type Raw } from './block-reader.ts';
import { isSurelyVote } from './is-surely-vote.ts';
import { type NormalizeCounts, newCounts } from './normalize-counts.ts';
import { type NormalizeOptions, normalizeDefaults } from './normalize-options.ts';
import { type BlockDraft, normalizeTransaction } from './normalize-transaction.ts';
import { readRewards } from './read-rewards.ts';

export interface NormalizedBlock {
  readonly block: Block;
  readonly counts: NormalizeCounts;
  /** Contains the rows of the transactions that are not in `block`. Valid until the next block. */
  readonly taken?: TransactionKernel;
}

/** The values of a block except its transactions. */
export type BlockFields = Raw<
  'blockhash' | 'previousBlockhash' | 'parentSlot' | 'blockTime' | 'blockHeight' | 'rewards'
>;

/** Servers write 32 zero bytes for an unknown parent hash. */
const unknownHash = '1'.repeat(32);

export const refusalCodes = {
  'not-utf8': 'block-not-utf8',
  'lone-surrogate': 'block-lone-surrogate',
  'too-deep': 'block-too-deep',
  'not-json': 'block-not-json',
} as const satisfies Record<JsonRefusal, string>;

/**
 * `slot` is the requested slot, because a block does not contain its own. With a kernel, the result contains the transactions that
 * the kernel can read as rows, and only the others as records.
 */
export function normalizeBlock(
  slot: Slot,
  bytes: Uint8Array,
  options: Partial<NormalizeOptions> = {},
  kernel?: TransactionKernel,
): NormalizedBlock {
  const settings = completeOptions(slot, bytes, options);
  const json = parseExactJson(bytes, settings.depthMax, kernel?.scan.bind(kernel));
  if (json.kind === 'refused') throw new CodedError(refusalCodes[json.reason], { slot });
  const { parts } = json;
  const reader = new BlockReader(slot, json.mark);
  const raw = reader.object<keyof BlockFields | 'transactions'>(json.value, 'block');
  const normalized = normalizeFields(reader, raw, settings, (draft) => {
    const entries = reader.array(raw.transactions, 'transactions');
    if (parts === null) {
      for (let i = 0; i < entries.length; i++) normalizeTransaction(draft, entries[i], i);
    } else {
      kernel?.begin(settings.votes === 'drop');
      normalizeParts(draft, entries, parts, kernel);
    }
  });
  return kernel === undefined || parts === null ? normalized : { ...normalized, taken: kernel };
}

/** Normalizes a block whose values were read from any format. `addTransactions` appends its transactions to the draft. */
export function normalizeFields(
  reader: BlockReader,
  fields: BlockFields,
  options: NormalizeOptions,
  addTransactions: (draft: BlockDraft) => void,
): NormalizedBlock {
  const header = readHeader(reader, fields);
  const draft = newDraft(reader, options);
  const rewards = readRewards(reader, fields.rewards) ?? noteMissingRewards(draft);
  addTransactions(draft);
  const { transactions, instructions, logs, balances, tokenBalances, counts } = draft;
  const block = { header, transactions, instructions, logs, balances, tokenBalances, rewards };
  return { block, counts };
}

/** Returns the options with defaults for those that are missing or undefined. Throws if the block is larger than they allow. */
export function completeOptions(
  slot: Slot,
  bytes: Uint8Array,
  options: Partial<NormalizeOptions>,
): NormalizeOptions {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const settings: NormalizeOptions = { ...normalizeDefaults, ...Object.fromEntries(given) };
  const { bytesMax } = settings;
  if (bytes.length <= bytesMax) return settings;
  throw new CodedError('block-too-large', { slot, bytes: bytes.length, bytesMax });
}

/** Reads the transactions. Dropped votes and the transactions that the kernel reads are not parsed. */
function normalizeParts(
  draft: BlockDraft,
  elements: readonly unknown[],
  parts: JsonParts,
  kernel: TransactionKernel | undefined,
): void {
  let index = 0;
  for (const element of elements) {
    const range = parts.rangeOf(element);
    if (range === undefined) {
      normalizeTransaction(draft, element, index++);
      continue;
    }
    for (let part = range.first; part < range.last; ) {
      const left = kernel?.takeParts(part, range.last, index) ?? part;
      index += left - part;
      part = left;
      if (part < range.last) normalizePart(draft, parts, part++, index++);
    }
  }
  draft.counts.votesDropped += kernel?.droppedVoteCount ?? 0;
  draft.counts.truncatedLogs += kernel?.truncatedLogCount ?? 0;
}

function normalizePart(draft: BlockDraft, parts: JsonParts, part: number, index: number): void {
  if (draft.options.votes === 'drop' && isSurelyVote(parts.bytesOf(part))) {
    draft.counts.votesDropped++;
    return;
  }
  const entry = parts.read(part);
  if (entry === undefined) {
    throw new CodedError('block-not-json', { slot: draft.reader.slot, transaction: index });
  }
  normalizeTransaction(draft, entry, index);
}

function newDraft(reader: BlockReader, options: NormalizeOptions): BlockDraft {
  const logs: Log[] = [];
  return {
    reader,
    options,
    counts: newCounts(),
    logParser: new LogParser(new Set(options.excusedPrograms), logs),
    transactions: [],
    instructions: [],
    logs,
    balances: [],
    tokenBalances: [],
  };
}

/** Rejects a block without rewards, unless they may be missing: absent is not the same as empty. */
function noteMissingRewards(draft: BlockDraft): [] {
  if (!draft.options.allowMissing.includes('rewards')) {
    throw new CodedError('block-kind-missing', { slot: draft.reader.slot, kind: 'rewards' });
  }
  draft.counts.missingRewards++;
  return [];
}

function readHeader(reader: BlockReader, raw: BlockFields): BlockHeader {
  const { slot } = reader;
  const parentSlot = reader.slotOf(raw.parentSlot, 'parentSlot');
  if (slot === 0 ? parentSlot !== 0 : parentSlot >= slot) {
    throw new CodedError('block-parent-not-below', { slot, parentSlot });
  }
  return {
    number: slot,
    hash: reader.hash(raw.blockhash, 'blockhash'),
    parentSlot,
    parentHash: readParentHash(reader, raw.previousBlockhash),
    height: readHeight(reader, raw.blockHeight),
    timestamp:
      raw.blockTime === undefined || raw.blockTime === null
        ? null
        : reader.i64(raw.blockTime, 'blockTime'),
  };
}

function readParentHash(reader: BlockReader, value: unknown): BlockHash | null {
  // Slot 0 has no parent, even if the source reports one.
  if (reader.slot === 0 || value === undefined || value === null || value === unknownHash) {
    return null;
  }
  return reader.hash(value, 'previousBlockhash');
}

/** If the source does not have the height, it is set when the block is linked. */
function readHeight(reader: BlockReader, value: unknown): number | null {
  if (value !== undefined && value !== null) {
    return reader.count(value, Number.MAX_SAFE_INTEGER, 'blockHeight');
  }
  return reader.slot === 0 ? 0 : null;
}
