import { readFileSync } from 'node:fs';
import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { isTerminal } from '@sluice/base/terminal';
import type { Client } from '@sluice/client';
import { messageOf } from '@sluice/protocol/unknown-value';
import type { TableSpec } from '@sluice/sync/table-spec';
import type { TableStatus } from '@sluice/sync/target';
import { Command, Help, Option } from 'commander';
import type { CommandContext } from '../context.ts';
import { readBatches } from '../export/read-table.ts';
import { formatCount, formatTable } from '../format-table.ts';
import { numberOption, portOption, slotOption } from '../parse-option.ts';
import { createTargetClient } from '../query/run-query.ts';
import { stopSignal } from '../stop-signal.ts';
import { SyncReporter } from '../sync-reporter.ts';
import { openTarget, type Target } from '../target/open-target.ts';
import { addTarget, type TargetOptions, targetHelp } from '../target/target-options.ts';

interface SyncOptions extends TargetOptions {
  readonly to?: string;
  readonly tables?: string;
  readonly program?: string;
  readonly instruction?: string;
  readonly event?: string;
  readonly table?: string;
  readonly fromBlock?: number;
  readonly toBlock?: number;
  readonly finalized?: boolean;
  readonly workers: number;
  readonly wait: number;
  readonly rebuild?: boolean;
  readonly dryRun?: boolean;
  readonly metricsPort?: number;
}

const sampleCount = 5;

export function buildSyncCommand(context: CommandContext): Command {
  const to = new Option(
    '--to <address>',
    'postgres://USER:PASSWORD@HOST:PORT/DATABASE, nats://HOST:PORT/STREAM, duckdb:FILE, or parquet:FOLDER',
  ).env('SLUICE_SYNC_TO');
  const status = new Command('status')
    .usage('--to <address> [options]')
    // The command reads the option of its parent, so only the help has it.
    .configureHelp({ visibleOptions: (each) => [to, ...new Help().visibleOptions(each)] })
    .description('Show the tables of a database: their position, their lag, rows and forks.')
    .option('--json', 'print JSON, as when the output is piped')
    .addHelpText('after', '\nExamples:\n  $ sluice sync status --to postgres://127.0.0.1/mine')
    .action(async (_: unknown, command: Command) => {
      await showStatus(command.optsWithGlobals<SyncOptions & { json?: boolean }>(), context);
    });
  const command = new Command('sync').description(
    'Keep tables of a database equal to queries of a dataset: history first, then every new block.',
  );
  return addTarget(command)
    .addOption(to)
    .option('--tables <file>', 'the tables, in YAML (docs/sync.md)')
    .option('--table <name>', 'one table, of --program, or of all records of a kind: transactions…')
    .option('--program <address>', 'the program of --instruction or --event')
    .option('--instruction <name>', 'a row for each instruction of this name, of its IDL')
    .option('--event <name>', 'a row for each event of this name, of its IDL')
    .addOption(new Option('--from-block <slot>', 'the first slot').argParser(slotOption))
    .addOption(
      new Option('--to-block <slot>', 'end when this slot is finalized and stored').argParser(
        slotOption,
      ),
    )
    .option('--finalized', 'store finalized blocks only')
    .addOption(
      new Option('--workers <count>', 'parts of the history that are loaded at the same time')
        .argParser(numberOption({ min: 1, max: 64, integer: true }))
        .default(4),
    )
    .addOption(
      new Option('--wait <seconds>', 'how long to wait for a service or a database that starts')
        .argParser(numberOption({ min: 0, max: 86_400, integer: true }))
        .default(60),
    )
    .option('--rebuild', 'drop the tables and load them again')
    .option('--dry-run', 'print the statements and five rows; write nothing')
    .addOption(
      new Option('--metrics-port <port>', 'serve metrics for Prometheus on loopback').argParser(
        portOption,
      ),
    )
    .addCommand(status)
    .addHelpText('after', `${examples}\n${targetHelp}`)
    .action((name: string | undefined, options: SyncOptions) => sync(name, options, context));
}

const examples = `
Examples:
  $ sluice sync --to postgres://127.0.0.1/mine --table transactions
  $ sluice sync --to postgres://127.0.0.1/mine --program 7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc --instruction swap --table swaps
  $ sluice sync mine --to postgres://127.0.0.1/mine --tables tables.yaml --dry-run
  $ sluice sync status --to postgres://127.0.0.1/mine

The command can be stopped at any time and continues where it stopped. SLUICE_SYNC_TO keeps the password out of the list of processes.`;

async function sync(
  name: string | undefined,
  options: SyncOptions,
  context: CommandContext,
): Promise<void> {
  const { openSyncTarget, planTables, repeatStart } = await import('@sluice/sync/run-sync');
  const { isServiceFailure } = await import('@sluice/sync/sync-table');
  const specs = await readSpecs(options);
  const target = await openSyncTarget(requireAddress(options), { clock: systemClock });
  const onWait = waitReporter(options, context);
  const waiting = {
    ...{ clock: systemClock, signal: stopSignal(), waitMsMax: options.wait * 1000 },
    ...{ isTransient: isServiceFailure, onFailure: onWait },
  };
  const dataset = await repeatStart(
    () => openTarget({ target: name, data: options.data }),
    waiting,
  );
  try {
    if (dataset.folder !== undefined && options.toBlock === undefined && options.dryRun !== true)
      throw new CodedError('cli-follow-folder', { folder: dataset.where });
    const first = createTargetClient(dataset, { isPatient: false });
    const plans = await repeatStart(() => planTables(specs, first), waiting);
    const parts = { plans, target, dataset, context };
    if (options.dryRun === true) await showSamples(parts);
    else await run(parts, options);
  } finally {
    await dataset.close();
  }
}

/** Says once why the start waits, and again if the reason changes. */
function waitReporter({ wait }: SyncOptions, { err }: CommandContext): (error: unknown) => void {
  let shown = '';
  return (error) => {
    const text = messageOf(error);
    if (text !== shown) err.write(`${text}; waiting for it, for up to ${wait} s\n`);
    shown = text;
  };
}

function requireAddress({ to }: Pick<SyncOptions, 'to'>): string {
  if (to !== undefined) return to;
  const allowed =
    'postgres://USER:PASSWORD@HOST:PORT/DATABASE, nats://HOST:PORT/STREAM, duckdb:FILE or parquet:FOLDER, here or in SLUICE_SYNC_TO';
  throw new CodedError('cli-usage', { option: '--to', fault: 'is missing', allowed });
}

async function readSpecs(options: SyncOptions): Promise<readonly TableSpec[]> {
  const { parseTablesFile, READY_TABLES, specOfProgram, specOfReadyTable } = await import(
    '@sluice/sync/table-spec'
  );
  const { tables, table, program, instruction, event, fromBlock } = options;
  if (tables !== undefined) {
    const given = { table, program, instruction, event };
    const [other] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
    if (other !== undefined)
      throw new CodedError('cli-usage', {
        option: `--${other}`,
        fault: 'cannot be combined with --tables',
      });
    return parseTablesFile(readText(tables)).map((spec) => ({
      ...spec,
      fromBlock: spec.fromBlock ?? fromBlock,
    }));
  }
  const ready = Object.keys(READY_TABLES).join(' ');
  if (table === undefined)
    throw new CodedError('cli-usage', { option: '--tables or --table', fault: 'is missing' });
  if (program !== undefined)
    return [specOfProgram({ table, programId: program, instruction, event, fromBlock })];
  if (instruction !== undefined || event !== undefined)
    throw new CodedError('cli-usage', { option: '--program', fault: 'is missing' });
  const spec = specOfReadyTable(table, fromBlock);
  if (spec !== undefined) return [spec];
  throw new CodedError('cli-usage', {
    option: '--table',
    found: table,
    fault: 'needs --program',
    allowed: `without a program: ${ready}`,
  });
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, cause: unknown): CodedError {
  const reason = systemErrorCode(cause) ?? messageOf(cause);
  return new CodedError('cli-file-unreadable', { path, reason }, { cause });
}

type Module = typeof import('@sluice/sync/run-sync');

interface SyncParts {
  readonly plans: Awaited<ReturnType<Module['planTables']>>;
  readonly target: Awaited<ReturnType<Module['openSyncTarget']>>;
  readonly dataset: Target;
  readonly context: CommandContext;
}

async function showSamples({ plans, target, dataset, context }: SyncParts): Promise<void> {
  const { readSample } = await import('@sluice/sync/run-sync');
  const client: Client = createTargetClient(dataset, { isPatient: false });
  for (const plan of plans) {
    const rows = await readSample(plan, client, { countMax: sampleCount, signal: stopSignal() });
    const heading = plan.columns.map(({ name }) => name);
    const cells = rows.map((row) => target.writeRow(plan, row));
    context.out.write(`${target.describe(plan)}\n\n`);
    context.out.write([heading, ...cells].map((line) => `-- ${line.join('  ')}\n`).join(''));
    context.out.write(`-- ${rows.length === 0 ? 'no rows yet' : `${rows.length} rows`}\n\n`);
  }
}

async function run({ plans, target, dataset, context }: SyncParts, options: SyncOptions) {
  const { runSync } = await import('@sluice/sync/run-sync');
  const { SyncMetrics } = await import('@sluice/sync/sync-metrics');
  const { toBlock, finalized, rebuild, workers, metricsPort } = options;
  const metrics = new SyncMetrics(systemClock);
  const server = metricsPort === undefined ? undefined : await metrics.listen(metricsPort);
  if (server !== undefined) context.err.write(`metrics: http://127.0.0.1:${server.port}/metrics\n`);
  const reporter = new SyncReporter(context.err, systemClock);
  const client = createTargetClient(dataset, {
    isPatient: true,
    onEvent: (event) => reporter.takeClient(event),
  });
  const signal = stopSignal();
  try {
    await runSync(
      {
        plans,
        target,
        client,
        toBlock,
        isFinalized: finalized === true,
        isRebuilt: rebuild === true,
        workerCount: workers,
        waitMsMax: options.wait * 1000,
      },
      {
        clock: systemClock,
        signal,
        onWait: waitReporter(options, context),
        readColumns: ({ query, parameters: given, after }, either) => {
          const { fromBlock: first, toBlock: last, ...body } = query;
          const parameters = new URLSearchParams(given).toString();
          const range = { first, last: last ?? first, after };
          return readBatches({ target: dataset, body, parameters, ...range, signal: either });
        },
        onEvent: (event) => {
          metrics.take(event);
          reporter.take(event);
        },
      },
    );
  } catch (error) {
    // Ctrl-C is the normal end of a command that follows.
    if (!signal.aborted || toBlock !== undefined) throw explain(error, signal);
  } finally {
    reporter.end();
    server?.close();
  }
}

function explain(cause: unknown, signal: AbortSignal): unknown {
  return signal.aborted ? new CodedError('sync-interrupted', {}, { cause }) : cause;
}

async function showStatus(
  options: SyncOptions & { readonly json?: boolean },
  { out }: CommandContext,
): Promise<void> {
  const { openSyncTarget } = await import('@sluice/sync/run-sync');
  const target = await openSyncTarget(requireAddress(options), { clock: systemClock });
  let tables: readonly TableStatus[];
  try {
    tables = await target.status();
  } catch (error) {
    throw target.explain(error);
  }
  const nowMs = systemClock.unixMs();
  if (options.json === true || !isTerminal(out)) {
    const rows = tables.map((table) => ({ ...table, lag: lagOf(table, nowMs) }));
    return void out.write(`${JSON.stringify(rows)}\n`);
  }
  const rows = tables.map((table) => [
    table.table,
    table.phase === 'follow' ? 'follows' : `loads, ${Math.floor(table.loadedShare * 100)} %`,
    table.slot === null ? '-' : String(table.slot),
    table.blockTime === null ? '-' : `${lagOf(table, nowMs)} s`,
    formatCount(table.rowCount),
    formatCount(table.forkCount),
    table.updatedAt.toISOString(),
  ]);
  out.write(formatTable([['table', 'state', 'slot', 'lag', 'rows', 'forks', 'changed'], ...rows]));
}

/** Returns the age of the newest stored block in seconds. */
function lagOf({ blockTime }: TableStatus, nowMs: number): number | null {
  return blockTime === null ? null : Math.max(0, Math.round((nowMs - blockTime.getTime()) / 1000));
}
