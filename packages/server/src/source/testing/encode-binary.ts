/** Encodes blocks in the form of `getBlock` as `ConfirmedBlock` protobufs and as the parts of which archives consist. */
import { decodeBase58 } from '@sluice/base/base58';
import { errorVariants } from '../binary/read-transaction-error.ts';
import { type AnyInteger, BinaryWriter } from './binary-writer.ts';

export interface JsonInstruction {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: string;
  readonly stackHeight?: number | null;
}

export interface JsonTokenBalance {
  readonly accountIndex: number;
  readonly mint: string;
  readonly owner?: string | null;
  readonly programId?: string | null;
  readonly uiTokenAmount: { readonly amount: string; readonly decimals: number };
}

export interface JsonMeta {
  readonly err: unknown;
  readonly fee: AnyInteger;
  readonly preBalances: readonly AnyInteger[];
  readonly postBalances: readonly AnyInteger[];
  readonly innerInstructions?:
    | readonly { readonly index: number; readonly instructions: readonly JsonInstruction[] }[]
    | null;
  readonly logMessages?: readonly string[] | null;
  readonly preTokenBalances?: readonly JsonTokenBalance[] | null;
  readonly postTokenBalances?: readonly JsonTokenBalance[] | null;
  readonly loadedAddresses?: {
    readonly writable: readonly string[];
    readonly readonly: readonly string[];
  } | null;
  readonly computeUnitsConsumed?: AnyInteger | null;
}

export interface JsonTransaction {
  readonly transaction: {
    readonly signatures: readonly string[];
    readonly message: {
      readonly header: {
        readonly numRequiredSignatures: number;
        readonly numReadonlySignedAccounts: number;
        readonly numReadonlyUnsignedAccounts: number;
      };
      readonly accountKeys: readonly string[];
      readonly recentBlockhash: string;
      readonly instructions: readonly JsonInstruction[];
      readonly addressTableLookups?:
        | readonly {
            readonly accountKey: string;
            readonly writableIndexes: readonly number[];
            readonly readonlyIndexes: readonly number[];
          }[]
        | null;
    };
  };
  readonly meta: JsonMeta | null;
  readonly version?: unknown;
}

export interface JsonReward {
  readonly pubkey: string;
  readonly lamports: AnyInteger;
  readonly postBalance: AnyInteger;
  readonly rewardType?: string | null;
  readonly commission?: number | null;
}

export interface JsonBlock {
  readonly blockhash: string;
  readonly previousBlockhash: string;
  readonly parentSlot: number;
  readonly blockTime?: AnyInteger | null;
  readonly blockHeight?: AnyInteger | null;
  readonly transactions: readonly JsonTransaction[];
  readonly rewards?: readonly JsonReward[];
}

/** Parses the bytes of a `getBlock` result. Long integers become texts, which keep their digits. */
export function parseJsonBlock(bytes: Uint8Array): JsonBlock {
  const text = Buffer.from(bytes)
    .toString()
    .replaceAll(/"(?:[^"\\]|\\.)*"|(?<![\d.])-?\d{16,}(?![\d.eE])/g, (token) =>
      token.startsWith('"') ? token : `"${token}"`,
    );
  return JSON.parse(text) as JsonBlock;
}

const raw = (text: string) => decodeBase58(text) ?? new Uint8Array();
const rewardTypes = ['', 'Fee', 'Rent', 'Staking', 'Voting', 'DeactivatedStake'];

export function encodeProtobufBlock(block: JsonBlock): Uint8Array {
  const out = new BinaryWriter();
  out
    .field(1, block.previousBlockhash ?? '')
    .field(2, block.blockhash)
    .integer(3, block.parentSlot);
  for (const entry of block.transactions) out.field(4, encodeConfirmedTransaction(entry));
  for (const reward of block.rewards ?? []) out.field(5, encodeReward(reward));
  if (block.blockTime !== undefined && block.blockTime !== null) {
    out.field(6, new BinaryWriter().integer(1, block.blockTime).finish());
  }
  if (block.blockHeight !== undefined && block.blockHeight !== null) {
    out.field(7, new BinaryWriter().integer(1, block.blockHeight).finish());
  }
  return out.finish();
}

export function encodeReward(reward: JsonReward): Uint8Array {
  const type = rewardTypes.indexOf(reward.rewardType ?? '');
  const out = new BinaryWriter().field(1, reward.pubkey);
  out.integer(2, reward.lamports).integer(3, reward.postBalance).integer(4, type);
  return out.field(5, `${reward.commission ?? ''}`).finish();
}

function encodeConfirmedTransaction({ transaction, meta, version }: JsonTransaction): Uint8Array {
  const { header, accountKeys, recentBlockhash, instructions, addressTableLookups } =
    transaction.message;
  const message = new BinaryWriter().field(
    1,
    new BinaryWriter()
      .integer(1, header.numRequiredSignatures)
      .integer(2, header.numReadonlySignedAccounts)
      .integer(3, header.numReadonlyUnsignedAccounts)
      .finish(),
  );
  for (const key of accountKeys) message.field(2, raw(key));
  message.field(3, raw(recentBlockhash));
  for (const one of instructions)
    message.field(4, encodeInstruction({ ...one, stackHeight: null }));
  message.integer(5, isVersioned({ transaction, version }) ? 1 : 0);
  for (const lookup of addressTableLookups ?? []) {
    message.field(
      6,
      new BinaryWriter()
        .field(1, raw(lookup.accountKey))
        .field(2, Uint8Array.from(lookup.writableIndexes))
        .field(3, Uint8Array.from(lookup.readonlyIndexes))
        .finish(),
    );
  }
  const body = new BinaryWriter();
  for (const signature of transaction.signatures) body.field(1, raw(signature));
  const out = new BinaryWriter().field(1, body.field(2, message.finish()).finish());
  if (meta !== null) out.field(2, encodeStatusMeta(meta));
  return out.finish();
}

function isVersioned({ transaction, version }: Pick<JsonTransaction, 'transaction' | 'version'>) {
  return typeof version === 'number' || (transaction.message.addressTableLookups ?? []).length > 0;
}

function encodeInstruction({ programIdIndex, accounts, data, stackHeight }: JsonInstruction) {
  const out = new BinaryWriter().integer(1, programIdIndex);
  out.field(2, Uint8Array.from(accounts)).field(3, raw(data));
  if (stackHeight !== undefined && stackHeight !== null) out.presentInteger(4, stackHeight);
  return out.finish();
}

export function encodeStatusMeta(meta: JsonMeta): Uint8Array {
  const out = new BinaryWriter();
  if (meta.err !== null && meta.err !== undefined) {
    out.field(1, new BinaryWriter().field(1, encodeTransactionError(meta.err)).finish());
  }
  out.integer(2, meta.fee);
  out.field(3, packed(meta.preBalances)).field(4, packed(meta.postBalances));
  for (const group of meta.innerInstructions ?? []) {
    const inner = new BinaryWriter().integer(1, group.index);
    for (const one of group.instructions) inner.field(2, encodeInstruction(one));
    out.field(5, inner.finish());
  }
  for (const line of meta.logMessages ?? []) out.field(6, line);
  for (const one of meta.preTokenBalances ?? []) out.field(7, encodeTokenBalance(one));
  for (const one of meta.postTokenBalances ?? []) out.field(8, encodeTokenBalance(one));
  out.integer(10, meta.innerInstructions == null ? 1 : 0);
  out.integer(11, meta.logMessages == null ? 1 : 0);
  for (const key of meta.loadedAddresses?.writable ?? []) out.field(12, raw(key));
  for (const key of meta.loadedAddresses?.readonly ?? []) out.field(13, raw(key));
  out.integer(15, 1);
  if (meta.computeUnitsConsumed !== undefined && meta.computeUnitsConsumed !== null) {
    out.presentInteger(16, meta.computeUnitsConsumed);
  }
  return out.finish();
}

function packed(values: readonly AnyInteger[]): Uint8Array {
  const out = new BinaryWriter();
  for (const value of values) out.varint(value);
  return out.finish();
}

function encodeTokenBalance(one: JsonTokenBalance): Uint8Array {
  const { amount, decimals } = one.uiTokenAmount;
  const ui = Buffer.alloc(8);
  ui.writeDoubleLE(Number(amount) / 10 ** decimals);
  const token = new BinaryWriter().varint(9).bytes(ui).integer(2, decimals).field(3, amount);
  return new BinaryWriter()
    .integer(1, one.accountIndex)
    .field(2, one.mint)
    .field(3, token.field(4, '0').finish())
    .field(4, one.owner ?? '')
    .field(5, one.programId ?? '')
    .finish();
}

/** Encodes an error in bincode. `BorshIoError` has a text if the error has one. */
export function encodeTransactionError(err: unknown): Uint8Array {
  const out = new BinaryWriter();
  const name = typeof err === 'string' ? err : Object.keys(err as object)[0];
  const number = indexOf(errorVariants.transactionErrors, name);
  if (number < 0) throw new TypeError(`unknown error ${name}`);
  out.u32(number);
  if (typeof err === 'string') return out.finish();
  const value = Object.values(err as object)[0] as unknown;
  if (name === 'InstructionError') {
    const [index, cause] = value as [number, unknown];
    return out.u8(index).bytes(encodeInstructionError(cause)).finish();
  }
  const index =
    typeof value === 'number' ? value : (value as { account_index: number }).account_index;
  return out.u8(index).finish();
}

function indexOf(names: readonly string[], name: string | undefined): number {
  return name === undefined ? -1 : names.indexOf(name);
}

function encodeInstructionError(cause: unknown): Uint8Array {
  const out = new BinaryWriter();
  const name = typeof cause === 'string' ? cause : Object.keys(cause as object)[0];
  const number = indexOf(errorVariants.instructionErrors, name);
  if (number < 0) throw new TypeError(`unknown error ${name}`);
  out.u32(number);
  if (typeof cause === 'string') return out.finish();
  const value = Object.values(cause as object)[0] as unknown;
  return (typeof value === 'string' ? out.text64(value) : out.u32(Number(value))).finish();
}

/** Encodes a transaction as it is sent over the network. */
export function encodeWireTransaction(
  entry: Pick<JsonTransaction, 'transaction' | 'version'>,
): Uint8Array {
  const { signatures, message } = entry.transaction;
  const out = new BinaryWriter().shortLength(signatures.length);
  for (const signature of signatures) out.base58(signature);
  if (isVersioned(entry)) out.u8(0x80 | Number(entry.version ?? 0));
  const { header } = message;
  out.u8(header.numRequiredSignatures).u8(header.numReadonlySignedAccounts);
  out.u8(header.numReadonlyUnsignedAccounts).shortLength(message.accountKeys.length);
  for (const key of message.accountKeys) out.base58(key);
  out.base58(message.recentBlockhash).shortLength(message.instructions.length);
  for (const one of message.instructions) out.bytes(encodeWireInstruction(one));
  if (!isVersioned(entry)) return out.finish();
  out.shortLength((message.addressTableLookups ?? []).length);
  for (const lookup of message.addressTableLookups ?? []) {
    out.base58(lookup.accountKey);
    for (const list of [lookup.writableIndexes, lookup.readonlyIndexes]) {
      out.shortLength(list.length).bytes(list);
    }
  }
  return out.finish();
}

function encodeWireInstruction({ programIdIndex, accounts, data }: JsonInstruction): Uint8Array {
  const bytes = raw(data);
  const out = new BinaryWriter().u8(programIdIndex).shortLength(accounts.length).bytes(accounts);
  return out.shortLength(bytes.length).bytes(bytes).finish();
}

/** Encodes metadata in the older form, which has no stack heights, loaded addresses, owners and compute units. */
export function encodeBincodeMeta(meta: JsonMeta): Uint8Array {
  const out = new BinaryWriter();
  if (meta.err === null || meta.err === undefined) out.u32(0);
  else out.u32(1).bytes(encodeTransactionError(meta.err));
  out.u64(meta.fee);
  for (const list of [meta.preBalances, meta.postBalances]) {
    out.u64(list.length);
    for (const value of list) out.u64(value);
  }
  const list = <Element>(
    elements: readonly Element[] | null | undefined,
    write: (element: Element) => void,
  ) => {
    out.u8(elements == null ? 0 : 1);
    if (elements != null) out.u64(elements.length);
    for (const element of elements ?? []) write(element);
  };
  list(meta.innerInstructions, ({ index, instructions }) => {
    out.u8(index).u64(instructions.length);
    for (const one of instructions) out.bytes(encodeWireInstruction(one));
  });
  list(meta.logMessages, (line) => out.text64(line));
  for (const side of [meta.preTokenBalances, meta.postTokenBalances]) {
    list(side, ({ accountIndex, mint, uiTokenAmount }) => {
      out
        .u8(accountIndex)
        .text64(mint)
        .u64(0)
        .u8(uiTokenAmount.decimals)
        .text64(uiTokenAmount.amount);
    });
  }
  list([], () => undefined);
  return out.finish();
}
