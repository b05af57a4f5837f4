/** Encodes transactions in the form of `getBlock` as they are sent over the network. */
import { decodeBase58 } from '@sluice/base/base58';
import { BinaryWriter } from './binary-writer.ts';
import { isVersioned, type JsonInstruction, type JsonTransaction } from './encode-json-block.ts';

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
  for (const instruction of message.instructions) out.bytes(encodeWireInstruction(instruction));
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

export function encodeWireInstruction({
  programIdIndex,
  accounts,
  data,
}: JsonInstruction): Uint8Array {
  const bytes = decodeBase58(data) ?? new Uint8Array();
  const out = new BinaryWriter().u8(programIdIndex).shortLength(accounts.length).bytes(accounts);
  return out.shortLength(bytes.length).bytes(bytes).finish();
}
