import { elementAt } from '@sluice/base/element-at';
import type { Balance, TokenBalance } from '@sluice/ledger/block';
import type { Address } from '@sluice/ledger/primitives';
import { isCount, readU64Text } from '../json/read-integer.ts';
import type { Mutable } from '../logs/call-tree.ts';
import type { BlockReader, Raw } from './block-reader.ts';

/** Up to this number of accounts, insertion is faster than sorting. Most transactions change only a few. */
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
  if (pre.length !== post.length || post.length > keys.length) {
    const expected = `${pre.length} values like preBalances, and at most ${keys.length}, one a key`;
    reader.refuse('meta.postBalances', post, expected);
  }
  const first = balances.length;
  for (let i = 0; i < pre.length; i++) {
    const before = pre[i];
    if (before === post[i] && typeof before === 'number' && isCount(before)) continue;
    const preAmount = reader.u64(before, 'meta.preBalances', i);
    const postAmount = reader.u64(post[i], 'meta.postBalances', i);
    if (preAmount === postAmount) continue;
    balances.push({
      transactionIndex,
      account: elementAt(keys, i),
      pre: preAmount,
      post: postAmount,
    });
  }
  sortByAccount(balances, first);
}

type RawTokenBalance = Raw<'accountIndex' | 'mint' | 'owner' | 'programId' | 'uiTokenAmount'>;
type Draft = Mutable<TokenBalance>;

interface SideFields {
  readonly list: string;
  readonly accountIndex: string;
  readonly mint: string;
  readonly owner: string;
  readonly programId: string;
  readonly uiTokenAmount: string;
  readonly decimals: string;
  readonly amount: string;
}

function fieldsOf(list: string): SideFields {
  return {
    list,
    accountIndex: `${list}.accountIndex`,
    mint: `${list}.mint`,
    owner: `${list}.owner`,
    programId: `${list}.programId`,
    uiTokenAmount: `${list}.uiTokenAmount`,
    decimals: `${list}.decimals`,
    amount: `${list}.amount`,
  };
}

const preFields = fieldsOf('meta.preTokenBalances');
const postFields = fieldsOf('meta.postTokenBalances');
const noSide: readonly RawTokenBalance[] = [];

/** Appends a record for each token account that either list names. */
export function readTokenBalances(
  reader: BlockReader,
  input: BalanceInput,
  tokenBalances: TokenBalance[],
): void {
  const { keys, meta, transactionIndex } = input;
  const pre = readSide(reader, meta.preTokenBalances, preFields, keys.length);
  const post = readSide(reader, meta.postTokenBalances, postFields, keys.length);
  const first = tokenBalances.length;
  // Both lists are in the order of the keys, so one pass merges them.
  for (let i = 0, j = 0; i < pre.length || j < post.length; ) {
    const preIndex = pre[i]?.accountIndex ?? keys.length;
    const postIndex = post[j]?.accountIndex ?? keys.length;
    const index = Math.min(preIndex as number, postIndex as number);
    const record = newTokenBalance(transactionIndex, elementAt(keys, index));
    if (preIndex === index) readPreSide(reader, pre[i++] as RawTokenBalance, record);
    if (postIndex === index) readPostSide(reader, post[j++] as RawTokenBalance, record);
    tokenBalances.push(record);
  }
  sortByAccount(tokenBalances, first);
}

/** Reads one list in the order of the keys, each account once. The source usually sends it in this order. */
function readSide(
  reader: BlockReader,
  value: unknown,
  fields: SideFields,
  keyCount: number,
): readonly RawTokenBalance[] {
  if (value === undefined || value === null) return noSide;
  const list = reader.array(value, fields.list) as readonly RawTokenBalance[];
  let previous = -1;
  let isAscending = true;
  for (let i = 0; i < list.length; i++) {
    const index = reader.object<'accountIndex'>(list[i], fields.list, i).accountIndex;
    if (typeof index !== 'number' || !isCount(index) || index >= keyCount) {
      reader.refuse(fields.accountIndex, index, `the index of one of the ${keyCount} keys`, i);
    }
    if (index <= previous) isAscending = false;
    previous = index;
  }
  return isAscending ? list : sortSide(reader, list, fields);
}

function sortSide(
  reader: BlockReader,
  list: readonly RawTokenBalance[],
  fields: SideFields,
): readonly RawTokenBalance[] {
  const sorted = list.toSorted((a, b) => (a.accountIndex as number) - (b.accountIndex as number));
  for (let i = 1; i < sorted.length; i++) {
    // It is unknown which of two entries for an account is right.
    const index = sorted[i]?.accountIndex;
    if (index === sorted[i - 1]?.accountIndex) {
      reader.refuse(fields.list, `account ${index} twice`, 'each account once', i);
    }
  }
  return sorted;
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
  record.preMint = reader.address(raw.mint, preFields.mint);
  record.preOwner = readOptionalAddress(reader, raw.owner, preFields.owner);
  record.preProgramId = readOptionalAddress(reader, raw.programId, preFields.programId);
  const amount = readUiAmount(reader, raw, preFields);
  record.preDecimals = reader.count(amount.decimals, 255, preFields.decimals);
  record.preAmount = readAmount(reader, amount.amount, preFields);
}

/** Reads the second side. Texts that are equal to those of the first side are not checked again. */
function readPostSide(reader: BlockReader, raw: RawTokenBalance, record: Draft): void {
  const { preMint, preOwner, preProgramId } = record;
  record.postMint =
    preMint !== null && raw.mint === preMint ? preMint : reader.address(raw.mint, postFields.mint);
  record.postOwner =
    preOwner !== null && raw.owner === preOwner
      ? preOwner
      : readOptionalAddress(reader, raw.owner, postFields.owner);
  record.postProgramId =
    preProgramId !== null && raw.programId === preProgramId
      ? preProgramId
      : readOptionalAddress(reader, raw.programId, postFields.programId);
  const amount = readUiAmount(reader, raw, postFields);
  record.postDecimals = reader.count(amount.decimals, 255, postFields.decimals);
  record.postAmount = readAmount(reader, amount.amount, postFields);
}

function readUiAmount(
  reader: BlockReader,
  raw: RawTokenBalance,
  fields: SideFields,
): Raw<'amount' | 'decimals'> {
  return reader.object<'amount' | 'decimals'>(raw.uiTokenAmount, fields.uiTokenAmount);
}

function readAmount(reader: BlockReader, value: unknown, fields: SideFields): bigint {
  return (
    readU64Text(value) ?? reader.refuse(fields.amount, value, 'a text of an integer of 0 to 2^64-1')
  );
}

/** Nodes of 2021 wrote an empty text for an unknown owner. */
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
    for (const [i, record] of sorted.entries()) records[first + i] = record;
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
