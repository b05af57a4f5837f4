/** Encodes blocks in the form of `getBlock` as protobufs: whole (`ConfirmedBlock`), and in the parts that Yellowstone gRPC sends. */
import { decodeBase58 } from '@sluice/base/base58';
import { type AnyInteger, BinaryWriter } from './binary-writer.ts';
import { encodeConfirmedBlock } from './confirmed-block.ts';
import { instructionErrors, transactionErrors } from './error-variants.ts';
import type { BlockMeta, TransactionPart } from './subscribe-update.ts';

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
  const block: JsonBlock = JSON.parse(text);
  return block;
}

const raw = (text: string) => decodeBase58(text) ?? new Uint8Array();
const rewardTypes = ['', 'Fee', 'Rent', 'Staking', 'Voting', 'DeactivatedStake', 'VATDebit'];

export interface BlockParts {
  readonly meta: BlockMeta;
  readonly transactions: readonly TransactionPart[];
}

/** Returns a block in the parts of which its updates consist. */
export function encodeBlockParts(slot: number, block: JsonBlock): BlockParts {
  const { blockhash, previousBlockhash, parentSlot, blockTime, blockHeight } = block;
  const transactions = block.transactions.map((entry, index) => ({
    index,
    transaction: encodeTransaction(entry),
    meta: entry.meta == null ? undefined : encodeStatusMeta(entry.meta),
  }));
  const meta: BlockMeta = {
    slot,
    blockhash,
    parentSlot,
    parentBlockhash: previousBlockhash ?? '',
    transactionCount: transactions.length,
    rewards: (block.rewards ?? []).map(encodeReward),
    blockTime: encodeOnlyInteger(blockTime),
    blockHeight: encodeOnlyInteger(blockHeight),
  };
  return { meta, transactions };
}

export function encodeProtobufBlock(block: JsonBlock): Uint8Array {
  const { meta, transactions } = encodeBlockParts(0, block);
  return encodeConfirmedBlock(meta, transactions);
}

/** Encodes a message whose only field is an integer. */
function encodeOnlyInteger(value: AnyInteger | null | undefined): Uint8Array | undefined {
  if (value === undefined || value === null) return undefined;
  return new BinaryWriter().integer(1, value).finish();
}

export function encodeReward(reward: JsonReward): Uint8Array {
  const type = rewardTypes.indexOf(reward.rewardType ?? '');
  const out = new BinaryWriter().field(1, reward.pubkey);
  out.integer(2, reward.lamports).integer(3, reward.postBalance).integer(4, type);
  return out.field(5, `${reward.commission ?? ''}`).finish();
}

function encodeTransaction({ transaction, version }: JsonTransaction): Uint8Array {
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
  for (const instruction of instructions)
    message.field(4, encodeInstruction({ ...instruction, stackHeight: null }));
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
  return body.field(2, message.finish()).finish();
}

export function isVersioned({
  transaction,
  version,
}: Pick<JsonTransaction, 'transaction' | 'version'>) {
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
    for (const instruction of group.instructions) inner.field(2, encodeInstruction(instruction));
    out.field(5, inner.finish());
  }
  for (const line of meta.logMessages ?? []) out.field(6, line);
  for (const balance of meta.preTokenBalances ?? []) out.field(7, encodeTokenBalance(balance));
  for (const balance of meta.postTokenBalances ?? []) out.field(8, encodeTokenBalance(balance));
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

function encodeTokenBalance(balance: JsonTokenBalance): Uint8Array {
  const { amount, decimals } = balance.uiTokenAmount;
  const ui = Buffer.alloc(8);
  ui.writeDoubleLE(Number(amount) / 10 ** decimals);
  const token = new BinaryWriter().varint(9).bytes(ui).integer(2, decimals).field(3, amount);
  return new BinaryWriter()
    .integer(1, balance.accountIndex)
    .field(2, balance.mint)
    .field(3, token.field(4, '0').finish())
    .field(4, balance.owner ?? '')
    .field(5, balance.programId ?? '')
    .finish();
}

/** Encodes an error in bincode. `BorshIoError` has a text if the error has one. */
export function encodeTransactionError(err: unknown): Uint8Array {
  const [name, value] = variantOf(err);
  const out = new BinaryWriter().u32(numberOf(transactionErrors, name));
  if (value === undefined) return out.finish();
  if (name === 'InstructionError' && Array.isArray(value)) {
    return out.u8(Number(value[0])).bytes(encodeInstructionError(value[1])).finish();
  }
  const isNamed = typeof value === 'object' && value !== null && 'account_index' in value;
  return out.u8(Number(isNamed ? value.account_index : value)).finish();
}

/** Returns the name of a variant, and its value if it has one. */
function variantOf(err: unknown): [name: string, value: unknown] {
  if (typeof err !== 'object' || err === null) return [String(err), undefined];
  return Object.entries(err)[0] ?? ['', undefined];
}

/** Returns the number of a variant. For an unknown name it is one that no reader accepts. */
function numberOf(names: readonly string[], name: string): number {
  return names.indexOf(name) >>> 0;
}

function encodeInstructionError(cause: unknown): Uint8Array {
  const [name, value] = variantOf(cause);
  const out = new BinaryWriter().u32(numberOf(instructionErrors, name));
  if (value === undefined) return out.finish();
  return (typeof value === 'string' ? out.text64(value) : out.u32(Number(value))).finish();
}
