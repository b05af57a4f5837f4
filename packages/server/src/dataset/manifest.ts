/**
 * What a dataset is, in `DIR/<dataset>/manifest.json`: small, readable, written whole. No sources and no secrets are in
 * it. Where the chain begins and ends is in the journal.
 */
import { createHash } from 'node:crypto';
import { CodedError, isCodedError } from '../base/errors.ts';
import type { MissingKind, NormalizeOptions } from '../source/normalize-options.ts';
import { type Fs, readWholeFile, writeFileAtomically } from '../storage/fs.ts';

export interface Manifest {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Null until a source told it; from then on no other ledger is followed. */
  readonly genesisHash: string | null;
  readonly votes: NormalizeOptions['votes'];
  readonly metaOptional: boolean;
  readonly allowMissing: readonly MissingKind[];
  /** Where it was to begin; absent where files made it. Where it does is in the journal. */
  readonly from?: 'latest' | 'earliest' | 'genesis' | number;
}

/** Of everything in the dataset's folder. A program that does not know it touches nothing there. */
export const dataFormatVersion = 2;
/** What `sluice dataset upgrade` converts. */
export const upgradableVersion = 1;
export const manifestName = 'manifest.json';
export const datasetNamePattern = /^[a-z0-9][a-z0-9-]{0,63}$/;

export async function writeManifest(fs: Fs, folder: string, manifest: Manifest): Promise<void> {
  const text = `${encodeManifest(manifest)}\n`;
  await writeFileAtomically(fs, folder, manifestName, [new TextEncoder().encode(text)]);
}

/** Reads a manifest of this version; `versions` allows others. */
export async function readManifest(
  fs: Fs,
  folder: string,
  versions: readonly number[] = [dataFormatVersion],
): Promise<Manifest> {
  const bytes = await readWholeFile(fs, `${folder}/${manifestName}`).catch((cause: unknown) => {
    if (!isCodedError(cause, 'storage-missing')) throw cause;
    throw new CodedError('dataset-manifest-damaged', { fault: 'it is missing' }, { cause });
  });
  return parseManifest(new TextDecoder().decode(bytes), versions);
}

export function encodeManifest(manifest: Manifest): string {
  const content = { formatVersion: dataFormatVersion, ...manifest };
  return JSON.stringify({ ...content, checksum: checksumOf(content) }, null, 2);
}

/** The version is looked at first: what else a newer program writes there is not ours to judge. */
export function parseManifest(
  text: string,
  versions: readonly number[] = [dataFormatVersion],
): Manifest {
  const { checksum, ...content } = parseObject(text);
  const { formatVersion, ...manifest } = content;
  if (typeof formatVersion === 'number' && !versions.includes(formatVersion)) {
    if (formatVersion === upgradableVersion)
      throw new CodedError('dataset-upgrade-needed', { formatVersion, known: dataFormatVersion });
    throw new CodedError('dataset-version-unknown', { formatVersion, known: dataFormatVersion });
  }
  if (checksum !== checksumOf(content)) {
    throw new CodedError('dataset-manifest-damaged', { fault: 'its checksum does not fit' });
  }
  return manifest as unknown as Manifest;
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Told below, as for anything else that is no object.
  }
  throw new CodedError('dataset-manifest-damaged', { fault: 'it is no JSON object' });
}

function checksumOf(content: object): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
