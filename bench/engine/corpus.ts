/**
 * The benchmark's data in both formats, generated once and kept in the system's temporary folder:
 *
 *   sluice-bench/engine-<seed>-<blocks>-<fingerprint>/
 *   ├─ segments/NNNN.segment    our segments, as many as their size limit requires
 *   ├─ parquet/<table>.parquet  DuckDB's files, from the tables of tables.sql
 *   └─ corpus.json              written last: record counts and sizes
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Block } from '@sluice/server/dist/ledger/block.js';
import { buildSegment } from '@sluice/server/dist/segment/write/build-segment.js';
import { SegmentWriter } from '@sluice/server/dist/segment/write/segment-writer.js';
import { type CorpusOptions, corpusBlocks } from './corpus-blocks.ts';
import { readScript } from './duckdb.ts';
import { DuckdbLoader, pieceBlockCount } from './duckdb-loader.ts';
import { TABLE_NAMES, type TableName, writeRows } from './write-rows.ts';

/**
 * Increased when the rules for choosing queries change. Everything else that a corpus depends on is in its fingerprint.
 */
const formatNumber = 1;

export interface Corpus extends CorpusOptions {
  readonly folder: string;
  readonly counts: Readonly<Record<TableName, number>>;
  readonly firstSlot: number;
  readonly lastSlot: number;
}

export type Progress = (text: string) => void;

export function segmentsFolder({ folder }: Pick<Corpus, 'folder'>): string {
  return join(folder, 'segments');
}

export function parquetFolder({ folder }: Pick<Corpus, 'folder'>): string {
  return join(folder, 'parquet');
}

/** Returns the corpus and generates it if it does not exist. */
export async function prepareCorpus(options: CorpusOptions, progress: Progress): Promise<Corpus> {
  const name = `engine-${options.seed}-${options.blockCount}-${await fingerprint(options)}`;
  const folder = join(tmpdir(), 'sluice-bench', name);
  const known = await readFile(join(folder, 'corpus.json'), 'utf8').catch(() => undefined);
  if (known !== undefined) return { ...JSON.parse(known), folder } as Corpus;
  // The corpus is generated under a temporary name, so that an interrupted or concurrent run leaves no incomplete
  // corpus.
  const draft = `${folder}.${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(segmentsFolder({ folder: draft }), { recursive: true });
  await mkdir(parquetFolder({ folder: draft }), { recursive: true });
  const corpus = await makeCorpus(draft, options, progress);
  await writeFile(join(draft, 'corpus.json'), JSON.stringify(corpus));
  await rm(folder, { recursive: true, force: true });
  await rename(draft, folder);
  return { ...corpus, folder };
}

/**
 * Returns a fingerprint of the simulator, the segment format and DuckDB's tables: a hash of one block in both formats
 * and of the scripts.
 */
async function fingerprint({ seed }: CorpusOptions): Promise<string> {
  const hash = createHash('sha256').update(String(formatNumber));
  for (const block of corpusBlocks({ seed, blockCount: 1 })) {
    hash.update(buildSegment([block])).update(JSON.stringify(writeRows(block)));
  }
  for (const script of ['tables.sql', 'parquet.sql']) hash.update(await readScript(script));
  return hash.digest('hex').slice(0, 12);
}

async function makeCorpus(folder: string, options: CorpusOptions, progress: Progress) {
  const counts = Object.fromEntries(TABLE_NAMES.map((table) => [table, 0])) as Record<
    TableName,
    number
  >;
  const segments = new SegmentFiles(segmentsFolder({ folder }));
  const loader = await DuckdbLoader.open(folder, parquetFolder({ folder }));
  const slots: number[] = [];
  for (const block of corpusBlocks(options)) {
    segments.append(block);
    await loader.append(block);
    for (const table of TABLE_NAMES) counts[table] += table === 'blocks' ? 1 : block[table].length;
    slots.push(block.header.number);
    if (slots.length % pieceBlockCount === 0)
      progress(`corpus: ${slots.length} of ${options.blockCount} blocks`);
  }
  segments.finish();
  progress('corpus: the Parquet files');
  await loader.finish();
  return { ...options, counts, firstSlot: Math.min(...slots), lastSlot: Math.max(...slots) };
}

/** Writes segment files, each as long as its limits allow. */
class SegmentFiles {
  readonly #folder: string;
  #count = 0;
  #open: { writer: SegmentWriter; file: number } | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  append(block: Block): void {
    this.#open ??= this.#next();
    this.#open.writer.append(block);
    if (this.#open.writer.isFull) this.finish();
  }

  finish(): void {
    if (this.#open === undefined) return;
    this.#open.writer.finish();
    closeSync(this.#open.file);
    this.#open = undefined;
  }

  #next() {
    const name = `${String(this.#count++).padStart(4, '0')}.segment`;
    const file = openSync(join(this.#folder, name), 'w');
    return { writer: new SegmentWriter((bytes) => writeSync(file, bytes)), file };
  }
}

/** Returns the total size of the files in a folder. */
export async function folderBytes(folder: string): Promise<{ bytes: number; count: number }> {
  const sizes = await Promise.all(
    (await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size),
  );
  return { bytes: sizes.reduce((sum, size) => sum + size, 0), count: sizes.length };
}
