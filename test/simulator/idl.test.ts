/** Checks that the IDLs in docs/idl describe the instructions and events of the simulated programs. */
import { describe, expect, test } from 'vitest';
import type { Block } from '../../packages/ledger/src/block.ts';
import { simulatedBlocks } from '../../packages/simulator/src/testing/simulated-blocks.ts';
import { IDLS, type Idl, isEventCall } from './read-idl.ts';
import { Call } from './transaction-records.ts';

/** Returns the instructions and events that the IDL does not describe. Counts the uses of each described one in `met`. */
function compare(idl: Idl, block: Block, met: Map<string, number>): string[] {
  const unexplained: string[] = [];
  const meet = (data: Buffer, read: { readonly name: string } | undefined): void => {
    if (read === undefined) unexplained.push(data.toString('hex'));
    else met.set(read.name, (met.get(read.name) ?? 0) + 1);
  };
  for (const row of block.instructions.filter(({ programId }) => programId === idl.address)) {
    const { data } = new Call(row);
    if (isEventCall(data)) meet(data, idl.readEventCall(data));
    else meet(data, idl.readInstruction(data, row.accounts));
  }
  for (const row of block.logs) {
    if (row.programId !== idl.address || row.kind !== 'data') continue;
    const data = Buffer.from(row.message, 'base64');
    meet(data, idl.readEvent(data));
  }
  return unexplained;
}

describe('IDLs of the simulated programs', () => {
  test('property: the IDLs describe every instruction and every event, and all of these occur', () => {
    const content = { transactionsPerBlock: 60, failureRate: 0.1 };
    // The last block of a window has instructions that only occur there.
    const blocks = simulatedBlocks({ content, firstSlot: 412, blockCount: 100, skipRate: 0 });
    for (const idl of IDLS.values()) {
      const met = new Map<string, number>();
      for (const block of blocks) expect(compare(idl, block, met), idl.address).toEqual([]);
      expect([...met.keys()].sort()).toEqual([...idl.instructionNames, ...idl.eventNames].sort());
    }
  });
});
