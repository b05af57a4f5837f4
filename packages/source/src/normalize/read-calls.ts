import type { Address } from '@sluice/ledger/primitives';
import { isCount } from '../json/read-integer.ts';
import type { Call, CallTree } from '../logs/call-tree.ts';
import type { BlockReader, Raw } from './block-reader.ts';
import {
  type RawInstruction,
  type RawMessage,
  readAccounts,
  readData,
  readProgram,
} from './read-message.ts';

export interface CallsInput {
  readonly message: RawMessage;
  readonly keys: readonly Address[];
  /** The `innerInstructions` of the transaction's meta. */
  readonly inner: unknown;
  readonly isCommitted: boolean | null;
}

const noAddress: readonly number[] = [];

/** Reads all calls of a transaction in order. Their addresses and the values from the log are set later. */
export function readCalls(reader: BlockReader, input: CallsInput): CallTree {
  const top = reader.array(input.message.instructions, 'message.instructions');
  const groups = readGroups(reader, input.inner, top.length);
  const tree: CallTree = { calls: [], heights: [], starts: [] };
  for (let i = 0; i < top.length; i++) {
    tree.starts.push(tree.calls.length);
    readCall(reader, input, top[i], tree);
    const inner = groups?.[i];
    if (inner === undefined) continue;
    for (let k = 0; k < inner.length; k++) readCall(reader, input, inner[k], tree);
  }
  tree.starts.push(tree.calls.length);
  return tree;
}

function readCall(reader: BlockReader, input: CallsInput, entry: unknown, tree: CallTree): void {
  const raw: RawInstruction = reader.object(entry, 'instruction');
  const call: Call = {
    transactionIndex: reader.transaction,
    instructionAddress: noAddress,
    programId: readProgram(reader, raw.programIdIndex, input.keys),
    accounts: readAccounts(reader, raw.accounts, input.keys),
    data: readData(reader, raw.data),
    error: null,
    computeUnitsConsumed: null,
    isCommitted: input.isCommitted,
    hasDroppedLogMessages: false,
  };
  tree.calls.push(call);
  tree.heights.push(readHeight(reader, raw.stackHeight));
}

/** Returns 0 if the source has no height. The log parser checks the heights. */
function readHeight(reader: BlockReader, value: unknown): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'number' || !isCount(value) || value === 0) {
    reader.refuse('instruction.stackHeight', value, 'an integer from 1 on');
  }
  return value;
}

/** Returns the inner instructions of each top-level instruction. Groups with the same index are joined. */
function readGroups(
  reader: BlockReader,
  value: unknown,
  topCount: number,
): (readonly unknown[] | undefined)[] | undefined {
  const groups = reader.optionalArray(value, 'meta.innerInstructions');
  if (groups.length === 0) return undefined;
  const joined: (readonly unknown[] | undefined)[] = new Array(topCount);
  for (let i = 0; i < groups.length; i++) {
    const raw: Raw<'index' | 'instructions'> = reader.object(
      groups[i],
      'meta.innerInstructions',
      i,
    );
    const { index } = raw;
    if (typeof index !== 'number' || !isCount(index) || index >= topCount) {
      const expected = `the index of one of the ${topCount} instructions`;
      reader.refuse('meta.innerInstructions.index', index, expected, i);
    }
    const calls = reader.array(raw.instructions, 'meta.innerInstructions.instructions', i);
    const known = joined[index];
    joined[index] = known === undefined ? calls : known.concat(calls);
  }
  return joined;
}
