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
  | 'textStarts'
  | 'lookupIndexStarts'
  | 'keys'
  | 'transactionIndexes'
  | 'logIndexes'
  | 'balancePost'
  | 'tokenPostAmount'
  | 'tokenRows'
  | 'rewardLamports'
  | 'messages'
  | 'dataPool'
  | 'dataSizes'
  | 'dataPrefixes'
  | 'longDataPrefixes'
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
  borrow(name: ColumnName): LoadedColumn;
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
  textStarts: (g) => starts(g, 'textLength'),
  lookupIndexStarts: (g) => sumOfLookups(g),
  // Dictionary ids.
  keys: (g) => keys(g),
  // Values from differences.
  transactionIndexes: (g) => indexesByBlock(g),
  logIndexes: (g) => sums(g, 'logIndex', g.made('logStarts').at),
  balancePost: (g) => changed(g, 'balPre', 'balChange'),
  tokenPostAmount: (g) => changed(g, 'tokPreAmount', 'tokChange'),
  tokenRows: (g) => tokenRows(g),
  rewardLamports: (g) => lamports(g),
  // Bytes in room for their text, which the kernel makes when it first writes it.
  dataPool: (g) => dataPool(g),
  signatureRooms: (g) => signatureRooms(g),
  // What filters see of the data.
  dataSizes: (g) => dataSizes(g),
  dataPrefixes: (g) => dataPrefixes(g, 8),
  longDataPrefixes: (g) => dataPrefixes(g, 16),
  // Texts.
  messages: (g) => messages(g),
  addressTexts: (g) => addressTexts(g),
};

export function makeColumn(group: ColumnSource, name: MadeColumn): Made {
  return MAKERS[name](group);
}

function whole(at: number, width: number, count: number): Made {
  return { column: { at, width, count, offsets: 0 }, allocation: at };
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
  const { at: lengths, width, count } = g.borrow(name);
  const at = g.kernel.allocate((count + 1) * 4);
  g.kernel.exports.startsOf(lengths, width, count, at);
  return whole(at, 4, count);
}

/** The same for as long as something else is made of them. */
function withStarts<Result>(
  g: ColumnSource,
  name: ColumnName,
  use: (starts: number, count: number) => Result,
): Result {
  const { at: lengths, width, count } = g.borrow(name);
  return withScratch(g, (count + 1) * 4, (at) => {
    g.kernel.exports.startsOf(lengths, width, count, at);
    return use(at, count);
  });
}

/** Starts of ranges whose lengths are the sums of several columns. */
function startsOfSums(g: ColumnSource, names: readonly ColumnName[], count: number): Made {
  const { kernel } = g;
  return withScratch(g, (count + 1) * 4, (lengths) => {
    kernel.bytes.fill(0, lengths, lengths + (count + 1) * 4);
    for (const name of names) {
      const { at, width } = g.borrow(name);
      kernel.exports.addColumn(at, width, count, lengths);
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
  const { at: codes, width, count } = g.borrow('txKeys');
  const at = g.kernel.allocate(count * 4);
  g.kernel.exports.decodeKeys(codes, width, count, g.group.highestBefore, at);
  return whole(at, 4, count);
}

const widthOf = (bits: number): 1 | 2 | 4 => (bits < 1 << 8 ? 1 : bits < 1 << 16 ? 2 : 4);

/** A column of values that are made at 32 bits each, as narrow as they allow. */
function narrowed(g: ColumnSource, count: number, make: (draft: number) => void): Made {
  const { kernel } = g;
  return withScratch(g, count * 4, (draft) => {
    make(draft);
    const width = widthOf(kernel.exports.bitsOf(draft, count) >>> 0);
    const at = kernel.allocate(count * width);
    kernel.exports.narrow(draft, count, width, at);
    return whole(at, width, count);
  });
}

function sums(g: ColumnSource, name: ColumnName, rangeStarts: number): Made {
  const { at: steps, width, count } = g.borrow(name);
  const { transactionCount } = g.group;
  return narrowed(g, count, (draft) =>
    g.kernel.exports.sumInRanges(steps, width, rangeStarts, transactionCount, draft),
  );
}

function indexesByBlock(g: ColumnSource): Made {
  const { firstBlock, blockCount } = g.group;
  const { at: steps, width, count } = g.borrow('txIndex');
  return withScratch(g, (blockCount + 1) * 4, (starts) => {
    let transaction = 0;
    for (let i = 0; i <= blockCount; i++) {
      g.kernel.ints[starts / 4 + i] = transaction;
      transaction += g.segment.counts[firstBlock + i]?.transactions ?? 0;
    }
    return narrowed(g, count, (draft) =>
      g.kernel.exports.sumInRanges(steps, width, starts, blockCount, draft),
    );
  });
}

function changed(g: ColumnSource, preName: ColumnName, changeName: ColumnName): Made {
  const pre = g.stored(preName);
  const change = g.borrow(changeName);
  const at = g.kernel.allocate(pre.count * 8);
  g.kernel.exports.applyChanges(pre.at, pre.width, change.at, change.width, pre.count, at);
  return whole(at, 8, pre.count);
}

function lamports(g: ColumnSource): Made {
  const folded = g.borrow('rewLamports');
  return withScratch(g, folded.count, (zeros) => {
    g.kernel.bytes.fill(0, zeros, zeros + folded.count);
    const at = g.kernel.allocate(folded.count * 8);
    g.kernel.exports.applyChanges(zeros, 1, folded.at, folded.width, folded.count, at);
    return whole(at, 8, folded.count);
  });
}

/**
 * The small values of a token balance, side by side: a query takes a few rows here and there, each of which would otherwise be
 * ten places in memory. All sides are coded as the one before is: 0 for null, else the value plus one.
 */
const TOKEN_SIDES = [
  { before: 'preMint', after: 'postMint', pre: 'tokPreMint', post: 'tokPostMint' },
  { before: 'preProgramId', after: 'postProgramId', pre: 'tokPreProgram', post: 'tokPostProgram' },
  { before: 'preOwner', after: 'postOwner', pre: 'tokPreOwner', post: 'tokPostOwner' },
  { before: 'preDecimals', after: 'postDecimals', pre: 'tokPreDecimals', post: 'tokPostDecimals' },
] as const;

const tokenValues = [
  'account',
  'amountNull',
  ...TOKEN_SIDES.flatMap(({ before, after }) => [before, after]),
];

/** How many values a row of `tokenRows` has. */
export const tokenStride = tokenValues.length;

/** Which of them that is. */
export function tokenPlace(name: string): number {
  const place = tokenValues.indexOf(name);
  assert(place >= 0, 'a token balance has such a value');
  return place;
}

function tokenRows(g: ColumnSource): Made {
  const { kernel } = g;
  const account = g.borrow('tokAccount');
  const nulls = g.borrow('tokAmountNull');
  const sides = TOKEN_SIDES.map(({ pre, post, ...names }) => ({
    ...names,
    pre: g.borrow(pre),
    post: g.borrow(post),
  }));
  const widths = sides.flatMap(({ pre, post }) => [pre.width, post.width]);
  const rowWidth = Math.max(account.width, ...widths);
  const { count } = account;
  const at = kernel.allocate(count * tokenStride * rowWidth);
  const put = (column: number, width: number, name: string) =>
    kernel.exports.interleave(column, width, count, tokenPlace(name), rowWidth, tokenStride, at);
  put(account.at, account.width, 'account');
  put(nulls.at, nulls.width, 'amountNull');
  withScratch(g, count * rowWidth, (resolved) => {
    for (const { before, after, pre, post } of sides) {
      put(pre.at, pre.width, before);
      kernel.exports.resolvePost(pre.at, pre.width, post.at, post.width, count, resolved);
      put(resolved, Math.max(pre.width, post.width), after);
    }
  });
  return whole(at, rowWidth, count);
}

/** Rows of bytes, each between two starts. */
interface Rows {
  readonly bytes: number;
  readonly starts: number;
  readonly count: number;
}

/**
 * A pool of rows, made in a generous allocation and moved into one that fits: offsets first, the pool right behind them.
 * The table by which repeated rows are found is at most half full.
 */
function pool(
  g: ColumnSource,
  kind: 'poolTexts' | 'poolData',
  { bytes, starts, count }: Rows,
  bytesMax: number,
): Made {
  const { kernel } = g;
  const tableBytes = 4 * 2 ** Math.ceil(Math.log2(Math.max(8, count * 2)));
  return withScratch(g, tableBytes + count * 4 + bytesMax, (table) => {
    kernel.bytes.fill(0, table, table + tableBytes);
    const offsets = table + tableBytes;
    const draft = offsets + count * 4;
    const mask = tableBytes / 4 - 1;
    const end = kernel.exports[kind](bytes, starts, count, table, mask, offsets, draft);
    const poolBytes = end - draft;
    const width = widthOf(poolBytes);
    const at = kernel.allocate(count * width + poolBytes);
    kernel.exports.narrow(offsets, count, width, at);
    kernel.bytes.copyWithin(at + count * width, draft, end);
    const column = { at: at + count * width, width, count, offsets: at };
    return { column, allocation: at };
  });
}

function messages(g: ColumnSource): Made {
  const texts = g.borrow('logText');
  return withStarts(g, 'logLength', (starts, count) =>
    pool(g, 'poolTexts', { bytes: texts.at, starts, count }, texts.count + count * 4),
  );
}

/** As `pools.ts` lays it out: 11 bytes for 8, and 8 a row. */
function dataPool(g: ColumnSource): Made {
  const data = g.borrow('insData');
  return withStarts(g, 'insDataLength', (starts, count) => {
    const bytesMax = Math.ceil((data.count * 11) / 8) + count * 8;
    return pool(g, 'poolData', { bytes: data.at, starts, count }, bytesMax);
  });
}

function dataSizes(g: ColumnSource): Made {
  const { at: lengths, width, count } = g.borrow('insDataLength');
  const at = g.kernel.allocate(count);
  g.kernel.exports.capBytes(lengths, width, count, at);
  return whole(at, 1, count);
}

function dataPrefixes(g: ColumnSource, width: 8 | 16): Made {
  const data = g.borrow('insData');
  return withStarts(g, 'insDataLength', (starts, count) => {
    const at = g.kernel.allocate(count * width);
    g.kernel.exports.dataPrefixes(data.at, starts, count, width, at);
    return whole(at, width, count);
  });
}

const signatureBytes = 64;
const signatureRoomBytes = 96;

function signatureRooms(g: ColumnSource): Made {
  const bytes = g.borrow('txSignatures');
  const count = bytes.count / signatureBytes;
  const at = g.kernel.allocate(count * signatureRoomBytes);
  g.kernel.exports.signatureRooms(bytes.at, count, at);
  return whole(at, signatureRoomBytes, count);
}

/** Deeper than any path the kernel's scratch must hold. */
const depthMax = 4_096;
const digitsMax = 11;

/** A draft of the texts with where each starts, and of that a pool: there are few different ones. */
function addressTexts(g: ColumnSource): Made {
  const { kernel } = g;
  const depths = g.stored('insDepth');
  const instructionStarts = g.made('instructionStarts').at;
  if (g.stored('insOddSteps').count > 0) return oddAddressTexts(g);
  const { count } = depths;
  const bytesMax = sumOf(g, depths) * digitsMax + count * 2;
  return withDraft(g, count, bytesMax, (starts, bytes) =>
    withScratch(g, depthMax * 4, (path) =>
      kernel.exports.addressTexts(
        depths.at,
        depths.width,
        instructionStarts,
        g.group.transactionCount,
        path,
        starts,
        bytes,
      ),
    ),
  );
}

function withDraft(
  g: ColumnSource,
  count: number,
  bytesMax: number,
  write: (starts: number, bytes: number) => number,
): Made {
  const startBytes = (count + 1) * 4;
  return withScratch(g, startBytes + bytesMax, (starts) => {
    const bytes = starts + startBytes;
    const byteCount = write(starts, bytes) - bytes;
    g.kernel.ints[starts / 4 + count] = byteCount;
    return pool(g, 'poolTexts', { bytes, starts, count }, byteCount + count * 4);
  });
}

function sumOf(g: ColumnSource, { at, width, count }: LoadedColumn): number {
  return withScratch(g, (count + 1) * 4, (starts) =>
    g.kernel.exports.startsOf(at, width, count, starts),
  );
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
  const text = Buffer.from(addresses.join(''), 'latin1');
  return withDraft(g, row, text.length, (starts, bytes) => {
    g.kernel.bytes.set(text, bytes);
    let at = 0;
    addresses.forEach((address, i) => {
      g.kernel.ints[starts / 4 + i] = at;
      at += address.length;
    });
    return bytes + at;
  });
}
