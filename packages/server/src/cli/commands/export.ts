import { EXPORT_FORMATS, type ExportFormat } from '@sluice/arrow/encode-table';
import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import {
  ARROW_ADDRESSES,
  ARROW_TABLE_NAMES,
  ARROW_TABLES,
  type ArrowAddresses,
  type ArrowTable,
} from '@sluice/protocol/arrow-table';
import { RECORD_ARRAYS } from '@sluice/protocol/field-table';
import { Command, Option } from 'commander';
import type { CommandContext } from '../context.ts';
import { exportFiles } from '../export/export-files.ts';
import { readBatches } from '../export/read-table.ts';
import { formatCount } from '../format-table.ts';
import { numberOption } from '../parse-option.ts';
import { Progress } from '../progress.ts';
import { buildDraft } from '../query/build-body.ts';
import { itemsOf, kindsOf } from '../query/choose-fields.ts';
import { addFilterOptions, addRangeOptions, type QueryOptions } from '../query/query-options.ts';
import { resolveRange } from '../query/resolve-range.ts';
import { createTargetClient } from '../query/run-query.ts';
import { stopSignal } from '../stop-signal.ts';
import { type Target, withTarget } from '../target/open-target.ts';
import { addTarget, targetHelp } from '../target/target-options.ts';

interface ExportCommandOptions extends Omit<QueryOptions, 'out' | 'output' | 'kind'> {
  readonly table: ArrowTable;
  readonly format: ExportFormat;
  readonly out: string;
  readonly addresses: ArrowAddresses;
  readonly slots: number;
  readonly byDay?: boolean;
}

/** A file of this many slots has a few hundred megabytes of rows at most, which are in memory while it is written. */
const slotsDefault = 1_000;

export function buildExportCommand(context: CommandContext): Command {
  const command = new Command('export').description(
    'Write the records of finalized blocks as files of one table: Parquet, Arrow, CSV or JSON lines.',
  );
  addFilterOptions(addTarget(command));
  addRangeOptions(command, { isFollowing: false });
  return command
    .addOption(
      new Option('--table <name>', 'the table').choices(ARROW_TABLE_NAMES).makeOptionMandatory(),
    )
    .addOption(
      new Option('--format <form>', 'the form of the files')
        .choices(EXPORT_FORMATS)
        .default('parquet'),
    )
    .requiredOption('--out <folder>', 'the folder; running the same command again continues it')
    .addOption(
      new Option('--addresses <form>', 'addresses as text, or as their 32 bytes')
        .choices(ARROW_ADDRESSES)
        .default('text'),
    )
    .addOption(
      new Option('--slots <count>', 'the number of slots in a file')
        .argParser(numberOption({ min: 1, max: 1_000_000, integer: true }))
        .default(slotsDefault),
    )
    .option('--by-day', 'put the rows of each day into a folder day=YYYY-MM-DD')
    .option('--force', 'remove the files of another export in the folder first')
    .option('--quiet', 'no progress on stderr')
    .addHelpText('after', `${examples}\n${targetHelp}`)
    .action(async (name: string | undefined, options: ExportCommandOptions) => {
      const body = await buildBody(options);
      await withTarget(name, options, (target) => exportTable(options, body, { target, context }));
    });
}

const examples = `
Examples:
  $ sluice export mine --table instructions --program TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA --d1 0x03,0x0c --out transfers
  $ sluice export mine --table token_balances --mint EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v --by-day --out balances
  $ sluice export mine --table transactions --query q.json --format csv --from 2026-01-01 --out january

FOLDER.manifest.json, beside the folder, lists the files with their ranges, rows and digests. After an interruption, also by kill -9, the same command
continues; repeated, it gives the same bytes.`;

/** Returns the query without its range. Without `--fields` and `--query` it has the default fields of its records. */
async function buildBody(options: ExportCommandOptions): Promise<Record<string, unknown>> {
  const array = ARROW_TABLES[options.table];
  const { out: _out, ...flags } = options;
  const { draft } = await buildDraft(
    { ...flags, kind: array ?? 'blocks' },
    { stdin: process.stdin, output: 'jsonl' },
  );
  const { fromBlock: _from, toBlock: _to, fields, ...items } = draft;
  if (array !== undefined && !kindsOf(itemsOf(draft)).includes(RECORD_ARRAYS[array])) {
    const fault = `the query selects no rows of ${options.table}; include them with --with`;
    throw new CodedError('cli-usage', { option: '--table', fault });
  }
  const isChosen =
    options.query !== undefined || options.fields !== undefined || options.decode === true;
  return isChosen && fields !== undefined ? { ...items, fields } : items;
}

async function exportTable(
  options: ExportCommandOptions,
  body: Record<string, unknown>,
  { target, context }: { target: Target; context: CommandContext },
): Promise<void> {
  const { table, addresses, format, slots, byDay: isByDay = false, out: folder } = options;
  const signal = stopSignal();
  const client = createTargetClient(target, { isPatient: false });
  const { first, last = -1 } = await resolveRange({ ...options, finalized: true }, {}, client);
  if (last < first)
    return void context.err.write(`there is no finalized block at or after slot ${first} yet\n`);
  const parameters = new URLSearchParams({ table, addresses }).toString();
  let slotCount = 0;
  const share = () => slotCount / (last - first + 1);
  const progress = new Progress({ unit: 'rows', share }, { err: context.err, clock: systemClock });
  const manifest = await exportFiles(
    {
      ...{ folder, format, first, last, slotCount: slots, isByDay, signal },
      force: options.force === true,
      request: { dataset: target.name, query: body, table, addresses, format, slots, isByDay },
    },
    {
      clock: systemClock,
      read: (from, to) => readBatches({ target, body, parameters, first: from, last: to, signal }),
      onRange: (range, isNew) => {
        slotCount += range.last - range.first + 1;
        const bytes = range.files.reduce((sum, file) => sum + file.bytes, 0);
        if (options.quiet !== true) progress.add(isNew ? range.rows : 0, isNew ? bytes : 0);
      },
    },
  );
  if (options.quiet !== true) progress.finish();
  const files = manifest.ranges.reduce((sum, range) => sum + range.files.length, 0);
  context.out.write(
    `${folder}: ${formatCount(manifest.rows)} rows in ${formatCount(files)} file${files === 1 ? '' : 's'}, slots ${first} to ${last}\n`,
  );
}
