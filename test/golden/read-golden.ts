/**
 * The golden queries: folders named after the question they answer, over the few blocks in `blocks`. Each contains
 * `query.json`, `expected.jsonl` and a line that says what it shows. The expected lines were derived by reading the
 * blocks, never by running an engine; keep it that way.
 *
 * A block file is a `Block` in a readable notation: 64-bit quantities are decimal text, an error object is JSON text,
 * and instruction data is hex.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { base58 } from '@scure/base';
import { fieldRows, KINDS } from '@sluice/protocol/field-table';
import type { Block } from '../../packages/ledger/src/block.ts';

const folder = dirname(fileURLToPath(import.meta.url));

/** The fields that are bigints in a `Block`. */
const quantities = new Set<string>(
  KINDS.flatMap((kind) =>
    fieldRows(kind).flatMap(([name, { wire }]) =>
      wire === 'quantity' || wire === 'seconds' ? [name] : [],
    ),
  ),
);

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
  /** The request body. */
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
