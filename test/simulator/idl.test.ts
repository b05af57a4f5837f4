/** Checks that the IDLs in docs/idl describe the instructions and events of the simulated programs. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Block } from '../../packages/server/src/ledger/block.ts';
import { simulatedBlocks } from '../../packages/server/src/simulator/testing/simulated-blocks.ts';
import { dataOf } from './token-indexer.ts';

type Type = string | { readonly vec: Type } | { readonly defined: { readonly name: string } };
interface Field {
  readonly name: string;
  readonly type: Type;
}
interface Idl {
  readonly address: string;
  readonly instructions: readonly {
    readonly name: string;
    readonly discriminator: readonly number[];
    readonly accounts: readonly { readonly name: string }[];
    readonly args: readonly Field[];
  }[];
  readonly events: readonly { readonly name: string; readonly discriminator: readonly number[] }[];
  readonly types: readonly {
    readonly name: string;
    readonly type: { readonly fields: readonly Field[] };
  }[];
}

const folder = new URL('../../docs/idl/', import.meta.url);
const idls = readdirSync(folder).map((file) => {
  return JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Idl;
});
const EVENT_CALL = 'e445a52e51cb9a1d';
const SIZES: Readonly<Record<string, number>> = { u8: 1, bool: 1, u32: 4, u64: 8, pubkey: 32 };

/** Returns the size of a value at an offset of the data. */
function sizeAt(idl: Idl, type: Type, data: Buffer, at: number): number {
  if (typeof type === 'string') return SIZES[type] as number;
  if ('defined' in type) {
    const struct = idl.types.find((one) => one.name === type.defined.name);
    return sizeOfAll(idl, struct?.type.fields ?? [], data, at);
  }
  let size = 4;
  for (let left = data.readUInt32LE(at); left > 0; left--)
    size += sizeAt(idl, type.vec, data, at + size);
  return size;
}

function sizeOfAll(idl: Idl, fields: readonly Field[], data: Buffer, start: number): number {
  return fields.reduce((size, { type }) => size + sizeAt(idl, type, data, start + size), 0);
}

function startsWith(data: Buffer, discriminator: readonly number[]): boolean {
  return data.subarray(0, 8).equals(Buffer.from(discriminator));
}

/** Returns the instructions and events that the IDL does not describe. Counts the uses of each described one in `met`. */
function compare(idl: Idl, block: Block, met: Map<string, number>): string[] {
  const unexplained: string[] = [];
  const meet = (name: string): void => {
    met.set(name, (met.get(name) ?? 0) + 1);
  };
  const readEvent = (data: Buffer): void => {
    const event = idl.events.find(({ discriminator }) => startsWith(data, discriminator));
    const struct = idl.types.find(({ name }) => name === event?.name);
    const size = sizeOfAll(idl, struct?.type.fields ?? [], data, 8);
    if (event === undefined || 8 + size !== data.length)
      unexplained.push(`event of ${data.length}`);
    else meet(event.name);
  };
  for (const row of block.instructions.filter(({ programId }) => programId === idl.address)) {
    const data = dataOf(row);
    if (data.subarray(0, 8).toString('hex') === EVENT_CALL) {
      readEvent(data.subarray(8));
      continue;
    }
    const found = idl.instructions.find(({ discriminator }) => startsWith(data, discriminator));
    const size = sizeOfAll(idl, found?.args ?? [], data, 8);
    const isFit = 8 + size === data.length && row.accounts.length >= (found?.accounts.length ?? 0);
    if (found === undefined || !isFit) unexplained.push(`${found?.name}: ${data.length} bytes`);
    else meet(found.name);
  }
  for (const row of block.logs) {
    if (row.programId === idl.address && row.kind === 'data') {
      readEvent(Buffer.from(row.message, 'base64'));
    }
  }
  return unexplained;
}

describe('IDLs of the simulated programs', () => {
  test('property: the IDLs describe every instruction and every event, and all of these occur', () => {
    const content = { transactionsPerBlock: 60, failureRate: 0.1 };
    // The last block of a window has instructions that only occur there.
    const blocks = simulatedBlocks({ content, firstSlot: 412, blockCount: 100, skipRate: 0 });
    for (const idl of idls) {
      const met = new Map<string, number>();
      for (const block of blocks) expect(compare(idl, block, met), idl.address).toEqual([]);
      const named = [...idl.instructions, ...idl.events].map(({ name }) => name);
      expect([...met.keys()].sort()).toEqual(named.sort());
    }
  });
});
