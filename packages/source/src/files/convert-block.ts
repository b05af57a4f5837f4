/**
 * Converts a block of a file into another form. JSON is the form in between:
 *
 *   archive, protobuf ─► JSON of getBlock ─► protobuf
 *
 * The result is read again, and must give the same records as the block.
 */
import { CodedError } from '@sluice/base/errors';
import { encodeProtobufBlock, parseJsonBlock } from '@sluice/grpc/encode-json-block';
import type { Block } from '@sluice/ledger/block';
import { readArchiveValue } from '../archive/read-archive-block.ts';
import { readProtobufValue } from '../binary/read-protobuf-block.ts';
import { type NormalizeOptions, normalizeDefaults } from '../normalize/normalize-options.ts';
import { blockReaders } from '../read-block.ts';
import type { BlockFormat } from '../source.ts';
import type { BlockLine } from './read-block-lines.ts';

export interface ConvertedBlock {
  readonly bytes: Uint8Array;
  readonly block: Block;
}

/** Everything that a block has is compared, and nothing is required that old blocks lack. */
const options: NormalizeOptions = {
  ...normalizeDefaults,
  votes: 'keep',
  metaOptional: true,
  allowMissing: ['logs', 'rewards'],
};

/** Throws `cli-block-not-convertible` if the form cannot hold something of the block. */
export function convertBlock(
  { slot, bytes, format, path, line }: BlockLine,
  to: 'node' | 'protobuf',
): ConvertedBlock {
  const read = (from: BlockFormat, blockBytes: Uint8Array) =>
    blockReaders[from](slot, blockBytes, options).block;
  const block = read(format, bytes);
  if (format === to) return { bytes, block };
  const json = format === 'node' ? bytes : Buffer.from(writeJson(readValue(slot, bytes, format)));
  const converted = to === 'node' ? json : encodeProtobufBlock(parseJsonBlock(json));
  if (writeJson(read(to, converted)) === writeJson(block)) return { bytes: converted, block };
  const position = line === undefined ? { path } : { path, line };
  const reason = 'the form cannot hold a value of it';
  throw new CodedError('cli-block-not-convertible', { ...position, slot, reason });
}

function readValue(
  slot: BlockLine['slot'],
  bytes: Uint8Array,
  format: Exclude<BlockFormat, 'node'>,
): unknown {
  return format === 'archive' ? readArchiveValue(slot, bytes) : readProtobufValue(slot, bytes);
}

/** Writes JSON with all digits of integers. */
function writeJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(writeJson).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`).join()}}`;
}
