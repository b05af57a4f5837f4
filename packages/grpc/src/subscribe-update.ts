/** The updates of the method `Subscribe` of Yellowstone gRPC that are needed to follow a chain. All others are read as `other`. */
import { BinaryWriter } from './binary-writer.ts';
import { MessageReader } from './message-reader.ts';

/** The states of a slot in the order of their numbers. */
export const SLOT_STATUSES = [
  'processed',
  'confirmed',
  'finalized',
  'first-shred',
  'completed',
  'created-bank',
  'dead',
] as const;
export type SlotStatus = (typeof SLOT_STATUSES)[number];

/** A transaction with its parts as protobufs of `solana.storage.ConfirmedBlock`. */
export interface TransactionPart {
  readonly index: number;
  readonly transaction: Uint8Array;
  /** Undefined if the node did not record it. */
  readonly meta: Uint8Array | undefined;
}

/** What is known about a block besides its transactions. */
export interface BlockMeta {
  readonly slot: number;
  readonly blockhash: string;
  readonly parentSlot: number;
  readonly parentBlockhash: string;
  /** The number of transactions that belong to the block. */
  readonly transactionCount: number;
  /** The messages `Reward`. */
  readonly rewards: readonly Uint8Array[];
  /** The messages `UnixTimestamp` and `BlockHeight`, if present. */
  readonly blockTime: Uint8Array | undefined;
  readonly blockHeight: Uint8Array | undefined;
}

export type SubscribeUpdate =
  | { readonly kind: 'slot'; readonly slot: number; readonly status: SlotStatus | undefined }
  | { readonly kind: 'transaction'; readonly slot: number; readonly transaction: TransactionPart }
  | {
      readonly kind: 'block';
      readonly meta: BlockMeta;
      readonly transactions: readonly TransactionPart[];
    }
  | { readonly kind: 'block-meta'; readonly meta: BlockMeta }
  | { readonly kind: 'ping' }
  | { readonly kind: 'pong' }
  | { readonly kind: 'other' };

const kinds = { slot: 3, transaction: 4, block: 5, ping: 6, blockMeta: 7, pong: 9 } as const;

/** The numbers of the fields that a block and its meta have in common, but with different numbers. */
const blockFields = { transactions: 6, parentSlot: 7, parentBlockhash: 8, transactionCount: 9 };
/** A meta has no transactions; no field has the number 0. */
const metaFields = { transactions: 0, parentSlot: 6, parentBlockhash: 7, transactionCount: 8 };

export function readSubscribeUpdate(bytes: Uint8Array): SubscribeUpdate {
  const reader = new MessageReader(bytes);
  let update: SubscribeUpdate = { kind: 'other' };
  while (reader.next()) {
    if (reader.isPart(kinds.slot)) update = readSlot(reader.message());
    else if (reader.isPart(kinds.transaction)) update = readTransaction(reader.message());
    else if (reader.isPart(kinds.block)) update = readBlock(reader.message());
    else if (reader.isPart(kinds.blockMeta)) {
      const { meta } = readBlock(reader.message(), metaFields);
      update = { kind: 'block-meta', meta };
    } else {
      if (reader.isPart(kinds.ping)) update = { kind: 'ping' };
      if (reader.isPart(kinds.pong)) update = { kind: 'pong' };
      reader.skip();
    }
  }
  return update;
}

function readSlot(reader: MessageReader): SubscribeUpdate {
  let slot = 0;
  let status = 0;
  while (reader.next()) {
    if (reader.isInteger(1)) slot = reader.integer();
    else if (reader.isInteger(3)) status = reader.integer();
    else reader.skip();
  }
  return { kind: 'slot', slot, status: SLOT_STATUSES[status] };
}

function readTransaction(reader: MessageReader): SubscribeUpdate {
  let slot = 0;
  let transaction = readPart(new MessageReader(new Uint8Array()));
  while (reader.next()) {
    if (reader.isPart(1)) transaction = readPart(reader.message());
    else if (reader.isInteger(2)) slot = reader.integer();
    else reader.skip();
  }
  return { kind: 'transaction', slot, transaction };
}

/** Reads a `SubscribeUpdateTransactionInfo`. */
function readPart(reader: MessageReader): TransactionPart {
  let index = 0;
  let transaction: Uint8Array = new Uint8Array();
  let meta: Uint8Array | undefined;
  while (reader.next()) {
    if (reader.isPart(3)) transaction = reader.bytes();
    else if (reader.isPart(4)) meta = reader.bytes();
    else if (reader.isInteger(5)) index = reader.integer();
    else reader.skip();
  }
  return { index, transaction, meta };
}

/** Reads a block, or its meta, which has other numbers for some fields. */
function readBlock(
  reader: MessageReader,
  fields = blockFields,
): Extract<SubscribeUpdate, { kind: 'block' }> {
  const transactions: TransactionPart[] = [];
  const rewards: Uint8Array[] = [];
  const meta: { -readonly [Key in keyof BlockMeta]: BlockMeta[Key] } = {
    slot: 0,
    blockhash: '',
    parentSlot: 0,
    parentBlockhash: '',
    transactionCount: 0,
    rewards,
    blockTime: undefined,
    blockHeight: undefined,
  };
  while (reader.next()) {
    if (reader.isInteger(1)) meta.slot = reader.integer();
    else if (reader.isPart(2)) meta.blockhash = reader.text();
    else if (reader.isPart(3)) readRewards(reader.message(), rewards);
    else if (reader.isPart(4)) meta.blockTime = reader.bytes();
    else if (reader.isPart(5)) meta.blockHeight = reader.bytes();
    else if (reader.isInteger(fields.parentSlot)) meta.parentSlot = reader.integer();
    else if (reader.isPart(fields.parentBlockhash)) meta.parentBlockhash = reader.text();
    else if (reader.isInteger(fields.transactionCount)) meta.transactionCount = reader.integer();
    else if (reader.isPart(fields.transactions)) transactions.push(readPart(reader.message()));
    else reader.skip();
  }
  return { kind: 'block', meta, transactions };
}

function readRewards(reader: MessageReader, rewards: Uint8Array[]): void {
  while (reader.next()) {
    if (reader.isPart(1)) rewards.push(reader.bytes());
    else reader.skip();
  }
}

export function encodeSubscribeUpdate(update: SubscribeUpdate): Uint8Array {
  const out = new BinaryWriter().field(1, 'sluice');
  switch (update.kind) {
    case 'slot': {
      const status = update.status === undefined ? 0 : SLOT_STATUSES.indexOf(update.status);
      const slot = new BinaryWriter().integer(1, update.slot).integer(3, status);
      return out.field(kinds.slot, slot.finish()).finish();
    }
    case 'transaction': {
      const body = new BinaryWriter().field(1, encodePart(update.transaction));
      return out.field(kinds.transaction, body.integer(2, update.slot).finish()).finish();
    }
    case 'block': {
      const body = encodeMeta(update.meta, blockFields);
      for (const part of update.transactions)
        body.field(blockFields.transactions, encodePart(part));
      return out.field(kinds.block, body.finish()).finish();
    }
    case 'block-meta':
      return out.field(kinds.blockMeta, encodeMeta(update.meta, metaFields).finish()).finish();
    case 'ping':
    case 'pong':
      return new BinaryWriter().field(kinds[update.kind], new Uint8Array()).finish();
    default:
      return out.finish();
  }
}

function encodePart({ index, transaction, meta }: TransactionPart): Uint8Array {
  const out = new BinaryWriter().field(3, transaction);
  if (meta !== undefined) out.field(4, meta);
  return out.integer(5, index).finish();
}

function encodeMeta(meta: BlockMeta, fields: typeof blockFields): BinaryWriter {
  const rewards = new BinaryWriter();
  for (const reward of meta.rewards) rewards.field(1, reward);
  const out = new BinaryWriter().integer(1, meta.slot).field(2, meta.blockhash);
  out.field(3, rewards.finish());
  if (meta.blockTime !== undefined) out.field(4, meta.blockTime);
  if (meta.blockHeight !== undefined) out.field(5, meta.blockHeight);
  out
    .integer(fields.parentSlot, meta.parentSlot)
    .field(fields.parentBlockhash, meta.parentBlockhash);
  return out.integer(fields.transactionCount, meta.transactionCount);
}
