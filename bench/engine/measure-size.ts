import { join } from 'node:path';
import { type Corpus, folderBytes, parquetFolder, segmentsFolder } from './corpus.ts';
import { openDuckdb } from './duckdb.ts';

export interface SizeResult {
  readonly segmentBytes: number;
  readonly segmentCount: number;
  readonly parquetBytes: number;
  /** The size of the columns that derive from others: d1, d2, d4, d8 and feePayer. */
  readonly derivedBytes: number;
}

export async function measureSize(corpus: Corpus): Promise<SizeResult> {
  const folder = parquetFolder(corpus);
  const connection = await openDuckdb();
  const reader = await connection.runAndReadAll(
    `SELECT sum(total_compressed_size) FROM parquet_metadata('${join(folder, '*.parquet')}') WHERE path_in_schema IN ('d1', 'd2', 'd4', 'd8', 'feePayer')`,
  );
  connection.closeSync();
  const { bytes, count } = await folderBytes(segmentsFolder(corpus));
  return {
    segmentBytes: bytes,
    segmentCount: count,
    parquetBytes: (await folderBytes(folder)).bytes,
    derivedBytes: Number(reader.getRows()[0]?.[0] ?? 0),
  };
}
