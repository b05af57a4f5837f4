/**
 * Converts a dataset of an older format in place. Each segment is rewritten and committed separately, then the hot
 * blocks, and finally the manifest. A killed run leaves a dataset with segments of both formats, and the next run
 * continues with it.
 */
import type { ChainSnapshot, HotBlock, SealedSegment } from '../../chain/chain-snapshot.ts';
import { isOlderFormat, openAnySegment } from '../../segment/format-1/open-segment-1.ts';
import { headerBytes } from '../../segment/layout/directory.ts';
import { mergeSegments } from '../../segment/write/merge-segments.ts';
import { type Fs, readWholeFile } from '../../storage/fs.ts';
import { ChainWriter, type NewBlock } from '../chain-writer.ts';
import { checkJournalExists, removeUnlistedSegments } from '../dataset-files.ts';
import { datasetLimits } from '../dataset-limits.ts';
import {
  dataFormatVersion,
  listlessVersion,
  readManifest,
  upgradableVersion,
  writeManifest,
} from '../manifest.ts';
import { SegmentBuffer } from '../merge/built-segment.ts';
import { describeBuilt, SegmentStore } from '../segment-store.ts';

export interface UpgradeOptions {
  readonly folder: string;
  /** Called for each finished segment with its number of blocks and bytes. */
  readonly onPart?: (blockCount: number, byteLength: number) => void;
}

export interface UpgradeDependencies {
  readonly fs: Fs;
  readonly isLockHeld: () => boolean;
  readonly signal: AbortSignal;
}

export interface UpgradeSummary {
  readonly segmentsConverted: number;
  readonly hotBlocksConverted: number;
  /** False if the signal stopped the run before everything was converted. */
  readonly isComplete: boolean;
}

export async function upgradeDataset(
  options: UpgradeOptions,
  dependencies: UpgradeDependencies,
): Promise<UpgradeSummary> {
  const { folder } = options;
  const { fs } = dependencies;
  const manifest = await readManifest(fs, folder, [
    upgradableVersion,
    listlessVersion,
    dataFormatVersion,
  ]);
  await checkJournalExists(folder, fs);
  const { journalFileBytesMax, groupBytesMax } = datasetLimits;
  const writer = await ChainWriter.open(
    { journal: { folder: `${folder}/journal`, fileBytesMax: journalFileBytesMax }, groupBytesMax },
    {
      fs,
      isLockHeld: dependencies.isLockHeld,
      onVisible: () => {},
      leasedPayloads: () => new Set(),
    },
  );
  try {
    const upgrade = new Upgrade(options, dependencies, writer);
    const summary = await upgrade.run();
    if (summary.isComplete) await writeManifest(fs, folder, manifest);
    return summary;
  } finally {
    await writer.close();
  }
}

class Upgrade {
  readonly #options: UpgradeOptions;
  readonly #dependencies: UpgradeDependencies;
  readonly #writer: ChainWriter;
  readonly #store: SegmentStore;

  constructor(options: UpgradeOptions, dependencies: UpgradeDependencies, writer: ChainWriter) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#writer = writer;
    this.#store = new SegmentStore(options.folder, dependencies.fs);
  }

  async run(): Promise<UpgradeSummary> {
    const { signal, fs } = this.#dependencies;
    const { segments, lists } = this.#writer.visible;
    // With lists, the dataset has the current format already.
    if (lists.length === 0) await removeUnlistedSegments(this.#options.folder, segments, fs);
    let segmentsConverted = 0;
    for (const segment of this.#writer.visible.segments) {
      if (signal.aborted) return { segmentsConverted, hotBlocksConverted: 0, isComplete: false };
      if (await this.#convertSegment(segment)) segmentsConverted++;
      this.#options.onPart?.(segment.blockCount, segment.byteLength);
    }
    const hotBlocksConverted = await this.#convertHot(this.#writer.visible);
    await this.#writer.collect();
    return { segmentsConverted, hotBlocksConverted, isComplete: true };
  }

  /** The new file is durable before the commit that names it, and the old file is removed after the commit. */
  async #convertSegment(segment: SealedSegment): Promise<boolean> {
    const path = `${this.#options.folder}/segments/${segment.id}`;
    const bytes = await readWholeFile(this.#dependencies.fs, path);
    if (!isOlderFormat(bytes.subarray(0, headerBytes))) return false;
    const older = openAnySegment(bytes);
    const buffer = new SegmentBuffer();
    buffer.append(mergeSegments([older]));
    const built = buffer.finish();
    const rewritten = describeBuilt(built, older.headers.toArray());
    await this.#store.write(rewritten, built.parts);
    await this.#writer.commit([{ kind: 'rewrite', segments: [rewritten], blocks: [] }]);
    await this.#removeUnused();
    return true;
  }

  /** Converts all hot blocks in one commit, because payloads are numbered in the order of the chain. */
  async #convertHot({ hot }: ChainSnapshot): Promise<number> {
    const payloads = await Promise.all(hot.map((block) => this.#readHot(block)));
    if (!payloads.some(({ isOlder }) => isOlder)) return 0;
    const blocks = payloads.map(({ block }) => block);
    await this.#writer.commit([{ kind: 'rewrite', segments: [], blocks }]);
    return blocks.length;
  }

  async #readHot({ header, payload }: HotBlock): Promise<{ block: NewBlock; isOlder: boolean }> {
    const bytes = await this.#writer.readPayload(payload);
    const isOlder = isOlderFormat(bytes.subarray(0, headerBytes));
    const converted = isOlder ? mergeSegments([openAnySegment(bytes)]) : bytes;
    return { block: { header, bytes: converted }, isOlder };
  }

  async #removeUnused(): Promise<void> {
    const files = await this.#store.remove(this.#writer.visible.unused);
    await this.#writer.commit([{ kind: 'forget', files }]);
  }
}
