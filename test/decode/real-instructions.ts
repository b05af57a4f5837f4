/** Reads the instructions of recorded blocks as they are, without the code of the server. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { decodeBase58 } from '@sluice/base/base58';

const folder = fileURLToPath(new URL('../../../shared/data/', import.meta.url));
const files = [
  'blocks-various.jsonl.gz',
  'chain-devnet-333688600.jsonl.gz',
  'chain-mainnet-0.jsonl.gz',
  'chain-node-3.1.5.jsonl.gz',
  'transactions-mainnet.jsonl.gz',
];

export interface RealInstruction {
  readonly programId: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
}

interface RawInstruction {
  readonly programIdIndex: number;
  readonly accounts: readonly number[];
  readonly data: string;
}

interface RawTransaction {
  readonly transaction: {
    readonly message: {
      readonly accountKeys: readonly string[];
      readonly instructions: readonly RawInstruction[];
    };
  };
  readonly meta: {
    readonly innerInstructions?:
      | readonly { readonly instructions: readonly RawInstruction[] }[]
      | null;
    readonly loadedAddresses?: {
      readonly writable: readonly string[];
      readonly readonly: readonly string[];
    };
  } | null;
}

export const hasRealInstructions = files.every((file) => existsSync(`${folder}${file}`));

export function* readRealInstructions(): Generator<RealInstruction> {
  for (const file of files) {
    for (const line of gunzipSync(readFileSync(`${folder}${file}`))
      .toString()
      .split('\n')) {
      if (line === '') continue;
      const value = JSON.parse(line) as {
        block?: { transactions: RawTransaction[] };
      } & RawTransaction;
      for (const transaction of value.block?.transactions ?? [value])
        yield* instructionsOf(transaction);
    }
  }
}

function* instructionsOf({ transaction, meta }: RawTransaction): Generator<RealInstruction> {
  const { accountKeys, instructions } = transaction.message;
  const keys = [
    ...accountKeys,
    ...(meta?.loadedAddresses?.writable ?? []),
    ...(meta?.loadedAddresses?.readonly ?? []),
  ];
  const inner = (meta?.innerInstructions ?? []).flatMap((each) => each.instructions);
  for (const { programIdIndex, accounts, data } of [...instructions, ...inner]) {
    yield {
      programId: keys[programIdIndex] ?? '',
      accounts: accounts.map((index) => keys[index] ?? ''),
      data: data === '' ? new Uint8Array(0) : (decodeBase58(data) ?? new Uint8Array(0)),
    };
  }
}
