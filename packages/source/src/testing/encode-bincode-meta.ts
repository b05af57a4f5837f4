/** Encodes the older form of metadata, which old archives have. */
import { BinaryWriter } from '@sluice/grpc/binary-writer';
import { encodeTransactionError, type JsonMeta } from '@sluice/grpc/encode-json-block';
import { encodeWireInstruction } from '@sluice/grpc/encode-wire-transaction';

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
