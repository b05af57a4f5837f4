/** Columns that are derived from stored ones, by name. They are valid while the row group is in memory. */
import type { ColumnName } from '../segment/layout/columns.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { Scratch } from './scratch.ts';

/** A column as the kernels use it. */
export interface LoadedColumn {
  readonly at: number;
  readonly width: number;
  readonly count: number;
}

/** Returns columns by name and loads those that are not in memory. */
export interface ColumnReader {
  stored(name: ColumnName): LoadedColumn;
  made(name: MadeColumn): LoadedColumn;
}

/** Provides the stored columns: the pages of a row group in memory. */
interface ColumnSource extends ColumnReader {
  readonly kernel: EngineKernel;
  readonly scratch: Scratch;
  readonly transactionCount: number;
}

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
  | 'messageStarts'
  | 'textStarts'
  | 'lookupIndexStarts'
  | 'logIndexes'
  | 'balancePost'
  | 'tokenPostAmount'
  | 'tokenPostMint'
  | 'tokenPostDecimals'
  | 'tokenPostProgram'
  | 'tokenPostOwner'
  | 'rewardLamports'
  | 'addressTexts'
  | 'addressTextStarts';

const MAKERS: Readonly<Record<MadeColumn, (group: ColumnSource) => LoadedColumn>> = {
  // The start of each transaction's rows in the other tables.
  keyStarts: (g) =>
    startsOfSums(
      g,
      ['txStaticCount', 'txWritableCount', 'txReadonlyCount', 'txOtherCount'],
      g.transactionCount,
    ),
  instructionStarts: (g) => starts(g, 'txInstructionCount'),
  logStarts: (g) => starts(g, 'txLogCount'),
  balanceStarts: (g) => starts(g, 'txBalanceCount'),
  tokenBalanceStarts: (g) => starts(g, 'txTokenBalanceCount'),
  lookupStarts: (g) => starts(g, 'txLookupCount'),
  signatureStarts: (g) => starts(g, 'txSignatureCount'),
  // The start of each row's values.
  accountStarts: (g) => starts(g, 'insAccountCount'),
  dataStarts: (g) => starts(g, 'insDataLength'),
  messageStarts: (g) => starts(g, 'logLength'),
  textStarts: (g) => starts(g, 'textLength'),
  lookupIndexStarts: (g) =>
    startsOfSums(g, ['lookupReadonlyCount', 'lookupWritableCount'], g.stored('lookupKey').count),
  // Columns that are stored as differences to other columns.
  logIndexes: (g) => logIndexes(g),
  balancePost: (g) => changed(g, 'balPre', 'balChange'),
  tokenPostAmount: (g) => changed(g, 'tokPreAmount', 'tokChange'),
  tokenPostMint: (g) => resolved(g, 'tokPreMint', 'tokPostMint'),
  tokenPostDecimals: (g) => resolved(g, 'tokPreDecimals', 'tokPostDecimals'),
  tokenPostProgram: (g) => resolved(g, 'tokPreProgram', 'tokPostProgram'),
  tokenPostOwner: (g) => resolved(g, 'tokPreOwner', 'tokPostOwner'),
  rewardLamports: (g) => lamports(g),
  // Texts of instruction addresses. Creating them also gives their starts.
  addressTexts: (g) => addressTexts(g),
  addressTextStarts: (g) => addressTextStarts(g),
};

export function makeColumn(group: ColumnSource, name: MadeColumn): LoadedColumn {
  return MAKERS[name](group);
}

function starts(g: ColumnSource, name: ColumnName): LoadedColumn {
  const { at: lengths, count } = g.stored(name);
  const at = g.scratch.reserve((count + 1) * 4);
  g.kernel.exports.startsOf(lengths, count, at);
  return { at, width: 4, count };
}

/** Returns the starts of ranges whose lengths are the sums of several columns. */
function startsOfSums(g: ColumnSource, names: readonly ColumnName[], count: number): LoadedColumn {
  const at = g.scratch.reserveZeroed((count + 1) * 4);
  for (const name of names) g.kernel.exports.addColumn(g.stored(name).at, count, at);
  g.kernel.exports.startsOf(at, count, at);
  return { at, width: 4, count };
}

function logIndexes(g: ColumnSource): LoadedColumn {
  const { at: steps, count } = g.stored('logIndex');
  const logStarts = g.made('logStarts').at;
  const at = g.scratch.reserve(count * 4);
  g.kernel.exports.sumInRanges(steps, logStarts, g.transactionCount, at);
  return { at, width: 4, count };
}

function changed(g: ColumnSource, preName: ColumnName, changeName: ColumnName): LoadedColumn {
  const { at: pre, count } = g.stored(preName);
  const { at: change } = g.stored(changeName);
  const at = g.scratch.reserve(count * 8);
  g.kernel.exports.applyChanges(pre, change, count, at);
  return { at, width: 8, count };
}

function lamports(g: ColumnSource): LoadedColumn {
  const { at: folded, count } = g.stored('rewLamports');
  const zeros = g.scratch.reserveZeroed(count * 8);
  const at = g.scratch.reserve(count * 8);
  g.kernel.exports.applyChanges(zeros, folded, count, at);
  return { at, width: 8, count };
}

/** Returns the value after the transaction in the same coding as the value before it: 0 for null, otherwise the value plus one. */
function resolved(g: ColumnSource, preName: ColumnName, postName: ColumnName): LoadedColumn {
  const { at: pre, count } = g.stored(preName);
  const { at: post } = g.stored(postName);
  const at = g.scratch.reserve(count * 4);
  g.kernel.exports.resolvePost(pre, post, count, at);
  return { at, width: 4, count };
}

const digitsMax = 11;

function addressTextStarts(g: ColumnSource): LoadedColumn {
  const { count } = g.stored('insDepth');
  return { at: g.scratch.reserve((count + 1) * 4), width: 4, count };
}

function addressTexts(g: ColumnSource): LoadedColumn {
  const { kernel, scratch } = g;
  const { at: depths, count } = g.stored('insDepth');
  const odd = g.stored('insOdd').at;
  const oddSteps = g.stored('insOddSteps').at;
  const instructionStarts = g.made('instructionStarts').at;
  const textStarts = g.made('addressTextStarts').at;
  const deepest = kernel.exports.highestOf(depths, count);
  const path = scratch.reserve((deepest + 1) * 4);
  const at = scratch.reserve(kernel.exports.sumOf(depths, count) * digitsMax + count * 2);
  const end = kernel.exports.addressTexts(
    depths,
    odd,
    oddSteps,
    instructionStarts,
    g.transactionCount,
    path,
    textStarts,
    at,
  );
  return { at, width: 1, count: end - at };
}
