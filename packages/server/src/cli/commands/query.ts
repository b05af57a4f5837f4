import { CodedError } from '@sluice/base/errors';
import { isTerminal, styler, usesColor, widthOf } from '@sluice/base/terminal';
import { RECORD_ARRAY_NAMES, RECORD_ARRAYS, type RecordArray } from '@sluice/protocol/field-table';
import type { QueryBody } from '@sluice/protocol/query-body';
import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { formatCount, formatTable } from '../format-table.ts';
import type { BlockWriter } from '../query/block-writer.ts';
import { type BuiltQuery, buildDraft } from '../query/build-body.ts';
import { itemsOf, kindsOf } from '../query/choose-fields.ts';
import { createJsonWriter } from '../query/exact-json.ts';
import { OutFile } from '../query/out-file.ts';
import { addQueryOptions, type Output, type QueryOptions } from '../query/query-options.ts';
import type { RowSource } from '../query/record-rows.ts';
import { renderCurl, renderTypeScript } from '../query/render-request.ts';
import { resolveRange } from '../query/resolve-range.ts';
import { createTargetClient, type RunDependencies, runQuery } from '../query/run-query.ts';
import { CountSink, createFileSink, createStreamSink } from '../query/sinks.ts';
import { createCsvWriter, createTableWriter } from '../query/table-writer.ts';
import { stopSignal } from '../stop-signal.ts';
import { type Target, urlDefault, withTarget } from '../target/open-target.ts';
import { addTarget, targetHelp } from '../target/target-options.ts';

export function buildQueryCommand(context: CommandContext): Command {
  const command = new Command('query').description(
    'Read blocks and records of a dataset, from a running service or directly from a data folder.',
  );
  return addQueryOptions(addTarget(command))
    .addHelpText('after', `${examples}\n${targetHelp}`)
    .action(async (name: string | undefined, options: QueryOptions) => {
      const output = chooseOutput(options, context.out);
      const built = await buildDraft(options, { stdin: process.stdin, output });
      await withTarget(name, options, (target) => query(options, built, { target, context }));
    });
}

const examples = `
Examples:
  $ sluice query --last 10
  $ sluice query mine --program TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA --d1 0x03,0x0c --with transaction --last 100
  $ sluice query mine --mint EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v --output csv > balances.csv
  $ sluice query mine --query q.json --out records.jsonl
  $ sluice query mine --account Vote111111111111111111111111111111111111111 --follow
  $ sluice query mine --fee-payer 9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin --count
  $ sluice query mine --program ComputeBudget111111111111111111111111111111 --print-curl

Every line has the hash of its block, which is needed to resume. After a fork, blocks are printed again from the common block on;
a file of --out is truncated to the common block instead.`;

interface QueryDependencies {
  readonly target: Target;
  readonly context: CommandContext;
}

async function query(
  options: QueryOptions,
  { draft, rows }: BuiltQuery,
  { target, context }: QueryDependencies,
): Promise<void> {
  const { follow, finalized, count, out: path } = options;
  if (follow === true && target.folder !== undefined) {
    throw new CodedError('cli-follow-folder', { folder: target.where });
  }
  const client = createTargetClient(target, { isPatient: false });
  const { first, last } = await resolveRange(options, draft, client);
  const { fromBlock: _from, toBlock: _to, ...selection } = draft;
  const range = { fromBlock: first, ...(last === undefined ? {} : { toBlock: last }) };
  const request = { ...range, ...selection };
  if (options.printCurl === true || options.printTs === true) {
    return void context.out.write(describeRequest(request, options, target));
  }
  if (last !== undefined && last < first) {
    return void context.err.write(`there is no block at or after slot ${first} yet\n`);
  }
  const signal = stopSignal();
  const run = {
    query: request,
    finalized: finalized === true,
    cursor: undefined,
    limit: options.limit,
    isEndless: follow === true,
    showsProgress: options.quiet !== true && (path !== undefined || !isTerminal(context.out)),
  };
  const dependencies = { target, signal, err: context.err };
  if (count === true) return countRecords(run, dependencies, context);
  const writer = chooseWriter({ query: request, rows }, options, context.out);
  if (path !== undefined)
    return writeFile({ ...run, options, path, writer }, dependencies, context.out);
  const sink = createStreamSink(context.out, writer);
  try {
    const blocks = await runQuery(run, { ...dependencies, sink });
    if (isTerminal(context.out))
      context.err.write(
        `${formatCount(blocks)} blocks from slot ${first} to ${last ?? 'the head'}\n`,
      );
  } finally {
    await sink.close();
  }
}

function describeRequest(query: QueryBody, options: QueryOptions, target: Target): string {
  const request = {
    url: target.folder === undefined ? target.url : `${urlDefault}/datasets/${target.name}`,
    query,
    finalized: options.finalized === true,
    hasKey: target.folder === undefined && target.key !== undefined,
  };
  return options.printTs === true ? renderTypeScript(request) : renderCurl(request);
}

type Run = Parameters<typeof runQuery>[0];

/** With `--count`, a query without items counts all records. */
function everything(query: QueryBody): QueryBody {
  if (RECORD_ARRAY_NAMES.some((array) => query[array] !== undefined)) return query;
  const all = Object.fromEntries(RECORD_ARRAY_NAMES.map((array) => [array, [{}]]));
  return { ...query, ...all };
}

function arraysOf(query: QueryBody): readonly RecordArray[] {
  const kinds = kindsOf(itemsOf(everything(query)));
  return RECORD_ARRAY_NAMES.filter((array) => kinds.includes(RECORD_ARRAYS[array]));
}

async function countRecords(
  run: Run,
  dependencies: Omit<RunDependencies, 'sink'>,
  { out }: CommandContext,
): Promise<void> {
  const counts = await countByKind(run, dependencies);
  if (!isTerminal(out)) return void out.write(`${JSON.stringify(counts)}\n`);
  const rows = Object.entries(counts).map(([name, value]) => [name, formatCount(value)]);
  out.write(formatTable([['', 'count'], ...rows]));
}

/** The service counts a range. Blocks that --limit ends or --follow waits for are read and counted here. */
async function countByKind(
  run: Run,
  dependencies: Omit<RunDependencies, 'sink'>,
): Promise<Readonly<Record<string, number>>> {
  const { target, signal } = dependencies;
  const arrays = arraysOf(run.query);
  const query = everything(run.query);
  if (run.limit === undefined && !run.isEndless) {
    const client = createTargetClient(target, { isPatient: false });
    const counts = await client.count(query, { signal });
    return Object.fromEntries((['blocks', ...arrays] as const).map((name) => [name, counts[name]]));
  }
  const sink = new CountSink(arrays);
  // Records are sent without fields, because only their number matters.
  await runQuery({ ...run, query: { ...query, fields: {} } }, { ...dependencies, sink });
  return sink.counts;
}

interface FileOutput {
  readonly options: QueryOptions;
  readonly path: string;
  readonly writer: BlockWriter;
}

async function writeFile(
  { options, path, writer, ...run }: Run & FileOutput,
  dependencies: Omit<RunDependencies, 'sink'>,
  out: NodeJS.WritableStream,
): Promise<void> {
  const { force = false, kind } = options;
  const output = chooseOutput(options, out);
  if (output !== 'jsonl' && output !== 'csv') throw new CodedError('cli-out-format', { output });
  const { fromBlock: _from, toBlock: _to, ...selection } = run.query;
  const file = await OutFile.open({
    path,
    request: JSON.stringify({ ...selection, output, kind, finalized: run.finalized }),
    force,
    heading: writer.begin(),
  });
  const sink = createFileSink(file, writer);
  try {
    const { cursor } = file;
    const tip = cursor?.blocks.at(-1);
    if (tip !== undefined) dependencies.err.write(`${path} continues after slot ${tip.number}\n`);
    await runQuery({ ...run, cursor }, { ...dependencies, sink });
  } finally {
    await sink.close();
  }
}

/** The default format: a table on a terminal, JSON lines otherwise. If there are no records to print, it is the format of the request. */
function chooseOutput(
  { output, out: path, printCurl, printTs, count }: QueryOptions,
  out: NodeJS.WritableStream,
): Output {
  if (count === true) return 'jsonl';
  const isCode = printCurl === true || printTs === true;
  return output ?? (isTerminal(out) && path === undefined && !isCode ? 'table' : 'jsonl');
}

function chooseWriter(
  { query, rows }: { readonly query: QueryBody; readonly rows: RowSource | undefined },
  options: QueryOptions,
  out: NodeJS.WritableStream,
): BlockWriter {
  const output = chooseOutput(options, out);
  if (rows === undefined) {
    return createJsonWriter({ dialect: query.type ?? 'ledger', isPretty: output === 'pretty' });
  }
  if (output === 'csv') return createCsvWriter(rows);
  return createTableWriter(rows, {
    width: isTerminal(out) ? widthOf(out) : undefined,
    style: styler(usesColor(out)),
  });
}
