/**
 * The manifest of a dataset, `DIR/<dataset>/manifest.json`: a small readable file that is replaced atomically. It
 * contains neither sources nor secrets. The range of the chain is in the journal.
 */

import { createHash } from 'node:crypto';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { hasMembers } from '@sluice/protocol/unknown-value';
import type { MissingKind, NormalizeOptions } from '@sluice/source/normalize/normalize-options';
import { type Fs, readWholeFile, writeFileAtomically } from '../storage/fs.ts';

export interface Manifest {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Null until a source reported it. From then on sources of another ledger are rejected. */
  readonly genesisHash: string | null;
  readonly votes: NormalizeOptions['votes'];
  readonly metaOptional: boolean;
  readonly allowMissing: readonly MissingKind[];
  /** The configured start, absent if the dataset was imported from files. The actual start is in the journal. */
  readonly from?: 'latest' | 'earliest' | 'genesis' | number;
}

/**
 * The version of the format of all files in the dataset's folder. A program that does not support it changes nothing
 * there.
 */
export const dataFormatVersion = 3;
/**
 * In this version the journal describes all segments, and segments that it does not describe are removed when the dataset is opened. Opening
 * it for writing converts it.
 */
export const listlessVersion = 2;
/** The version that `sluice dataset upgrade` converts. */
export const upgradableVersion = 1;
const readableVersions: readonly number[] = [dataFormatVersion, listlessVersion];
export const manifestName = 'manifest.json';

export async function writeManifest(fs: Fs, folder: string, manifest: Manifest): Promise<void> {
  const text = `${encodeManifest(manifest)}\n`;
  await writeFileAtomically(fs, folder, manifestName, [new TextEncoder().encode(text)]);
}

/** Reads a manifest of a readable version; `versions` allows others. */
export async function readManifest(
  fs: Fs,
  folder: string,
  versions: readonly number[] = readableVersions,
): Promise<Manifest> {
  return (await readVersioned(fs, folder, versions)).manifest;
}

export interface VersionedManifest {
  readonly formatVersion: number;
  readonly manifest: Manifest;
}

export async function readVersioned(
  fs: Fs,
  folder: string,
  versions: readonly number[] = readableVersions,
): Promise<VersionedManifest> {
  const bytes = await readWholeFile(fs, `${folder}/${manifestName}`).catch((cause: unknown) => {
    if (!isCodedError(cause, 'storage-missing')) throw cause;
    throw new CodedError('dataset-manifest-damaged', { fault: 'the file is missing' }, { cause });
  });
  return parseManifest(new TextDecoder().decode(bytes), versions);
}

export function encodeManifest(manifest: Manifest): string {
  const content = { formatVersion: dataFormatVersion, ...manifest };
  return JSON.stringify({ ...content, checksum: checksumOf(content) }, null, 2);
}

/** Parses a manifest. The version is checked first, because a newer program may write a different content. */
function parseManifest(text: string, versions: readonly number[]): VersionedManifest {
  const { checksum, ...content } = parseObject(text);
  const { formatVersion, ...manifest } = content;
  if (typeof formatVersion === 'number' && !versions.includes(formatVersion)) {
    if (formatVersion === upgradableVersion)
      throw new CodedError('dataset-upgrade-needed', { formatVersion, known: dataFormatVersion });
    throw new CodedError('dataset-version-unknown', { formatVersion, known: dataFormatVersion });
  }
  if (checksum !== checksumOf(content)) {
    throw new CodedError('dataset-manifest-damaged', { fault: 'the checksum does not match' });
  }
  return { formatVersion: Number(formatVersion), manifest: manifest as unknown as Manifest };
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (hasMembers(value)) return value;
  } catch {
    // Handled below, like any other value that is not an object.
  }
  throw new CodedError('dataset-manifest-damaged', { fault: 'the content is not a JSON object' });
}

function checksumOf(content: object): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}
