/**
 * Tables as folders of Parquet files, of finalized blocks only.
 *
 *   FOLDER/TABLE.state.json                          the state, with the list of files
 *   FOLDER/TABLE/000000001000-000000001999.parquet   the rows of these slots
 *
 * The state is beside the folder of the table, because polars and others read every file of a folder as a part of the table.
 * A file is written completely before the state lists it, and the state is replaced by a rename. Files that a killed process left do not
 * count, and are removed when the table is opened.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { messageOf } from '@sluice/protocol/unknown-value';
import { buildWriter } from '../column-types.ts';
import type { Row } from '../row-builder.ts';
import {
  checkDefinition,
  newTable,
  SequentialStore,
  type StoredTable,
  statusOf,
  type TableWriter,
} from '../sequential-store.ts';
import type { TablePlan } from '../table-plan.ts';
import type { OpenOptions, SyncTarget, TableStatus, TableStore } from '../target.ts';
import { encodeRows, fileType } from './encode-rows.ts';

interface ParquetFile {
  readonly path: string;
  readonly rows: number;
  readonly sha256: string;
}

interface StateFile {
  /** Grows with every process that opens the table. */
  readonly generation: number;
  readonly table: StoredTable;
  readonly files: readonly ParquetFile[];
}

/** Rows of a file, which are in memory until it is written. */
const fileRowsMax = 200_000;
/** The slots of a file at most, also if it has few rows: about ten minutes of a ledger. */
const fileSlotsMax = 1_500;
const stateEnd = '.state.json';
/** The files that this target writes. Others belong to the user. */
const ownName = /^\d{12,}-\d{12,}\.parquet(\.tmp)?$/;

export class ParquetTarget implements SyncTarget {
  readonly name: string;
  readonly isSequential = true;
  readonly isFinalizedOnly = true;
  readonly #folder: string;
  readonly #clock: Clock;

  constructor(folder: string, { clock }: { readonly clock: Clock }) {
    this.name = folder;
    this.#folder = folder;
    this.#clock = clock;
  }

  async check(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
  }

  async openTable(plan: TablePlan, { isRebuilt }: OpenOptions): Promise<TableStore> {
    const folder = join(this.#folder, plan.name.replace(/^public\./, ''));
    mkdirSync(folder, { recursive: true });
    const entries = readdirSync(folder);
    const found = existsSync(folder + stateEnd) ? readState(folder) : undefined;
    if (found === undefined && entries.length > 0)
      throw new CodedError('sync-table-foreign', { table: folder });
    const stored = isRebuilt ? undefined : found;
    if (stored !== undefined) checkDefinition(plan, stored.table.definition);
    const state: StateFile = {
      generation: (found?.generation ?? 0) + 1,
      table: stored?.table ?? newTable(plan, this.#clock.unixMs()),
      files: stored?.files ?? [],
    };
    writeState(folder, state);
    const listed = new Set(state.files.map(({ path }) => path));
    for (const entry of entries)
      if (ownName.test(entry) && !listed.has(entry)) rmSync(join(folder, entry), { force: true });
    const writer = new ParquetWriter(plan, folder, state);
    return new SequentialStore(state.table, writer, () => this.#clock.unixMs());
  }

  describe({ name, columns }: TablePlan): string {
    const lines = columns.map((column) => {
      const { type, converted_type } = fileType(column.type).element;
      return `--   ${column.name} ${[type, converted_type].filter(Boolean).join(' ')}`;
    });
    return [`-- ${name.replace(/^public\./, '')}/*.parquet`, ...lines].join('\n');
  }

  writeRow({ columns }: TablePlan, row: Row): readonly string[] {
    return columns.map(({ type }, i) => buildWriter(type)(row[i]));
  }

  async status(): Promise<readonly TableStatus[]> {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .filter((entry) => entry.endsWith(stateEnd))
      .map((entry) => entry.slice(0, -stateEnd.length))
      .sort()
      .map((name) => statusOf(name, readState(join(this.#folder, name)).table));
  }

  /** A disk that is full can be emptied. */
  isTransient(error: unknown): boolean {
    return ['ENOSPC', 'EDQUOT', 'EIO'].includes(systemErrorCode(error) ?? '');
  }

  explain(error: unknown): unknown {
    const code = systemErrorCode(error);
    if (error instanceof CodedError || code === undefined) return error;
    const detail = { target: this.name, code, reason: messageOf(error) };
    return new CodedError('sync-target-failed', detail, { cause: error });
  }
}

class ParquetWriter implements TableWriter {
  readonly #plan: TablePlan;
  readonly #folder: string;
  #state: StateFile;
  /** Rows that are not in a file yet, and the state with them. */
  #rows: Row[] = [];
  #next: StoredTable | undefined;

  constructor(plan: TablePlan, folder: string, state: StateFile) {
    this.#plan = plan;
    this.#folder = folder;
    this.#state = state;
  }

  /** Rows of several calls are one file. Until it is written, a process that is killed reads them again. */
  async write({ rows }: { readonly rows: readonly Row[] }, next: StoredTable): Promise<void> {
    for (const row of rows) this.#rows.push(row);
    this.#next = next;
    const slots = slotOf(next) - slotOf(this.#state.table);
    const isPhase = next.phase !== this.#state.table.phase;
    if (isPhase || this.#rows.length >= fileRowsMax || slots >= fileSlotsMax) this.#flush(next);
  }

  async close(): Promise<void> {
    if (this.#next !== undefined) this.#flush(this.#next);
  }

  #flush(next: StoredTable): void {
    const rows = this.#rows;
    const { generation, files } = this.#state;
    if (readState(this.#folder).generation !== generation)
      throw new CodedError('sync-table-busy', { table: this.#plan.name });
    const added: ParquetFile[] = [];
    if (rows.length > 0) {
      // The slot is the first column of every table.
      const [first, last] = [rows[0]?.[0], rows.at(-1)?.[0]].map((slot) =>
        String(slot).padStart(12, '0'),
      );
      const path = `${first}-${last}.parquet`;
      const bytes = encodeRows(this.#plan.columns, rows);
      writeWhole(join(this.#folder, path), bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      added.push({ path, rows: rows.length, sha256 });
    }
    const state = { generation, table: next, files: [...files, ...added] };
    writeState(this.#folder, state);
    this.#state = state;
    this.#rows = [];
    this.#next = undefined;
  }
}

const slotOf = ({ cursor, span }: StoredTable) =>
  cursor?.blocks.at(-1)?.number ?? (span === null ? 0 : span.first - 1);

function readState(folder: string): StateFile {
  const path = folder + stateEnd;
  const text = readFileSync(path, 'utf8');
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw damagedState(path, cause);
  }
}

function damagedState(path: string, cause: unknown): CodedError {
  const detail = { target: path, code: 'damaged', reason: messageOf(cause) };
  return new CodedError('sync-target-failed', detail, { cause });
}

function writeState(folder: string, state: StateFile): void {
  writeWhole(folder + stateEnd, Buffer.from(`${JSON.stringify(state, null, 1)}\n`));
}

/** Writes a file durably under a temporary name, and renames it. */
function writeWhole(path: string, bytes: Uint8Array): void {
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, 'w');
  try {
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
