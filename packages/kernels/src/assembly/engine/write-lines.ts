// Writes the lines of a response: for each block its header, then for each kind of record the selected rows. `layout/writing.ts` defines
// the tables that the host passes.
import {
  BLOCK_BYTES, BLOCK_FIRST_REWARD, BLOCK_FIRST_TRANSACTION, BLOCK_REWARD_END, BLOCK_TRANSACTION_END, KIND_COUNT, KIND_REWARDS,
  KIND_BYTES, KIND_FLAGS, KIND_LABEL, KIND_LABEL_LENGTH, KIND_MARK, KIND_STARTS, KIND_STEPS, KIND_STEP_COUNT,
  LINES_ALWAYS, LINES_BLOCKS, LINES_FIRST_BLOCK, LINES_HEADERS, LINES_IS_ALL, LINES_MARKS, HEADER_ENTRY_BYTES, HEADER_LENGTH,
  STATE_BLOCK, STATE_IS_IN_ARRAY, STATE_IS_IN_LINE, STATE_KIND, STATE_LAST_LINE, STATE_LINE_COUNT, STATE_ROW,
  STATE_TRANSACTION,
} from '../../layout/writing';
import { touchRows } from './touch-rows';
import { limit, setBlock, setLimit } from './write-context';
import { copyText } from './write-texts';
import { writeRecord } from './write-values';

// Where writing stopped because the buffer was full. `saveState` and `loadState` let queries take turns in the middle of a block.
let stoppedBlock: u32 = 0;
let isInLine: u32 = 0;
let stoppedKind: u32 = 0;
let stoppedTransaction: u32 = 0;
let stoppedRow: u32 = 0;
let stoppedInArray: u32 = 0;
let lineCount: u32 = 0;
let lastLine: u32 = 0;

function saveState(state: usize): void {
  store<u32>(state, stoppedBlock, STATE_BLOCK);
  store<u32>(state, isInLine, STATE_IS_IN_LINE);
  store<u32>(state, stoppedKind, STATE_KIND);
  store<u32>(state, stoppedTransaction, STATE_TRANSACTION);
  store<u32>(state, stoppedRow, STATE_ROW);
  store<u32>(state, stoppedInArray, STATE_IS_IN_ARRAY);
  store<u32>(state, lineCount, STATE_LINE_COUNT);
  store<u32>(state, lastLine, STATE_LAST_LINE);
}

function loadState(state: usize): void {
  stoppedBlock = load<u32>(state, STATE_BLOCK);
  isInLine = load<u32>(state, STATE_IS_IN_LINE);
  stoppedKind = load<u32>(state, STATE_KIND);
  stoppedTransaction = load<u32>(state, STATE_TRANSACTION);
  stoppedRow = load<u32>(state, STATE_ROW);
  stoppedInArray = load<u32>(state, STATE_IS_IN_ARRAY);
  lineCount = load<u32>(state, STATE_LINE_COUNT);
  lastLine = load<u32>(state, STATE_LAST_LINE);
}

let complete: bool = false;
/** Whether a line was not begun because the text of its header is not in memory. The host loads the header and begins the line again. */
let isHeaderMissing: bool = false;

export function takeHeaderMissing(): bool {
  const isMissing = isHeaderMissing;
  isHeaderMissing = false;
  return isMissing;
}

const LINE_START = memory.data<u8>([0x7b, 0x22, 0x68, 0x65, 0x61, 0x64, 0x65, 0x72, 0x22, 0x3a, 0, 0, 0, 0, 0, 0]); // {"header":
const LINE_START_BYTES: u32 = 10;

/**
 * Writes lines, one for each block, from the state's block up to `blockEnd`. Returns where the text ends: at the end of the blocks,
 * after the first line that reaches the goal, where the buffer is full, or before a header or a record with a key whose text is not in memory.
 */
export function writeLines(
  state: usize,
  kinds: usize,
  lines: usize,
  blockEnd: u32,
  out: usize,
  goal: usize,
  outLimit: usize,
): usize {
  loadState(state);
  // Space for the end of a line is always reserved.
  setLimit(outLimit - 16);
  for (; stoppedBlock < blockEnd && out < goal; stoppedBlock++) {
    setBlock(stoppedBlock);
    const block: usize = load<u32>(lines, LINES_BLOCKS) + (stoppedBlock - load<u32>(lines, LINES_FIRST_BLOCK)) * BLOCK_BYTES;
    if (isInLine == 0) {
      if (!hasLine(kinds, lines, block)) continue;
      const started = beginLine(lines, block, out);
      if (started == 0) break;
      out = started;
    }
    if (load<u32>(lines, LINES_MARKS) != 0) {
      out = writeArrays(kinds, load<u32>(lines, LINES_MARKS), block, out);
      if (!complete) break;
    }
    store<u16>(out, 0x0a7d);
    out += 2;
    isInLine = 0;
  }
  saveState(state);
  return out;
}

// @ts-ignore: decorator
@inline
function hasLine(kinds: usize, lines: usize, block: usize): bool {
  if (load<u32>(lines, LINES_IS_ALL) != 0 || stoppedBlock == load<u32>(lines, LINES_ALWAYS)) return true;
  const marks: usize = load<u32>(lines, LINES_MARKS);
  if (marks == 0) return false;
  if (anySet(marks, load<u32>(block, BLOCK_FIRST_TRANSACTION), load<u32>(block, BLOCK_TRANSACTION_END))) return true;
  const rewards: usize = load<u32>(kinds + KIND_REWARDS * KIND_BYTES, KIND_FLAGS);
  return rewards != 0 && anySet(rewards, load<u32>(block, BLOCK_FIRST_REWARD), load<u32>(block, BLOCK_REWARD_END));
}

function beginLine(lines: usize, block: usize, out: usize): usize {
  const entry: usize = load<u32>(lines, LINES_HEADERS) + stoppedBlock * HEADER_ENTRY_BYTES;
  const header: usize = load<u32>(entry);
  if (header == 0) {
    isHeaderMissing = true;
    return 0;
  }
  const length = load<u32>(entry, HEADER_LENGTH);
  if (out + LINE_START_BYTES + length + 64 > limit) return 0;
  v128.store(out, v128.load(LINE_START));
  isInLine = 1;
  lastLine = stoppedBlock;
  lineCount++;
  stoppedKind = 0;
  stoppedTransaction = load<u32>(block, BLOCK_FIRST_TRANSACTION);
  stoppedRow = 0;
  stoppedInArray = 0;
  return copyText(header, length, out + LINE_START_BYTES);
}

/** Returns whether any byte from `first` up to `end` is set. */
function anySet(flags: usize, first: u32, end: u32): bool {
  let at = flags + first;
  const last = flags + end;
  for (; at + 16 <= last; at += 16) if (v128.any_true(v128.load(at))) return true;
  for (; at < last; at++) if (load<u8>(at) != 0) return true;
  return false;
}

/** Writes the arrays of one block: for each kind the flagged rows of its transactions, then the rewards. */
function writeArrays(kinds: usize, marks: usize, block: usize, out: usize): usize {
  complete = true;
  for (; stoppedKind < <u32>KIND_COUNT; stoppedKind++) {
    const kind = kinds + stoppedKind * KIND_BYTES;
    if (load<u32>(kind, KIND_FLAGS) != 0) {
      if (stoppedKind == KIND_REWARDS) {
        out = writeRewards(kind, load<u32>(block, BLOCK_FIRST_REWARD), load<u32>(block, BLOCK_REWARD_END), out);
      } else out = writeTransactionRows(kind, marks, load<u32>(block, BLOCK_TRANSACTION_END), out);
      if (!complete) return out;
      if (stoppedInArray == 1) store<u8>(out - 1, 0x5d);
    }
    stoppedTransaction = load<u32>(block, BLOCK_FIRST_TRANSACTION);
    stoppedRow = 0;
    stoppedInArray = 0;
  }
  return out;
}

/** Opens the array before its first record. A comma follows each record; at the end of the array a bracket replaces the last one. */
// @ts-ignore: decorator
@inline
function openArray(kind: usize, out: usize): usize {
  if (stoppedInArray == 1) return out;
  stoppedInArray = 1;
  return copyText(load<u32>(kind, KIND_LABEL), load<u32>(kind, KIND_LABEL_LENGTH), out);
}

function writeTransactionRows(kind: usize, marks: usize, transactionEnd: u32, out: usize): usize {
  const steps: usize = load<u32>(kind, KIND_STEPS);
  const stepCount = load<u32>(kind, KIND_STEP_COUNT);
  const flags: usize = load<u32>(kind, KIND_FLAGS);
  const starts: usize = load<u32>(kind, KIND_STARTS);
  const bit = load<u32>(kind, KIND_MARK);
  complete = false;
  // Rows that were read ahead before writing stopped are in the cache.
  if (stoppedInArray == 0) touchRows(kind, marks, stoppedTransaction, transactionEnd);
  for (; stoppedTransaction < transactionEnd; stoppedTransaction++) {
    if ((load<u8>(marks + stoppedTransaction) & bit) == 0) continue;
    const isOwn = starts == 0;
    const first = isOwn ? stoppedTransaction : load<u32>(starts + (stoppedTransaction << 2));
    const end = isOwn ? first + 1 : load<u32>(starts + (stoppedTransaction << 2), 4);
    for (let row = first + stoppedRow; row < end; row++) {
      if (load<u8>(flags + row) == 0) continue;
      if (out + 64 > limit) {
        stoppedRow = row - first;
        return out;
      }
      const opened = openArray(kind, out);
      const after = writeRecord(steps, stepCount, stoppedTransaction, row, opened);
      if (after == 0) {
        stoppedRow = row - first;
        return opened;
      }
      store<u8>(after, 0x2c);
      out = after + 1;
    }
    stoppedRow = 0;
  }
  complete = true;
  return out;
}

function writeRewards(kind: usize, rewardFirst: u32, rewardEnd: u32, out: usize): usize {
  const flags: usize = load<u32>(kind, KIND_FLAGS);
  complete = false;
  for (let row = rewardFirst + stoppedRow; row < rewardEnd; row++) {
    if (load<u8>(flags + row) == 0) continue;
    if (out + 64 > limit) {
      stoppedRow = row - rewardFirst;
      return out;
    }
    const opened = openArray(kind, out);
    const after = writeRecord(load<u32>(kind, KIND_STEPS), load<u32>(kind, KIND_STEP_COUNT), 0, row, opened);
    if (after == 0) {
      stoppedRow = row - rewardFirst;
      return opened;
    }
    store<u8>(after, 0x2c);
    out = after + 1;
  }
  complete = true;
  return out;
}
