/**
 * Writes a Parquet file from Arrow record batches, column by column, without a JavaScript value for each cell. The bytes depend only on the
 * rows, not on how they are divided into batches. https://github.com/apache/parquet-format
 */
import { elementAt } from '@sluice/base/element-at';
import { SnappyEncoder } from '@sluice/kernels/snappy-encoder';
import type { ArrowField } from '../arrow-type.ts';
import type { ArrowBatch } from '../ipc-reader.ts';
import { ByteSink } from './byte-sink.ts';
import { ColumnChunk } from './column-chunk.ts';
import { describeSchema, type Leaf, listLeaves } from './file-schema.ts';
import { encodeStruct, i32, i64, listOf, struct, type ThriftValue, text } from './thrift.ts';

const magic = Buffer.from('PAR1');
const formatVersion = 1;
/** The number of rows in a row group. */
const groupRowsMax = 1 << 16;

let snappy: SnappyEncoder | undefined;

export class ParquetWriter {
  readonly #fields: readonly ArrowField[];
  readonly #leaves: readonly Leaf[];
  readonly #file = new ByteSink();
  readonly #groups: ThriftValue[] = [];
  #chunks: readonly ColumnChunk[] = [];
  #groupRows = 0;
  #rowCount = 0;

  constructor(fields: readonly ArrowField[]) {
    this.#fields = fields;
    this.#leaves = listLeaves(fields);
    this.#file.append(magic);
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  /** Adds rows of a batch. */
  add({ columns, dictionary }: ArrowBatch, start: number, end: number): void {
    for (let from = start; from < end; ) {
      if (this.#groupRows === 0) this.#chunks = this.#leaves.map((leaf) => new ColumnChunk(leaf));
      const to = Math.min(end, from + groupRowsMax - this.#groupRows);
      for (const [i, leaf] of this.#leaves.entries()) {
        const column = elementAt(columns, this.#fields.indexOf(elementAt(leaf.path, 0)));
        elementAt(this.#chunks, i).append(column, from, to, dictionary);
      }
      this.#groupRows += to - from;
      this.#rowCount += to - from;
      if (this.#groupRows === groupRowsMax) this.#endGroup();
      from = to;
    }
  }

  /** Returns the bytes of the file. No rows can be added afterwards. */
  finish(): Uint8Array {
    if (this.#groupRows > 0) this.#endGroup();
    const order = struct([1, struct()]);
    const footer = encodeStruct([
      [1, i32(formatVersion)],
      [2, listOf('struct', describeSchema(this.#fields))],
      [3, i64(this.#rowCount)],
      [4, listOf('struct', this.#groups)],
      [6, text('sluice')],
      // The bounds of columns are in the order of their types.
      [
        7,
        listOf(
          'struct',
          this.#leaves.map(() => order),
        ),
      ],
    ]);
    this.#file.append(footer);
    this.#file.uint32(footer.length);
    this.#file.append(magic);
    const bytes = this.#file.bytes.slice();
    this.#file.release();
    return bytes;
  }

  #endGroup(): void {
    snappy ??= new SnappyEncoder();
    const encoder = snappy;
    const written = this.#chunks.map((chunk) => chunk.write(this.#file, encoder));
    this.#groups.push(
      struct(
        [
          1,
          listOf(
            'struct',
            written.map(({ description }) => description),
          ),
        ],
        [2, i64(written.reduce((sum, { byteCount }) => sum + byteCount, 0))],
        [3, i64(this.#groupRows)],
      ),
    );
    this.#groupRows = 0;
  }
}
