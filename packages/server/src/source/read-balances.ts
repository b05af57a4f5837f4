import type { Balance, TokenBalance } from '../ledger/block.ts';
import type { Address } from '../ledger/primitives.ts';
import type { BlockReader, Raw } from './block-reader.ts';
import type { Mutable } from './call-tree.ts';
import { isCount, readU64Text } from './read-integer.ts';

/** Most transactions change a handful of accounts; below this many, inserting in place beats a sort. */
const insertionCountMax = 32;

/** The transaction whose balances are read, its key list, and its `meta`. */
export interface BalanceInput {
  readonly transactionIndex: number;
  readonly keys: readonly Address[];
  readonly meta: Raw<'preBalances' | 'postBalances' | 'preTokenBalances' | 'postTokenBalances'>;
}

/** Appends a record for each account whose native balance changed. */
export function readBalances(reader: BlockReader, input: BalanceInput, balances: Balance[]): void {
  const { keys, meta, transactionIndex } = input;
  const pre = reader.array(meta.preBalances, 'meta.preBalances');
  const post = reader.array(meta.postBalances, 'meta.postBalances');
  if (pre.length !== post.length || post.length > keys.length) reader.refuse('meta.postBalances');
  const first = balances.length;
  for (let i = 0; i < pre.length; i++) {
    const before = pre[i];
    if (before === post[i] && typeof before === 'number' && isCount(before)) continue;
    const preAmount = reader.u64(before, 'meta.preBalances', i);
    const postAmount = reader.u64(post[i], 'meta.postBalances', i);
    if (preAmount === postAmount) continue;
    balances.push({
      transactionIndex,
      account: keys[i] as Address,
      pre: preAmount,
      post: postAmount,
    });
  }
  sortByAccount(balances, first);
}

type RawTokenBalance = Raw<'accountIndex' | 'mint' | 'owner' | 'programId' | 'uiTokenAmount'>;
type Draft = Mutable<TokenBalance>;

const preField = 'meta.preTokenBalances';
const postField = 'meta.postTokenBalances';

/** Appends a record for each token account that either list names. */
export function readTokenBalances(
  reader: BlockReader,
  input: BalanceInput,
  tokenBalances: TokenBalance[],
): void {
  const pre = reader.optionalArray(input.meta.preTokenBalances, preField);
  const post = reader.optionalArray(input.meta.postTokenBalances, postField);
  if (pre.length === 0 && post.length === 0) return;
  const first = tokenBalances.length;
  const records = new Map<number, Draft>();
  for (let i = 0; i < pre.length; i++) {
    const raw = reader.object<keyof RawTokenBalance>(pre[i], preField, i);
    const index = readAccountIndex(reader, raw, input.keys, preField);
    if (records.has(index)) reader.refuse(preField, i);
    const record = newTokenBalance(input.transactionIndex, input.keys[index] as Address);
    readPreSide(reader, raw, record);
    records.set(index, record);
    tokenBalances.push(record);
  }
  for (let i = 0; i < post.length; i++) {
    const raw = reader.object<keyof RawTokenBalance>(post[i], postField, i);
    const index = readAccountIndex(reader, raw, input.keys, postField);
    let record = records.get(index);
    if (record === undefined) {
      record = newTokenBalance(input.transactionIndex, input.keys[index] as Address);
      records.set(index, record);
      tokenBalances.push(record);
    } else if (record.postMint !== null) {
      reader.refuse(postField, i);
    }
    readPostSide(reader, raw, record);
  }
  sortByAccount(tokenBalances, first);
}

function readAccountIndex(
  reader: BlockReader,
  raw: RawTokenBalance,
  keys: readonly Address[],
  field: string,
): number {
  const index = raw.accountIndex;
  if (typeof index === 'number' && isCount(index) && index < keys.length) return index;
  return reader.refuse(`${field}.accountIndex`);
}

function newTokenBalance(transactionIndex: number, account: Address): Draft {
  return {
    transactionIndex,
    account,
    preMint: null,
    postMint: null,
    preDecimals: null,
    postDecimals: null,
    preProgramId: null,
    postProgramId: null,
    preOwner: null,
    postOwner: null,
    preAmount: null,
    postAmount: null,
  };
}

function readPreSide(reader: BlockReader, raw: RawTokenBalance, record: Draft): void {
  record.preMint = reader.address(raw.mint, 'meta.preTokenBalances.mint');
  record.preOwner = readOptionalAddress(reader, raw.owner, 'meta.preTokenBalances.owner');
  record.preProgramId = readOptionalAddress(
    reader,
    raw.programId,
    'meta.preTokenBalances.programId',
  );
  const amount = readUiAmount(reader, raw, preField);
  record.preDecimals = reader.count(amount.decimals, 255, 'meta.preTokenBalances.decimals');
  record.preAmount = readAmount(reader, amount.amount, preField);
}

/** The second side mostly repeats the texts of the first, which are not checked twice. */
function readPostSide(reader: BlockReader, raw: RawTokenBalance, record: Draft): void {
  record.postMint =
    raw.mint === record.preMint && record.preMint !== null
      ? record.preMint
      : reader.address(raw.mint, 'meta.postTokenBalances.mint');
  record.postOwner =
    raw.owner === record.preOwner && record.preOwner !== null
      ? record.preOwner
      : readOptionalAddress(reader, raw.owner, 'meta.postTokenBalances.owner');
  record.postProgramId =
    raw.programId === record.preProgramId && record.preProgramId !== null
      ? record.preProgramId
      : readOptionalAddress(reader, raw.programId, 'meta.postTokenBalances.programId');
  const amount = readUiAmount(reader, raw, postField);
  record.postDecimals = reader.count(amount.decimals, 255, 'meta.postTokenBalances.decimals');
  record.postAmount = readAmount(reader, amount.amount, postField);
}

function readUiAmount(
  reader: BlockReader,
  raw: RawTokenBalance,
  field: string,
): Raw<'amount' | 'decimals'> {
  return reader.object<'amount' | 'decimals'>(raw.uiTokenAmount, `${field}.uiTokenAmount`);
}

function readAmount(reader: BlockReader, value: unknown, field: string): bigint {
  return readU64Text(value) ?? reader.refuse(`${field}.amount`);
}

/** Nodes of 2021 wrote an owner they did not know as empty text. */
function readOptionalAddress(reader: BlockReader, value: unknown, field: string): Address | null {
  if (value === undefined || value === null || value === '') return null;
  return reader.address(value, field);
}

interface OfAccount {
  readonly account: string;
}

function sortByAccount(records: OfAccount[], first: number): void {
  const count = records.length - first;
  if (count < 2) return;
  if (count > insertionCountMax) {
    const sorted = records.slice(first).sort((a, b) => (a.account < b.account ? -1 : 1));
    for (let i = 0; i < count; i++) records[first + i] = sorted[i] as OfAccount;
    return;
  }
  for (let i = first + 1; i < records.length; i++) {
    const record = records[i] as OfAccount;
    let at = i;
    while (at > first && (records[at - 1] as OfAccount).account > record.account) {
      records[at] = records[at - 1] as OfAccount;
      at--;
    }
    records[at] = record;
  }
}
