/** Columns that are made from stored ones when they are loaded. */
import { assert } from '../base/assert.ts';
import type { ColumnName } from '../segment/columns.ts';
import type { GroupEntry } from '../segment/directory.ts';
import type { Segment } from '../segment/open-segment.ts';
import type { LoadedColumn } from './column-cache.ts';
import type { EngineKernel } from './engine-kernel.ts';

export type MadeColumn =
  | 'keyStarts'
  | 'instructionStarts'
  | 'logStarts'
  | 'balanceStarts'
  | 'tokenBalanceStarts'
  | 'lookupStarts'
  | 'signatureStarts'
  | 'accountStarts'
  | 'dataStarts'
  | 'logTextStarts'
  | 'textStarts'
  | 'lookupIndexStarts'
  | 'keys'
  | 'transactionIndexes'
  | 'logIndexes'
  | 'balancePost'
  | 'tokenPostAmount'
  | 'postMint'
  | 'postDecimals'
  | 'postProgram'
  | 'postOwner'
  | 'rewardLamports'
  | 'dataRooms'
  | 'dataPrefixes'
  | 'signatureRooms'
  | 'addressTexts';

/** What makers take from the row group they make columns for. */
export interface ColumnSource {
  readonly kernel: EngineKernel;
  readonly segment: Segment;
  readonly number: number;
  readonly group: GroupEntry;
  stored(name: ColumnName): LoadedColumn;
  made(name: MadeColumn): LoadedColumn;
  borrow<Result>(name: ColumnName, use: (column: LoadedColumn) => Result): Result;
}

interface Made {
  readonly column: LoadedColumn;
  readonly allocation: number;
}

const MAKERS: Readonly<Record<MadeColumn, (group: ColumnSource) => Made>> = {
  // Where each transaction's rows start in the other tables.
  keyStarts: (g) => sumOfCounts(g),
  instructionStarts: (g) => starts(g, 'txInstructionCount'),
  logStarts: (g) => starts(g, 'txLogCount'),
  balanceStarts: (g) => starts(g, 'txBalanceCount'),
  tokenBalanceStarts: (g) => starts(g, 'txTokenBalanceCount'),
  lookupStarts: (g) => starts(g, 'txLookupCount'),
  signatureStarts: (g) => starts(g, 'txSignatureCount'),
  // Where each row's values start.
  accountStarts: (g) => starts(g, 'insAccountCount'),
  dataStarts: (g) => starts(g, 'insDataLength'),
  logTextStarts: (g) => starts(g, 'logLength'),
  textStarts: (g) => starts(g, 'textLength'),
  lookupIndexStarts: (g) => sumOfLookups(g),
  // Dictionary ids.
  keys: (g) => keys(g),
  // Values from differences.
  transactionIndexes: (g) => indexesByBlock(g),
  logIndexes: (g) => sums(g, 'logIndex', g.made('logStarts').at),
  balancePost: (g) => changed(g, 'balPre', 'balChange'),
  tokenPostAmount: (g) => changed(g, 'tokPreAmount', 'tokChange'),
  postMint: (g) => post(g, 'tokPreMint', 'tokPostMint'),
  postDecimals: (g) => post(g, 'tokPreDecimals', 'tokPostDecimals'),
  postProgram: (g) => post(g, 'tokPreProgram', 'tokPostProgram'),
  postOwner: (g) => post(g, 'tokPreOwner', 'tokPostOwner'),
  rewardLamports: (g) => lamports(g),
  // Bytes in room for their text, which the kernel makes when it first writes it.
  dataRooms: (g) => dataRooms(g),
  signatureRooms: (g) => signatureRooms(g),
  dataPrefixes: (g) => dataPrefixes(g),
  // Texts.
  addressTexts: (g) => addressTexts(g),
};

export function makeColumn(group: ColumnSource, name: MadeColumn): Made {
  return MAKERS[name](group);
}

function whole(at: number, width: number, count: number): Made {
  return { column: { at, width, count, starts: 0 }, allocation: at };
}

/** Memory for the time of a use; a damaged column must not leave it taken. */
function withScratch<Result>(
  { kernel }: ColumnSource,
  byteCount: number,
  use: (at: number) => Result,
): Result {
  const at = kernel.allocate(byteCount);
  try {
    return use(at);
  } finally {
    kernel.release(at);
  }
}

function starts(g: ColumnSource, name: ColumnName): Made {
  return g.borrow(name, ({ at: lengths, width, count }) => {
    const at = g.kernel.allocate((count + 1) * 4);
    g.kernel.exports.startsOf(lengths, width, count, at);
    return whole(at, 4, count);
  });
}

/** Starts of ranges whose lengths are the sums of several columns. */
function startsOfSums(g: ColumnSource, names: readonly ColumnName[], count: number): Made {
  const { kernel } = g;
  return withScratch(g, (count + 1) * 4, (lengths) => {
    kernel.bytes.fill(0, lengths, lengths + (count + 1) * 4);
    for (const name of names) {
      g.borrow(name, (column) => kernel.exports.addColumn(column.at, column.width, count, lengths));
    }
    const at = kernel.allocate((count + 1) * 4);
    kernel.exports.startsOf(lengths, 4, count, at);
    return whole(at, 4, count);
  });
}

function sumOfCounts(g: ColumnSource): Made {
  const names = ['txStaticCount', 'txWritableCount', 'txReadonlyCount', 'txOtherCount'] as const;
  return startsOfSums(g, names, g.group.transactionCount);
}

function sumOfLookups(g: ColumnSource): Made {
  const count = g.stored('lookupKey').count;
  return startsOfSums(g, ['lookupReadonlyCount', 'lookupWritableCount'], count);
}

function keys(g: ColumnSource): Made {
  return g.borrow('txKeys', ({ at: codes, width, count }) => {
    const at = g.kernel.allocate(count * 4);
    g.kernel.exports.decodeKeys(codes, width, count, g.group.highestBefore, at);
    return whole(at, 4, count);
  });
}

function sums(g: ColumnSource, name: ColumnName, rangeStarts: number): Made {
  return g.borrow(name, ({ at: steps, width, count }) => {
    const at = g.kernel.allocate(count * 4);
    g.kernel.exports.sumInRanges(steps, width, rangeStarts, g.group.transactionCount, at);
    return whole(at, 4, count);
  });
}

function indexesByBlock(g: ColumnSource): Made {
  const { firstBlock, blockCount } = g.group;
  return withScratch(g, (blockCount + 1) * 4, (starts) => {
    let transaction = 0;
    for (let i = 0; i <= blockCount; i++) {
      g.kernel.ints[starts / 4 + i] = transaction;
      transaction += g.segment.counts[firstBlock + i]?.transactions ?? 0;
    }
    return g.borrow('txIndex', ({ at: steps, width, count }) => {
      const at = g.kernel.allocate(count * 4);
      g.kernel.exports.sumInRanges(steps, width, starts, blockCount, at);
      return whole(at, 4, count);
    });
  });
}

function changed(g: ColumnSource, preName: ColumnName, changeName: ColumnName): Made {
  const pre = g.stored(preName);
  return g.borrow(changeName, (change) => {
    const at = g.kernel.allocate(pre.count * 8);
    g.kernel.exports.applyChanges(pre.at, pre.width, change.at, change.width, pre.count, at);
    return whole(at, 8, pre.count);
  });
}

function lamports(g: ColumnSource): Made {
  return g.borrow('rewLamports', (folded) => {
    const zeros = g.kernel.allocate(folded.count);
    g.kernel.bytes.fill(0, zeros, zeros + folded.count);
    const at = g.kernel.allocate(folded.count * 8);
    g.kernel.exports.applyChanges(zeros, 1, folded.at, folded.width, folded.count, at);
    g.kernel.release(zeros);
    return whole(at, 8, folded.count);
  });
}

function post(g: ColumnSource, preName: ColumnName, postName: ColumnName): Made {
  const pre = g.stored(preName);
  return g.borrow(postName, (codes) => {
    const at = g.kernel.allocate(pre.count * 2);
    g.kernel.exports.resolvePost(pre.at, pre.width, codes.at, codes.width, pre.count, at);
    return whole(at, 2, pre.count);
  });
}

/**
 * Text of unknown length is written into a generous allocation and then moved into one that fits: starts first, text
 * right behind them.
 */
function texts(
  g: ColumnSource,
  rowCount: number,
  bytesMax: number,
  write: (textStarts: number, out: number) => number,
): Made {
  const { kernel } = g;
  const startBytes = (rowCount + 1) * 4;
  const draft = kernel.allocate(startBytes + bytesMax + 64);
  const end = write(draft, draft + startBytes);
  const byteCount = end - draft;
  const at = kernel.allocate(byteCount);
  kernel.bytes.copyWithin(at, draft, draft + byteCount);
  kernel.release(draft);
  const column = { at: at + startBytes, width: 1, count: rowCount, starts: at };
  return { column, allocation: at };
}

/** As `texts.ts` lays it out: 11 bytes for 8, and 8 a row. */
const dataRoomBytes = (byteCount: number, rowCount: number): number =>
  Math.ceil((byteCount * 11) / 8) + rowCount * 8;

function dataRooms(g: ColumnSource): Made {
  const { at: dataStarts, count } = g.made('dataStarts');
  return g.borrow('insData', (data) => {
    const at = g.kernel.allocate(dataRoomBytes(data.count, count));
    g.kernel.exports.dataRooms(data.at, dataStarts, count, at);
    return whole(at, 1, count);
  });
}

function dataPrefixes(g: ColumnSource): Made {
  const { at: dataStarts, count } = g.made('dataStarts');
  return g.borrow('insData', (data) => {
    const at = g.kernel.allocate(count * 16);
    g.kernel.exports.dataPrefixes(data.at, dataStarts, count, at);
    return whole(at, 16, count);
  });
}

const signatureBytes = 64;
const signatureRoomBytes = 96;

function signatureRooms(g: ColumnSource): Made {
  return g.borrow('txSignatures', (bytes) => {
    const count = bytes.count / signatureBytes;
    const at = g.kernel.allocate(count * signatureRoomBytes);
    g.kernel.exports.signatureRooms(bytes.at, count, at);
    return whole(at, signatureRoomBytes, count);
  });
}

/** Deeper than any path the kernel's scratch must hold. */
const depthMax = 4_096;
const digitsMax = 11;

function addressTexts(g: ColumnSource): Made {
  const { kernel } = g;
  const depths = g.stored('insDepth');
  const instructionStarts = g.made('instructionStarts').at;
  if (g.stored('insOddSteps').count > 0) return oddAddressTexts(g);
  const total = sumOf(g, depths);
  const path = kernel.allocate(depthMax * 4);
  const made = texts(g, depths.count, total * digitsMax + depths.count * 2, (textStarts, out) => {
    const end = kernel.exports.addressTexts(
      depths.at,
      depths.width,
      instructionStarts,
      g.group.transactionCount,
      path,
      textStarts,
      out,
    );
    kernel.ints[textStarts / 4 + depths.count] = end - out;
    return end;
  });
  kernel.release(path);
  return made;
}

function sumOf(g: ColumnSource, column: LoadedColumn): number {
  let sum = 0;
  for (let row = 0; row < column.count; row++) sum += intAt(g, column, row);
  return sum;
}

function intAt(g: ColumnSource, { at, width }: LoadedColumn, row: number): number {
  const { bytes } = g.kernel;
  const start = at + row * width;
  let value = 0;
  for (let i = width - 1; i >= 0; i--) value = value * 256 + (bytes[start + i] as number);
  return value;
}

/** Groups with an address that does not follow from the depths are rare enough for plain code. */
function oddAddressTexts(g: ColumnSource): Made {
  const rows = g.segment.readGroup(g.number);
  const depths = rows.insDepth.values;
  const steps = rows.insOddSteps.values;
  const addresses: string[] = [];
  let row = 0;
  let step = 0;
  for (const instructionCount of rows.txInstructionCount.values) {
    let address: number[] = [];
    for (let i = 0; i < instructionCount; i++, row++) {
      const depth = depths[row] as number;
      if (rows.insOdd.values[row] === 1) {
        address = Array.from(steps.subarray(step, step + depth));
        step += depth;
      } else {
        const isDeeper = depth > address.length;
        address = isDeeper ? [...address, 0] : address.slice(0, depth);
        if (!isDeeper) address[depth - 1] = (address[depth - 1] as number) + 1;
      }
      addresses.push(`[${address.join()}]`);
    }
  }
  assert(row === depths.length, 'every instruction belongs to a transaction');
  return texts(
    g,
    row,
    addresses.reduce((sum, text) => sum + text.length, 0),
    (textStarts, out) => {
      const { bytes, ints } = g.kernel;
      let at = out;
      addresses.forEach((text, i) => {
        ints[textStarts / 4 + i] = at - out;
        for (let c = 0; c < text.length; c++) bytes[at++] = text.charCodeAt(c);
      });
      ints[textStarts / 4 + row] = at - out;
      return at;
    },
  );
}
