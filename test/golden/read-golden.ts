/**
 * The golden queries: folders named after the question they ask, over the few blocks in `blocks`. Each holds `query.json`,
 * `expected.jsonl` and a line on what it shows. What is expected was derived by reading the blocks, never by running an
 * engine: keep it so.
 *
 * A block file is a `Block` with three things spelled for a reader: quantities of 64 bits are decimal text, an error
 * object is the text of its JSON, and instruction data is hex.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { base58 } from '@scure/base';
import type { Block } from '../../packages/server/src/ledger/block.ts';

const folder = dirname(fileURLToPath(import.meta.url));

/** The fields that are bigint in a `Block`. */
const quantities = new Set([
  'timestamp',
  'fee',
  'computeUnitsConsumed',
  'pre',
  'post',
  'preAmount',
  'postAmount',
  'lamports',
  'postBalance',
]);

export function readGoldenBlocks(): readonly Block[] {
  return readdirSync(join(folder, 'blocks'))
    .map((file) => JSON.parse(readFileSync(join(folder, 'blocks', file), 'utf8'), revive) as Block)
    .sort((a, b) => a.header.number - b.header.number);
}

function revive(key: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (quantities.has(key)) return BigInt(value);
  return key === 'data' ? base58.encode(Buffer.from(value.slice('0x'.length), 'hex')) : value;
}

export interface GoldenQuery {
  readonly name: string;
  /** The body of the request. */
  readonly body: string;
  readonly expected: string;
  readonly about: string;
}

export function readGoldenQueries(): readonly GoldenQuery[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'blocks')
    .map(({ name }) => {
      const read = (file: string) => readFileSync(join(folder, name, file), 'utf8');
      return {
        name,
        body: read('query.json'),
        expected: read('expected.jsonl'),
        about: read('about.md'),
      };
    });
}
