/** DuckDB over Parquet files of the same records, in a separate process. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readBlockLines } from '@sluice/source/files/read-block-lines';
import { normalizeBlock } from '@sluice/source/normalize/normalize-block';
import { quantilesOf } from '../benchmark.ts';
import { readScript } from '../duckdb/duckdb.ts';
import { DuckdbLoader, pieceBlockCount } from '../duckdb/duckdb-loader.ts';
import { createTables } from '../duckdb/tables.ts';
import { type Corpus, folderBytes, parquetFolder } from '../subject/corpus.ts';
import { Subject, type Task } from '../subject/subject.ts';
import type { CheckedAnswer } from './check-answer.ts';
import { dropFileCache, loadFileCache } from './file-cache.ts';
import type { ScanQuery } from './make-queries.ts';
import { describeFiles, type RawBlocks } from './raw-blocks.ts';
import type { Setup } from './warm-service.ts';

export interface RivalResult {
  readonly firstMs: number;
  readonly repeatedMs: number;
  /** Undefined if the files could not be dropped from the page cache. */
  readonly coldMs: number | undefined;
}

const lineBytesMax = 64 << 20;
/** Above this size DuckDB is queried in ranges, because a single statement would hold gigabytes of text. */
const rangedBytesMin = 100e6;
const rangeBlockCount = 100;
const threadCount = 2;

class ChecksumMismatch extends Error {}

export class Rival {
  readonly #corpus: Corpus;

  private constructor(corpus: Corpus) {
    this.#corpus = corpus;
  }

  /** The files are kept in the system's temporary folder, because creating them takes longer than measuring. */
  static async prepare({ raw, progress }: Setup): Promise<Rival> {
    const hash = createHash('sha256').update(await describeFiles(raw));
    hash.update(createTables()).update(await readScript('parquet.sql'));
    for (const text of raw.sampleTexts) hash.update(text);
    const name = `first-scan-${hash.digest('hex').slice(0, 12)}`;
    const folder = join(tmpdir(), 'sluice-bench', name);
    const known = await readFile(join(folder, 'corpus.json'), 'utf8').catch(() => undefined);
    if (known !== undefined) return new Rival({ ...(JSON.parse(known) as Corpus), folder });
    const draft = `${folder}.${process.pid}`;
    await rm(draft, { recursive: true, force: true });
    await mkdir(parquetFolder({ folder: draft }), { recursive: true });
    const corpus = await makeFiles(draft, raw, progress);
    await writeFile(join(draft, 'corpus.json'), JSON.stringify(corpus));
    await rm(folder, { recursive: true, force: true });
    await rename(draft, folder);
    return new Rival({ ...corpus, folder });
  }

  async parquetBytes(): Promise<number> {
    return await folderBytes(parquetFolder(this.#corpus));
  }

  /** Measures a query, and checks that the answer equals the service's. */
  async measure(
    { options, raw }: Setup,
    query: ScanQuery,
    checked: CheckedAnswer,
  ): Promise<RivalResult> {
    const body = { fromBlock: raw.firstSlot, toBlock: raw.lastSlot, ...query.body };
    const isRanged = checked.textBytes > rangedBytesMin;
    const task: Task = {
      body,
      rangeBlockCount: isRanged ? rangeBlockCount : null,
      runCount: options.rivalRunCount,
      secondsMin: 0,
      isHashed: false,
    };
    const files = await this.#listFiles();
    const { samples, checksum } = await this.#inProcess(async (subject) => {
      loadFileCache(files);
      const timed = await subject.run(task);
      const hashed = await subject.run({ ...task, runCount: 0, isHashed: true });
      return { ...timed, checksum: hashed.checksum };
    });
    if (checksum !== checked.checksum)
      throw new ChecksumMismatch(
        `${query.name}: answers differ: ${checked.checksum} and DuckDB's ${checksum}`,
      );
    const [firstMs = Number.NaN, ...repeatedMs] = samples.map(({ wallMs }) => wallMs);
    const coldMs = options.hasColdFiles ? await this.#scanCold(task) : undefined;
    return { firstMs, repeatedMs: quantilesOf(repeatedMs).p50, coldMs };
  }

  async #scanCold(task: Task): Promise<number | undefined> {
    const files = await this.#listFiles();
    return await this.#inProcess(async (subject) => {
      if (!dropFileCache(files)) return undefined;
      return (await subject.run({ ...task, runCount: 1 })).samples[0]?.wallMs;
    });
  }

  async #listFiles(): Promise<string[]> {
    const folder = parquetFolder(this.#corpus);
    return (await readdir(folder)).map((name) => join(folder, name));
  }

  /** Runs a task in a new process that has no open files. */
  async #inProcess<Result>(use: (subject: Subject) => Promise<Result>): Promise<Result> {
    const corpus = this.#corpus;
    const options = {
      corpus,
      side: 'duckdb',
      threadCount,
      cacheBytesMax: 0,
    } as const;
    const subject = await Subject.start(options);
    try {
      return await use(subject);
    } finally {
      subject.stop();
    }
  }
}

async function makeFiles(
  folder: string,
  raw: RawBlocks,
  progress: (text: string) => void,
): Promise<Corpus> {
  const loader = await DuckdbLoader.open(folder, parquetFolder({ folder }));
  let blockCount = 0;
  for (const path of raw.paths) {
    for await (const { slot, bytes } of readBlockLines(path, { lineBytesMax })) {
      await loader.append(normalizeBlock(slot, bytes).block);
      if (++blockCount % pieceBlockCount === 0)
        progress(`Parquet: ${blockCount} of ${raw.blockCount} blocks`);
    }
  }
  await loader.finish();
  return { folder, lastSlot: raw.lastSlot };
}
