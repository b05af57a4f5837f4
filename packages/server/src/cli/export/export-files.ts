/**
 * Writes a table as files of slot ranges to a folder, with a manifest. Each file is written under a temporary name and then renamed, and the
 * manifest lists only complete ranges, so an export that was killed continues after the last of them. The ranges begin at multiples of their
 * length, wherever the export begins: the same blocks give the same files.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ArrowValue, valuesOf } from '@sluice/arrow/ipc-reader';
import { elementAt } from '@sluice/base/element-at';
import { CodedError } from '@sluice/base/errors';
import { writeFileWhole } from '../write-file-whole.ts';
import {
  type BatchRows,
  countRows,
  type ExportFormat,
  encodeTable,
  FILE_ENDS,
  type TablePart,
} from './encode-table.ts';

export interface ExportedFile {
  /** Relative to the folder. */
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

interface ExportedRange {
  readonly first: number;
  readonly last: number;
  readonly rows: number;
  readonly files: readonly ExportedFile[];
}

export interface ExportManifest {
  /** What was exported: the query, the table and the form of the files. */
  readonly request: object;
  readonly rows: number;
  readonly ranges: readonly ExportedRange[];
}

export interface ExportOptions {
  readonly folder: string;
  readonly format: ExportFormat;
  readonly request: object;
  readonly first: number;
  readonly last: number;
  /** The number of slots in a file. */
  readonly slotCount: number;
  /** Whether the rows of each day are in a folder of their own. */
  readonly isByDay: boolean;
  /** Whether the files of an earlier export are removed first. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

export interface ExportDependencies {
  readonly read: (first: number, last: number) => Promise<TablePart>;
  readonly onRange: (range: ExportedRange) => void;
}

const manifestName = 'manifest.json';

export async function exportFiles(
  options: ExportOptions,
  { read, onRange }: ExportDependencies,
): Promise<ExportManifest> {
  const { folder, first, last, slotCount, signal } = options;
  mkdirSync(folder, { recursive: true });
  let manifest = openManifest(options);
  removeTemporary(folder);
  for (let from = first; from <= last; ) {
    const to = Math.min(last, (Math.floor(from / slotCount) + 1) * slotCount - 1);
    const known = manifest.ranges.find((range) => range.first === from);
    if (known?.last === to && known.files.every(({ path }) => existsSync(join(folder, path)))) {
      onRange(known);
    } else {
      const range = await writeRange(options, await read(from, to), { first: from, last: to });
      const names = new Set(range.files.map(({ path }) => path));
      const others = manifest.ranges.filter((other) => other.first > to || other.last < from);
      const replaced = manifest.ranges.filter((other) => !others.includes(other));
      manifest = build(options.request, [...others, range]);
      await writeManifest(folder, manifest, signal);
      // The range at the end of an earlier export may have been shorter.
      for (const { path } of replaced.flatMap(({ files }) => files))
        if (!names.has(path)) rmSync(join(folder, path), { force: true });
      onRange(range);
    }
    from = to + 1;
  }
  return manifest;
}

function openManifest({ folder, request, force }: ExportOptions): ExportManifest {
  const path = join(folder, manifestName);
  if (!existsSync(path)) {
    if (readdirSync(folder).length > 0) throw new CodedError('cli-file-exists', { path: folder });
    return build(request, []);
  }
  const manifest = parseManifest(path);
  if (force) {
    for (const { path: file } of manifest.ranges.flatMap(({ files }) => files))
      rmSync(join(folder, file), { force: true });
    rmSync(path);
    return build(request, []);
  }
  if (JSON.stringify(manifest.request) !== JSON.stringify(request))
    throw new CodedError('cli-out-differs', { path });
  return manifest;
}

function parseManifest(path: string): ExportManifest {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw damaged(path, error);
  }
}

const damaged = (path: string, cause: unknown) =>
  new CodedError('cli-out-damaged', { path, fault: 'it is not JSON' }, { cause });

/** Removes what a killed process has left. */
function removeTemporary(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (/\.\d+\.tmp$/.test(entry)) rmSync(join(folder, entry), { force: true });
}

function build(request: object, ranges: readonly ExportedRange[]): ExportManifest {
  const sorted = ranges.toSorted((a, b) => a.first - b.first);
  return { request, rows: sorted.reduce((sum, { rows }) => sum + rows, 0), ranges: sorted };
}

async function writeManifest(
  folder: string,
  manifest: ExportManifest,
  signal: AbortSignal,
): Promise<void> {
  const text = `${JSON.stringify(manifest, null, 1)}\n`;
  const output = { path: join(folder, manifestName), force: true };
  await writeFileWhole(output, signal, async (write) => write(Buffer.from(text)));
}

async function writeRange(
  { folder, format, isByDay, signal }: ExportOptions,
  table: TablePart,
  { first, last }: { first: number; last: number },
): Promise<ExportedRange> {
  const name = `${slotText(first)}-${slotText(last)}.${FILE_ENDS[format]}`;
  const files: ExportedFile[] = [];
  for (const [day, part] of isByDay ? splitByDay(table) : [[undefined, table] as const]) {
    const rows = countRows(part);
    if (rows === 0) continue;
    const path = day === undefined ? name : join(`day=${day}`, name);
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    const bytes = encodeTable(format, part);
    const output = { path: join(folder, path), force: true };
    await writeFileWhole(output, signal, async (write) => write(bytes));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    files.push({ path, rows, bytes: bytes.length, sha256 });
  }
  return { first, last, rows: countRows(table), files };
}

const slotText = (slot: number) => String(slot).padStart(12, '0');

/** The name that readers of partitioned folders take as an unknown value. */
const unknownDay = '__HIVE_DEFAULT_PARTITION__';

/** Divides the rows by the day of their block. The rows of a block are adjacent. */
function splitByDay({ fields, parts }: TablePart): Map<string, TablePart> {
  const at = fields.findIndex(({ name }) => name === 'block_time');
  const days = new Map<string, BatchRows[]>();
  for (const { batch, start, end } of parts) {
    const times = valuesOf(elementAt(fields, at), elementAt(batch.columns, at), batch.dictionary);
    for (let from = start; from < end; ) {
      const day = dayOf(times[from]);
      let to = from + 1;
      while (to < end && (times[to] === times[from] || dayOf(times[to]) === day)) to++;
      const list = days.get(day) ?? [];
      list.push({ batch, start: from, end: to });
      days.set(day, list);
      from = to;
    }
  }
  return new Map([...days].map(([day, rows]) => [day, { fields, parts: rows }]));
}

function dayOf(seconds: ArrowValue | undefined): string {
  if (typeof seconds !== 'bigint') return unknownDay;
  return new Date(Number(seconds) * 1000).toISOString().slice(0, 10);
}
