/**
 * Writes a table as files of slot ranges to a folder, with a manifest beside the folder, because polars and others read every file of a folder
 * as a part of the table. Each file is written under a temporary name and then renamed, and the manifest lists only complete ranges, so an
 * export that was killed continues after the last of them. The ranges begin at multiples of their length, wherever the export begins: the same
 * blocks give the same files.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { ArrowField } from '@sluice/arrow/arrow-type';
import {
  type BatchRows,
  countRows,
  type ExportFormat,
  encodeTable,
  FILE_ENDS,
  type TablePart,
} from '@sluice/arrow/encode-table';
import { type ArrowValue, valuesOf } from '@sluice/arrow/ipc-reader';
import type { Clock } from '@sluice/base/clock';
import { elementAt } from '@sluice/base/element-at';
import { CodedError } from '@sluice/base/errors';
import { writeFileWhole } from '../write-file-whole.ts';
import type { TableBatch } from './read-table.ts';

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
  readonly slotCount: number;
  /** Whether the rows of each day are in a folder of their own. */
  readonly isByDay: boolean;
  /** Whether the files of an earlier export are removed first. */
  readonly force: boolean;
  readonly signal: AbortSignal;
}

export interface ExportDependencies {
  /** Reads the rows of a range of slots, in order. */
  readonly read: (first: number, last: number) => AsyncIterable<TableBatch>;
  /** Called for each range: of an earlier run, or now complete. */
  readonly onRange: (range: ExportedRange, isNew: boolean) => void;
  readonly clock: Clock;
}

export const manifestPathOf = (folder: string) => `${resolve(folder)}.manifest.json`;

/** The number of files that are written at once, because a file waits for the disk. */
const filesInProgressMax = 4;
/** The manifest is written at most once in this time, because it has a line for each file. After a kill, later files are written again. */
const manifestMsMin = 1_000;

interface SlotRange {
  readonly first: number;
  readonly last: number;
}

export async function exportFiles(
  options: ExportOptions,
  { read, onRange, clock }: ExportDependencies,
): Promise<ExportManifest> {
  mkdirSync(options.folder, { recursive: true });
  const manifest = new ManifestFile(options, clock);
  // From now on the folder belongs to this export, also if it is killed before its first file.
  await manifest.write();
  const running = new Set<Promise<void>>();
  const write = async (table: TablePart, range: SlotRange) => {
    if (running.size >= filesInProgressMax) await Promise.race(running);
    const writing = writeRange(options, table, range).then(async (written) => {
      await manifest.add(written, options.signal);
      onRange(written, true);
      running.delete(writing);
    });
    // A write that failed stays in the set, so that the next wait for the set fails.
    writing.catch(() => undefined);
    running.add(writing);
  };
  try {
    for (const run of listRuns(options, manifest, (known) => onRange(known, false)))
      for await (const { range, table } of readRanges(run, read)) await write(table, range);
    await Promise.all(running);
  } finally {
    await Promise.allSettled(running);
    await manifest.write();
  }
  return manifest.content;
}

/** Returns the ranges that are not exported yet. Those that follow each other are read together. */
function listRuns(
  { first, last, slotCount }: ExportOptions,
  manifest: ManifestFile,
  onKnown: (range: ExportedRange) => void,
): SlotRange[][] {
  const runs: SlotRange[][] = [];
  let isContinued = false;
  for (let from = first; from <= last; ) {
    const to = Math.min(last, (Math.floor(from / slotCount) + 1) * slotCount - 1);
    const known = manifest.find(from, to);
    if (known !== undefined) onKnown(known);
    else if (isContinued) runs.at(-1)?.push({ first: from, last: to });
    else runs.push([{ first: from, last: to }]);
    isContinued = known === undefined;
    from = to + 1;
  }
  return runs;
}

/** Reads ranges that follow each other as one stream, and yields the rows of each. */
async function* readRanges(
  ranges: readonly SlotRange[],
  read: ExportDependencies['read'],
): AsyncGenerator<{ readonly range: SlotRange; readonly table: TablePart }> {
  let next = 0;
  let parts: BatchRows[] = [];
  let fields: readonly ArrowField[] = [];
  const end = () => {
    const ended = { range: elementAt(ranges, next++), table: { fields, parts } };
    parts = [];
    return ended;
  };
  for await (const found of read(elementAt(ranges, 0).first, elementAt(ranges, -1).last)) {
    fields = found.fields;
    const { batch, covered } = found;
    const slots = slotsOf(found);
    for (let start = 0; next < ranges.length; ) {
      const { last } = elementAt(ranges, next);
      const from = start;
      while (start < slots.length && elementAt(slots, start) <= last) start++;
      if (start > from) parts.push({ batch, start: from, end: start });
      if (covered.number < last) break;
      yield end();
    }
  }
  while (next < ranges.length) yield end();
}

/** Returns the slot of each row. */
function slotsOf({ fields, batch }: TableBatch): readonly number[] {
  const at = fields.findIndex(({ name }) => name === 'block_slot');
  const slots = valuesOf(elementAt(fields, at), elementAt(batch.columns, at), batch.dictionary);
  return slots.map(Number);
}

/** The manifest of the folder. It lists a range only when its files are complete. */
class ManifestFile {
  readonly #folder: string;
  readonly #path: string;
  readonly #clock: Clock;
  #content: ExportManifest;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #replaced: ExportedRange[] = [];
  #hasChanged: boolean;
  #writing = Promise.resolve();

  constructor(options: ExportOptions, clock: Clock) {
    this.#clock = clock;
    this.#folder = options.folder;
    this.#path = manifestPathOf(options.folder);
    const stored = openManifest(options);
    this.#content = stored ?? build(options.request, []);
    this.#hasChanged = stored === undefined;
  }

  get content(): ExportManifest {
    return this.#content;
  }

  /** Returns a range whose files are complete. */
  find(from: number, to: number): ExportedRange | undefined {
    const known = this.#content.ranges.find(({ first }) => first === from);
    const isComplete = ({ path }: ExportedFile) => existsSync(join(this.#folder, path));
    return known?.last === to && known.files.every(isComplete) ? known : undefined;
  }

  /** Adds a range, and removes the ranges that it overlaps: the last range of an earlier export can be the beginning of this one. */
  async add(range: ExportedRange, signal: AbortSignal): Promise<void> {
    const { request, ranges } = this.#content;
    const isApart = ({ first, last }: ExportedRange) => first > range.last || last < range.first;
    this.#replaced.push(...ranges.filter((other) => !isApart(other)));
    this.#content = build(request, [...ranges.filter(isApart), range]);
    this.#hasChanged = true;
    if (this.#clock.nowMs() - this.#writtenMs >= manifestMsMin) await this.write(signal);
  }

  /** Writes the manifest if it has changed. */
  write(signal = new AbortController().signal): Promise<void> {
    this.#writtenMs = this.#clock.nowMs();
    this.#writing = this.#writing.then(() => this.#writeChanged(signal));
    return this.#writing;
  }

  async #writeChanged(signal: AbortSignal): Promise<void> {
    if (!this.#hasChanged) return;
    this.#hasChanged = false;
    const { ranges } = this.#content;
    const replaced = this.#replaced.splice(0);
    const text = `${JSON.stringify(this.#content, null, 1)}\n`;
    const output = { path: this.#path, force: true };
    await writeFileWhole(output, signal, async (write) => write(Buffer.from(text)));
    const names = new Set(ranges.flatMap(({ files }) => files.map(({ path }) => path)));
    for (const { path } of replaced.flatMap(({ files }) => files))
      if (!names.has(path)) rmSync(join(this.#folder, path), { force: true });
  }
}

/** Returns the manifest of an earlier run of the same export, if there is one, and removes the files that a killed run left. */
function openManifest({ folder, request, force }: ExportOptions): ExportManifest | undefined {
  const path = manifestPathOf(folder);
  if (force) rmSync(path, { force: true });
  const stored = existsSync(path) ? parseManifest(path) : undefined;
  if (stored !== undefined && JSON.stringify(stored.request) !== JSON.stringify(request))
    throw new CodedError('cli-out-differs', { path });
  const listed = new Set(stored?.ranges.flatMap(({ files }) => files.map((file) => file.path)));
  if (stored !== undefined || force) removeUnlisted(folder, listed);
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  if (stored === undefined && entries.some((entry) => !dayFolder.test(entry)))
    throw new CodedError('cli-folder-used', { path: folder });
  return stored;
}

const dayFolder = /^day=[^/]*$/;
/** The files that an export writes. Others belong to the user. */
const exportedFile = /^(day=[^/]*\/)?\d{12,}-\d{12,}\.(parquet|arrows|csv|jsonl)(\.\d+\.tmp)?$/;

function removeUnlisted(folder: string, listed: ReadonlySet<string>): void {
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (exportedFile.test(entry) && !listed.has(entry)) rmSync(join(folder, entry));
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

function build(request: object, ranges: readonly ExportedRange[]): ExportManifest {
  const sorted = ranges.toSorted((a, b) => a.first - b.first);
  return { request, rows: sorted.reduce((sum, { rows }) => sum + rows, 0), ranges: sorted };
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
