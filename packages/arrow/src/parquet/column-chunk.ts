/** Collects one column of a row group and writes its pages. */
import type { SnappyEncoder } from '@sluice/kernels/snappy-encoder';
import type { ColumnData } from '../arrow-type.ts';
import type { Dictionary } from '../ipc-reader.ts';
import { ByteSink } from './byte-sink.ts';
import { ENCODINGS, type EncodedValues, valuesFor } from './chunk-values.ts';
import { type Leaf, physicalType } from './file-schema.ts';
import { bitsFor, writeHybrid } from './hybrid-encoding.ts';
import { followPath } from './levels.ts';
import {
  binary,
  encodeStruct,
  i32,
  i64,
  listOf,
  struct,
  type ThriftStruct,
  type ThriftValue,
  text,
} from './thrift.ts';

const pageTypes = { data: 0, dictionary: 2 } as const;
const snappyCodec = 1;

interface WrittenChunk {
  readonly description: ThriftValue;
  readonly byteCount: number;
}

export class ColumnChunk {
  readonly #leaf: Leaf;
  readonly #definitions = new ByteSink();
  readonly #repetitions = new ByteSink();
  readonly #values;
  #entryCount = 0;
  #valueCount = 0;

  constructor(leaf: Leaf) {
    this.#leaf = leaf;
    this.#values = valuesFor(leaf.type);
  }

  /** Appends rows of the table from the column of its field. */
  append(column: ColumnData, start: number, end: number, dictionary: Dictionary): void {
    const { path, definitionMax } = this.#leaf;
    if (path.length === 1 && column.nullCount === 0 && this.#values.appendRange !== undefined) {
      this.#values.appendRange(column, start, end);
      this.#definitions.fill(definitionMax, end - start);
      this.#entryCount += end - start;
      this.#valueCount += end - start;
      return;
    }
    const found = followPath(this.#leaf, column, start, end);
    this.#valueCount += this.#values.append(found.column, found.rows, dictionary);
    this.#entryCount += found.rows.length;
    this.#definitions.append(found.definitions);
    this.#repetitions.append(found.repetitions);
  }

  /** Appends the pages to the file, and returns what its footer says about them. */
  write(file: ByteSink, snappy: SnappyEncoder): WrittenChunk {
    const page = new ByteSink();
    const { definitionMax, repetitionMax } = this.#leaf;
    if (repetitionMax > 0) appendLevels(page, this.#repetitions.bytes, repetitionMax);
    if (definitionMax > 0) appendLevels(page, this.#definitions.bytes, definitionMax);
    const encoded = this.#values.encode(page);
    const { dictionary, encoding } = encoded;
    const writer = new PageWriter(file, snappy);
    const dictionaryAt = dictionary === undefined ? undefined : file.length;
    if (dictionary !== undefined) {
      const header = struct([1, i32(dictionary.count)], [2, i32(ENCODINGS.plain)]);
      writer.write(pageTypes.dictionary, dictionary.bytes, [[7, header]]);
    }
    const dataAt = file.length;
    const header = struct(
      [1, i32(this.#entryCount)],
      [2, i32(encoding)],
      [3, i32(ENCODINGS.hybrid)],
      [4, i32(ENCODINGS.hybrid)],
    );
    writer.write(pageTypes.data, page.bytes, [[5, header]]);
    const used = dictionary === undefined ? [encoding] : [ENCODINGS.plain, encoding];
    const description = struct(
      [1, i32(physicalType(this.#leaf.type))],
      [2, listOf('i32', [...used, ENCODINGS.hybrid].map(i32))],
      [3, listOf('binary', this.#leaf.names.map(text))],
      [4, i32(snappyCodec)],
      [5, i64(this.#entryCount)],
      [6, i64(writer.plainBytes)],
      [7, i64(writer.storedBytes)],
      [9, i64(dataAt)],
      [11, dictionaryAt === undefined ? undefined : i64(dictionaryAt)],
      [12, this.#statistics(encoded)],
    );
    for (const part of [page, this.#values, this.#definitions, this.#repetitions]) part.release();
    const chunk = struct([2, i64(dictionaryAt ?? dataAt)], [3, description]);
    return { description: chunk, byteCount: writer.plainBytes };
  }

  /** Readers skip row groups by these bounds. */
  #statistics({ bounds }: EncodedValues): ThriftValue | undefined {
    if (this.#leaf.repetitionMax > 0) return undefined;
    return struct(
      [3, i64(this.#entryCount - this.#valueCount)],
      [5, bounds && binary(bounds.max)],
      [6, bounds && binary(bounds.min)],
    );
  }
}

function appendLevels(page: ByteSink, levels: Uint8Array, levelMax: number): void {
  const encoded = new ByteSink();
  writeHybrid(encoded, levels, bitsFor(levelMax));
  page.uint32(encoded.length);
  page.append(encoded.bytes);
  encoded.release();
}

class PageWriter {
  readonly #file: ByteSink;
  readonly #snappy: SnappyEncoder;
  /** The bytes of all pages with their headers, before and after compression. */
  plainBytes = 0;
  storedBytes = 0;

  constructor(file: ByteSink, snappy: SnappyEncoder) {
    this.#file = file;
    this.#snappy = snappy;
  }

  write(type: number, page: Uint8Array, rest: ThriftStruct): void {
    const packed = this.#snappy.encode(page);
    const sizes = [
      [1, i32(type)],
      [2, i32(page.length)],
      [3, i32(packed.length)],
    ] as const;
    const header = encodeStruct([...sizes, ...rest]);
    this.#file.append(header);
    this.#file.append(packed);
    this.plainBytes += header.length + page.length;
    this.storedBytes += header.length + packed.length;
  }
}
