/** Encodes blocks in the form of `getBlock` as the parts of which archives consist. */
import { decodeBase58 } from '@sluice/base/base58';
import { BinaryWriter } from '@sluice/grpc/binary-writer';
import {
  encodeTransactionError,
  isVersioned,
  type JsonInstruction,
  type JsonMeta,
  type JsonTransaction,
} from '@sluice/grpc/encode-json-block';

const raw = (text: string) => decodeBase58(text) ?? new Uint8Array();

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
