import { Command } from 'commander';
import { formatVersion } from '../../segment/layout/directory.ts';
import { type MeasuredPart, measureSegment } from '../../segment/read/measure-segment.ts';
import { openSegment, type Segment } from '../../segment/read/open-segment.ts';
import type { CommandContext } from '../context.ts';
import { formatCount, formatTable } from '../format-table.ts';
import { naming, openMeteredFile } from '../metered-file.ts';
import { resolveSegments } from '../segment-arguments.ts';

interface InspectOptions {
  readonly data: string;
  readonly json?: boolean;
}

export function buildInspectCommand(context: CommandContext): Command {
  return new Command('inspect')
    .description('Show the sizes of the parts of a segment, or of all segments of a dataset.')
    .argument('<segment>', 'a segment file, or the name of a dataset')
    .option('--data <folder>', 'the data folder of the dataset', './data')
    .option('--json', 'print JSON')
    .addHelpText('after', examples)
    .action(async (name: string, { data, json }: InspectOptions) => {
      const paths = await resolveSegments({ arguments: [name], data }, context);
      if (paths.length === 0) {
        return void context.out.write(
          `${name} has no segment yet: all its blocks are in the journal.\n`,
        );
      }
      const measured = combine(paths.map(measureFile));
      context.out.write(json === true ? describeJson(measured) : describeText(measured, name));
    });
}

const examples = `
Examples:
  $ sluice inspect mine
  $ sluice inspect blocks.segment
  $ sluice inspect --json blocks.segment | jq '.parts | sort_by(-.storedBytes)[:5]'`;

interface Summary {
  readonly version: number;
  /** Absent if the argument is a file. */
  readonly segmentCount?: number;
  readonly fileBytes: number;
  readonly blockCount: number;
  readonly firstSlot: number | null;
  readonly lastSlot: number | null;
  readonly transactionCount: number;
  readonly addressCount: number;
  readonly groupCount: number;
}

interface Measured {
  readonly summary: Summary;
  readonly parts: readonly MeasuredPart[];
}

function measureFile(path: string): Measured {
  const file = openMeteredFile(path);
  try {
    return naming(path, () => {
      const segment = openSegment(file.bytes);
      return { summary: summarize(segment), parts: measureSegment(segment) };
    });
  } finally {
    file.close();
  }
}

function summarize(segment: Segment): Summary {
  const { directory, headers, bytes } = segment;
  return {
    version: formatVersion,
    fileBytes: bytes.length,
    blockCount: directory.blockCount,
    firstSlot: headers.length > 0 ? headers.numberAt(0) : null,
    lastSlot: headers.length > 0 ? headers.numberAt(-1) : null,
    transactionCount: directory.transactionCount,
    addressCount: directory.addressCount,
    groupCount: directory.groups.length,
  };
}

/** Adds up several segments in the order of their slots. An address counts once for each segment that contains it. */
function combine(measured: readonly Measured[]): Measured {
  const [first] = measured;
  if (first !== undefined && measured.length === 1) return first;
  const summaries = measured.map(({ summary }) => summary);
  const sum = (value: (summary: Summary) => number) =>
    summaries.reduce((total, summary) => total + value(summary), 0);
  const parts = (first?.parts ?? []).map(({ table, name }) =>
    totalOf(
      measured.flatMap((segment) =>
        segment.parts.filter((part) => part.table === table && part.name === name),
      ),
      table,
      name,
    ),
  );
  return {
    parts,
    summary: {
      version: formatVersion,
      segmentCount: measured.length,
      fileBytes: sum(({ fileBytes }) => fileBytes),
      blockCount: sum(({ blockCount }) => blockCount),
      firstSlot: summaries[0]?.firstSlot ?? null,
      lastSlot: summaries.at(-1)?.lastSlot ?? null,
      transactionCount: sum(({ transactionCount }) => transactionCount),
      addressCount: sum(({ addressCount }) => addressCount),
      groupCount: sum(({ groupCount }) => groupCount),
    },
  };
}

function describeJson({ summary, parts }: Measured): string {
  return `${JSON.stringify({ ...summary, parts }, null, 2)}\n`;
}

function describeText({ summary, parts }: Measured, name: string): string {
  const { segmentCount } = summary;
  const range =
    summary.firstSlot === null ? '' : ` slots ${summary.firstSlot} to ${summary.lastSlot},`;
  const counts = [
    `${formatCount(summary.blockCount)} blocks`,
    `${formatCount(summary.transactionCount)} transactions`,
    `${formatCount(summary.addressCount)} addresses`,
    `${formatCount(summary.groupCount)} row groups`,
    `${formatCount(summary.fileBytes)} bytes`,
  ];
  const what = segmentCount === undefined ? 'segment' : `${formatCount(segmentCount)} segments`;
  const heading = `${name}: ${what} of version ${summary.version},${range} ${counts.join(', ')}\n\n`;
  return heading + formatTable([columnHeads, ...partRows(summary, parts)]);
}

const columnHeads = ['part', 'name', 'pieces', 'stored bytes', 'per transaction', 'share'];

/** Returns the parts of each table, with a total for tables of several parts, and the total of all tables. */
function partRows(summary: Summary, parts: readonly MeasuredPart[]): string[][] {
  const row = (part: MeasuredPart) => formatPart(part, summary);
  const tables = [...new Set(parts.map(({ table }) => table))];
  const rows = tables.flatMap((table) => {
    const tableParts = parts.filter((part) => part.table === table);
    const total = tableParts.length > 1 ? [row(totalOf(tableParts, table, 'total'))] : [];
    return [...tableParts.map(row), ...total];
  });
  return [...rows, row(totalOf(parts, 'everything', 'total'))];
}

function totalOf(parts: readonly MeasuredPart[], table: string, name: string): MeasuredPart {
  const sum = (value: (part: MeasuredPart) => number) =>
    parts.reduce((total, part) => total + value(part), 0);
  return {
    table,
    name,
    pieceCount: sum((part) => part.pieceCount),
    storedBytes: sum((part) => part.storedBytes),
  };
}

function formatPart(part: MeasuredPart, { transactionCount, fileBytes }: Summary): string[] {
  const { storedBytes } = part;
  return [
    part.table,
    part.name,
    formatCount(part.pieceCount),
    formatCount(storedBytes),
    transactionCount === 0 ? '-' : (storedBytes / transactionCount).toFixed(2),
    `${((100 * storedBytes) / fileBytes).toFixed(2)}%`,
  ];
}
