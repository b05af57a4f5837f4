import { assert } from '@sluice/base/assert';
import { systemClock } from '@sluice/base/clock';
import { addDetail, isCodedError } from '@sluice/base/errors';
import { runToCompletion } from '@sluice/base/time-slices';
import { DIALECTS } from '@sluice/protocol/dialect';
import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { mapKeys } from '@sluice/protocol/typed-keys';
import { Command } from 'commander';
import { pino } from 'pino';
import { SetStore } from '../../app/set-store.ts';
import { type MayHave, segmentsFrom, totalSealed } from '../../chain/segment-lists.ts';
import type { StoredReader } from '../../dataset/stored/stored-reader.ts';
import { Engine } from '../../engine/engine.ts';
import { ROW_NUMBER_NAMES } from '../../engine/lookup/estimate-segment.ts';
import type { PlannedItem } from '../../engine/plan-items.ts';
import type { BlockRange, RunReport } from '../../engine/segment-run.ts';
import type { AddressSet } from '../../query/address-set.ts';
import { parseQueryBody } from '../../query/parse-query.ts';
import type { Query } from '../../query/query.ts';
import type { Segment } from '../../segment/read/open-segment.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { readSmallFile } from '../../storage/read-small-file.ts';
import { openSegmentFilter } from '../../stream/skipping-evaluator.ts';
import type { CommandContext } from '../context.ts';
import { formatCount, formatTable } from '../format-table.ts';
import { type MeteredFile, naming, openMeteredFile } from '../metered-file.ts';
import { resolveSegments } from '../segment-arguments.ts';

/** A small cache is enough, because every file is read only once. */
const cacheBytesMax = 256 * 1024 * 1024;

export function buildExplainCommand(context: CommandContext): Command {
  return new Command('explain')
    .description('Run a query on segments and show its plan and cost instead of the lines.')
    .requiredOption('--query <file>', 'the query, as the body of a request')
    .argument('<segments...>', 'segment files, in any order, or names of datasets')
    .option('--data <folder>', 'the data folder of the datasets', './data')
    .option('--json', 'print JSON')
    .addHelpText('after', examples)
    .action(async (given: string[], options: ExplainOptions) => {
      const sets = await SetStore.open(options.data, {
        fs: nodeFs,
        log: pino({ level: 'silent' }),
      });
      const query = readQuery(options, sets);
      const exclusions: Exclusion[] = [];
      const unsealed: Unsealed[] = [];
      const choice = {
        arguments: given,
        data: options.data,
        openFilter: (reader: StoredReader, dataset: string) =>
          openFilter(query, reader, (exclusion) => exclusions.push({ dataset, ...exclusion })),
        onUnsealed: (dataset: string, blockCount: number) => unsealed.push({ dataset, blockCount }),
      };
      const paths = await resolveSegments(choice, context);
      for (const path of new Set(paths.filter((each, i) => paths.indexOf(each) !== i)))
        context.err.write(`${path} is given more than once; it is read once.\n`);
      const report = { costs: explain(query, paths), exclusions, unsealed };
      context.out.write(options.json === true ? describeJson(report) : describeText(report));
    });
}

/** The sets are those of the data folder, so an error about them names the folder. */
function readQuery({ query, data }: ExplainOptions, sets: SetStore): Query {
  try {
    return naming(query, () =>
      parseQueryBody(readSmallFile(query, QUERY_LIMITS.bodyBytesMax), {
        limits: QUERY_LIMITS,
        dialects: DIALECTS,
        sets,
      }),
    );
  } catch (error) {
    throw isCodedError(error, 'query-set-unknown') ? addDetail(error, { folder: data }) : error;
  }
}

interface ExplainOptions {
  readonly query: string;
  readonly data: string;
  readonly json?: boolean;
}

const examples = `
Examples:
  $ echo '{"fromBlock":0,"instructions":[{"programId":["TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"]}]}' > q.json
  $ sluice explain --query q.json mine
  $ sluice explain --query q.json blocks.segment
  $ sluice explain --query q.json --json *.segment | jq '.total'`;

/** How many segments of a dataset the indexes over segments exclude, before any segment is opened. */
interface Exclusion {
  readonly dataset: string;
  /** The segments in the range of the query, and those outside it, which are not opened either. */
  readonly segmentCount: number;
  readonly outsideCount: number;
  readonly excludedCount: number;
  readonly excludedBytes: number;
  readonly indexCount: number;
}

/** The blocks of a dataset that are in no segment yet. */
interface Unsealed {
  readonly dataset: string;
  readonly blockCount: number;
}

interface Report {
  readonly costs: readonly SegmentCost[];
  readonly exclusions: readonly Exclusion[];
  readonly unsealed: readonly Unsealed[];
}

/** Returns the filter of a dataset's segments by the range of the query and by the indexes. Reports what the indexes exclude. */
async function openFilter(
  query: Query,
  reader: StoredReader,
  report: (exclusion: Omit<Exclusion, 'dataset'>) => void,
): Promise<MayHave> {
  const snapshot = reader.snapshot();
  const { fromBlock, toBlock: last = Infinity } = query;
  const isInRange: MayHave = ({ first: { number }, last: end }) =>
    number <= last && end.number >= fromBlock;
  const mayHave = await openSegmentFilter({ selection: query, snapshot, last }, reader);
  if (mayHave === undefined) return isInRange;
  let [segmentCount, excludedCount, excludedBytes] = [0, 0, 0];
  for await (const segment of segmentsFrom(snapshot, fromBlock, reader.readList, isInRange)) {
    segmentCount++;
    if (mayHave(segment)) continue;
    excludedCount++;
    excludedBytes += segment.byteLength;
  }
  const outsideCount = totalSealed(snapshot).segmentCount - segmentCount;
  const indexCount = snapshot.indexes.length;
  report({ segmentCount, outsideCount, excludedCount, excludedBytes, indexCount });
  return (run) => isInRange(run) && mayHave(run);
}

interface SetCost extends Pick<AddressSet, 'version'> {
  readonly set: string;
  readonly addresses: number;
  readonly memoryBytes: number;
}

interface ItemCost {
  readonly array: RecordArray;
  /** The filters of the item, because the position of an item has no meaning. */
  readonly filters: Readonly<Record<string, readonly (string | SetCost)[] | boolean>>;
  /** The filter whose list of transactions was scanned; null if all transactions were scanned. */
  readonly drivenBy: string | null;
  /** The transactions in the query's range that the plan expected to scan, and those on the list; null if none are scanned. */
  readonly transactionsEstimated: number | null;
  readonly transactionsListed: number | null;
  /** How many addresses of each filter with a set are in the segment. */
  readonly addressesFound: Readonly<Record<string, number>>;
  readonly rowsMatched: number;
  readonly isInSegment: boolean;
}

interface Cost {
  readonly groupCount: number;
  readonly groupsRead: number;
  readonly pagesRead: number;
  readonly bytesRead: number;
  readonly bytesInflated: number;
  /** The number of reads from the file and their bytes, including its directory and index. */
  readonly fileReads: number;
  readonly fileBytes: number;
  readonly lines: number;
  readonly answerBytes: number;
  readonly milliseconds: number;
}

/** How many records of a kind, or blocks, the query selects, and the bounds that an estimate gives. */
interface SelectedCount {
  readonly min: number;
  readonly max: number;
  readonly exact: number;
}

type Selected = Readonly<Record<(typeof ROW_NUMBER_NAMES)[number], SelectedCount>>;

interface SegmentCost extends Cost {
  readonly path: string;
  readonly blockCount: number;
  readonly selected: Selected;
  readonly items: readonly ItemCost[];
}

interface OpenFile {
  readonly file: MeteredFile;
  readonly segment: Segment;
}

function explain(query: Query, paths: readonly string[]): SegmentCost[] {
  const engine = new Engine({ cacheBytesMax });
  const files: MeteredFile[] = [];
  try {
    for (const path of new Set(paths)) files.push(openMeteredFile(path));
    const opened = files
      .map((file) => naming(file.path, () => openFile(engine, file)))
      .sort((a, b) => a.firstSlot - b.firstSlot);
    const range = { first: query.fromBlock, last: query.toBlock ?? Infinity };
    const last = opened.findLast(({ file }) => engine.covers(file.path, range));
    return opened.map((open) =>
      naming(open.file.path, () => explainFile(engine, open, query, open === last)),
    );
  } finally {
    for (const file of files) file.close();
  }
}

function openFile(engine: Engine, file: MeteredFile): OpenFile & { firstSlot: number } {
  const segment = engine.open(file.path, file.bytes);
  return { file, segment, firstSlot: segment.blockCount > 0 ? segment.headers.numberAt(0) : 0 };
}

function explainFile(
  engine: Engine,
  { file, segment }: OpenFile,
  query: Query,
  endsCoverage: boolean,
): SegmentCost {
  const range = { first: query.fromBlock, last: query.toBlock ?? Infinity };
  const startMs = systemClock.nowMs();
  const run = engine.run(file.path, query, { range, endsCoverage });
  let answerBytes = 0;
  let next = run.next();
  for (; next.done !== true; next = run.next()) answerBytes += next.value.length;
  const milliseconds = systemClock.nowMs() - startMs;
  const report = next.value;
  const { readCount: fileReads, bytesRead: fileBytes } = file.meter;
  return {
    path: file.path,
    selected: countSelected(engine, file.path, query, range),
    blockCount: segment.blockCount,
    items: itemCosts(query, report, transactionsIn(segment, range)),
    groupCount: report.groupCount,
    groupsRead: report.groupsRead,
    pagesRead: report.pagesRead,
    bytesRead: report.bytesRead,
    bytesInflated: report.bytesInflated,
    fileReads,
    fileBytes,
    lines: report.linesWritten,
    answerBytes,
    milliseconds: Math.round(milliseconds * 100) / 100,
  };
}

function countSelected(engine: Engine, path: string, query: Query, range: BlockRange): Selected {
  const lookup = { selection: query, range };
  const estimate = runToCompletion(engine.lookUp(path, { kind: 'estimate', ...lookup }));
  const count = runToCompletion(engine.lookUp(path, { kind: 'count', ...lookup }));
  assert('min' in estimate && 'firstBlock' in count, 'a lookup has the result of its kind');
  return mapKeys(ROW_NUMBER_NAMES, (name) => ({
    min: estimate.min[name],
    max: estimate.max[name],
    exact: count[name],
  }));
}

interface TransactionRange {
  readonly first: number;
  readonly end: number;
}

/** Returns the numbers of the segment's transactions in a range of slots. */
function transactionsIn({ headers, counts }: Segment, range: BlockRange): TransactionRange {
  let first = 0;
  let end = 0;
  for (let block = 0; block < headers.length; block++) {
    const number = headers.numberAt(block);
    const count = counts.transactions.at(block);
    if (number < range.first) first += count;
    if (number <= range.last) end += count;
  }
  return { first, end: Math.max(first, end) };
}

function itemCosts(query: Query, { items }: RunReport, covered: TransactionRange): ItemCost[] {
  const { first, end } = covered;
  const listed = (transactions: Uint32Array | undefined) =>
    transactions?.filter((number) => number >= first && number < end).length ?? null;
  return RECORD_ARRAY_NAMES.flatMap((array) =>
    query[array].map((item, number): ItemCost => {
      const planned = items.find((plan) => plan.array === array && plan.number === number);
      return {
        array,
        filters: listFilters(item.filters),
        drivenBy: planned?.driving?.name ?? null,
        transactionsEstimated:
          planned === undefined ? null : Math.min(planned.estimate, end - first),
        transactionsListed: listed(planned?.driving?.transactions),
        addressesFound: countFound(item.filters, planned),
        rowsMatched: planned?.matchedRows ?? 0,
        isInSegment: planned !== undefined,
      };
    }),
  );
}

function listFilters(
  filters: Readonly<Record<string, readonly (string | AddressSet)[] | boolean | undefined>>,
): ItemCost['filters'] {
  const listed: Record<string, readonly (string | SetCost)[] | boolean> = {};
  for (const [name, value] of Object.entries(filters)) {
    if (value === undefined) continue;
    listed[name] =
      typeof value === 'boolean'
        ? value
        : value.map((each) => (typeof each === 'string' ? each : costOf(each)));
  }
  return listed;
}

function costOf({ name, version, count, memory }: AddressSet): SetCost {
  return { set: name, version, addresses: count, memoryBytes: memory.byteLength };
}

function countFound(
  filters: Readonly<Record<string, unknown>>,
  planned: PlannedItem | undefined,
): ItemCost['addressesFound'] {
  const found: Record<string, number> = {};
  for (const [name, value] of Object.entries(filters)) {
    if (!Array.isArray(value) || value.every((each) => typeof each === 'string')) continue;
    found[name] = planned?.addressFilters.find((filter) => filter.name === name)?.ids.length ?? 0;
  }
  return found;
}

function totalOf(costs: readonly SegmentCost[]): Cost {
  const sum = (name: keyof Cost) => costs.reduce((total, cost) => total + cost[name], 0);
  return {
    groupCount: sum('groupCount'),
    groupsRead: sum('groupsRead'),
    pagesRead: sum('pagesRead'),
    bytesRead: sum('bytesRead'),
    bytesInflated: sum('bytesInflated'),
    fileReads: sum('fileReads'),
    fileBytes: sum('fileBytes'),
    lines: sum('lines'),
    answerBytes: sum('answerBytes'),
    milliseconds: Math.round(sum('milliseconds') * 100) / 100,
  };
}

function totalSelected(costs: readonly SegmentCost[]): Selected {
  const sum = (name: keyof Selected, key: keyof SelectedCount) =>
    costs.reduce((total, { selected }) => total + selected[name][key], 0);
  return mapKeys(ROW_NUMBER_NAMES, (name) => ({
    min: sum(name, 'min'),
    max: sum(name, 'max'),
    exact: sum(name, 'exact'),
  }));
}

function describeJson({ costs, exclusions: excluded, unsealed }: Report): string {
  const total = { ...totalOf(costs), selected: totalSelected(costs) };
  return `${JSON.stringify({ excluded, unsealed, segments: costs, total }, null, 2)}\n`;
}

function formatSelected(costs: readonly SegmentCost[]): string {
  const selected = totalSelected(costs);
  const rows = ROW_NUMBER_NAMES.map((name) => {
    const { min, exact, max } = selected[name];
    return [name, ...[min, exact, max].map(formatCount)];
  });
  return formatTable([['selected', 'at least', 'exactly', 'at most'], ...rows]);
}

function describeExclusion(exclusion: Exclusion): string {
  const { dataset, segmentCount, outsideCount, excludedCount, excludedBytes, indexCount } =
    exclusion;
  const indexes = indexCount === 1 ? '1 index' : `${formatCount(indexCount)} indexes`;
  const excluded = `${formatCount(excludedCount)} of ${formatCount(segmentCount)} segments`;
  const outside =
    outsideCount === 0 ? '' : `; ${formatCount(outsideCount)} others are outside the range`;
  return `${dataset}: ${indexes} over segments exclude ${excluded} (${formatCount(excludedBytes)} bytes), which are not opened${outside}\n`;
}

function describeUnsealed({ dataset, blockCount }: Unsealed): string {
  const blocks =
    blockCount === 1 ? '1 unsealed block is' : `${formatCount(blockCount)} unsealed blocks are`;
  return `${dataset}: ${blocks} not explained, because only sealed segments are\n`;
}

function describeText({ costs, exclusions, unsealed }: Report): string {
  const plans = costs.map(({ path, blockCount, items }) => {
    const heading = `${path}: ${formatCount(blockCount)} blocks\n`;
    return items.length === 0
      ? `${heading}no items: headers only\n\n`
      : `${heading}${formatTable([itemHeads, ...items.map(formatItem)])}\n`;
  });
  const rows = costs.map((cost) => formatCost(cost.path, cost));
  const total = costs.length > 1 ? [formatCost('total', totalOf(costs))] : [];
  const excluded = [...unsealed.map(describeUnsealed), ...exclusions.map(describeExclusion)].join(
    '',
  );
  if (costs.length === 0) return `${excluded}there are no sealed segments to explain\n`;
  const table = formatTable([costHeads, ...rows, ...total]);
  return `${excluded}${plans.join('')}${formatSelected(costs)}\n${table}`;
}

const itemHeads = ['item', 'driven by', 'estimated', 'listed', 'rows matched'];

function describeNothing({ filters }: ItemCost): string {
  const empty = Object.entries(filters).find(([, v]) => Array.isArray(v) && v.length === 0);
  return empty === undefined
    ? 'nothing: not in this segment'
    : `nothing: ${empty[0]} is an empty list`;
}

function formatItem(cost: ItemCost): string[] {
  const way = cost.isInSegment ? (cost.drivenBy ?? 'all transactions') : describeNothing(cost);
  const count = (value: number | null) => (value === null ? '-' : formatCount(value));
  return [
    `${cost.array} ${describeFilters(cost)}`,
    way,
    count(cost.transactionsEstimated),
    count(cost.transactionsListed),
    formatCount(cost.rowsMatched),
  ];
}

/** Values are shortened to this length, which still distinguishes the values of a query. */
const valueLengthMax = 12;

function describeFilters({ filters, addressesFound }: ItemCost): string {
  const texts = Object.entries(filters).map(([name, value]) => {
    if (typeof value === 'boolean') return `${name}=${value}`;
    const [first = 'none', ...more] = value.map(describeValue);
    const found = addressesFound[name];
    const inSegment = found === undefined ? '' : ` (${formatCount(found)} in this segment)`;
    return `${name}=${first}${more.length > 0 ? ` +${more.length}` : ''}${inSegment}`;
  });
  return texts.length === 0 ? '(all)' : texts.join(' ');
}

function describeValue(value: string | SetCost): string {
  if (typeof value === 'string')
    return value.length > valueLengthMax ? `${value.slice(0, valueLengthMax)}…` : value;
  return `set ${value.set} of ${formatCount(value.addresses)}, version ${value.version}`;
}

const costHeads = [
  ...['segment', 'groups', 'pages', 'bytes read', 'inflated', 'file reads', 'file bytes'],
  ...['lines', 'answer bytes', 'ms'],
];

function formatCost(name: string, cost: Cost): string[] {
  return [
    name,
    `${formatCount(cost.groupsRead)} of ${formatCount(cost.groupCount)}`,
    formatCount(cost.pagesRead),
    formatCount(cost.bytesRead),
    formatCount(cost.bytesInflated),
    formatCount(cost.fileReads),
    formatCount(cost.fileBytes),
    formatCount(cost.lines),
    formatCount(cost.answerBytes),
    cost.milliseconds.toFixed(2),
  ];
}
