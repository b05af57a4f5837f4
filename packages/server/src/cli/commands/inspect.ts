import { Command } from 'commander';
import { formatVersion } from '../../segment/directory.ts';
import { type MeasuredPart, measureSegment } from '../../segment/measure-segment.ts';
import { openSegment, type Segment } from '../../segment/open-segment.ts';
import type { CommandContext } from '../context.ts';
import { formatCount, formatTable } from '../format-table.ts';
import { naming, openMeteredFile } from '../metered-file.ts';

export function buildInspectCommand(context: CommandContext): Command {
  return new Command('inspect')
    .description('Show what takes how much in a segment, per table and column.')
    .argument('<file>', 'the segment')
    .option('--json', 'print it as JSON')
    .addHelpText('after', examples)
    .action((path: string, options: { json?: boolean }) => {
      const file = openMeteredFile(path);
      try {
        const describe = options.json === true ? describeJson : describeText;
        context.out.write(naming(path, () => describe(openSegment(file.bytes), path)));
      } finally {
        file.close();
      }
    });
}

const examples = `
Examples:
  $ sluice inspect blocks.segment
  $ sluice inspect --json blocks.segment | jq '.parts | sort_by(-.storedBytes)[:5]'`;

function summarize(segment: Segment) {
  const { directory, headers, bytes } = segment;
  return {
    version: formatVersion,
    fileBytes: bytes.length,
    blockCount: directory.blockCount,
    firstSlot: headers[0]?.number ?? null,
    lastSlot: headers.at(-1)?.number ?? null,
    transactionCount: directory.transactionCount,
    addressCount: directory.addressCount,
    groupCount: directory.groups.length,
  };
}

function describeJson(segment: Segment): string {
  return `${JSON.stringify({ ...summarize(segment), parts: measureSegment(segment) }, null, 2)}\n`;
}

function describeText(segment: Segment, path: string): string {
  const summary = summarize(segment);
  const range =
    summary.firstSlot === null ? '' : ` slots ${summary.firstSlot} to ${summary.lastSlot},`;
  const counts = [
    `${formatCount(summary.blockCount)} blocks`,
    `${formatCount(summary.transactionCount)} transactions`,
    `${formatCount(summary.addressCount)} addresses`,
    `${formatCount(summary.groupCount)} row groups`,
    `${formatCount(summary.fileBytes)} bytes`,
  ];
  const heading = `${path}: segment of version ${summary.version},${range} ${counts.join(', ')}\n\n`;
  return heading + formatTable([columnHeads, ...partRows(segment)]);
}

const columnHeads = ['part', 'name', 'pieces', 'stored bytes', 'a transaction', 'share'];

/** The parts of each table, then its total where it has several; at last the total of all. */
function partRows(segment: Segment): string[][] {
  const parts = measureSegment(segment);
  const row = (part: MeasuredPart) => formatPart(part, segment);
  const tables = [...new Set(parts.map(({ table }) => table))];
  const rows = tables.flatMap((table) => {
    const own = parts.filter((part) => part.table === table);
    const total = own.length > 1 ? [row(totalOf(own, table, 'total'))] : [];
    return [...own.map(row), ...total];
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

function formatPart(part: MeasuredPart, segment: Segment): string[] {
  const { transactionCount } = segment.directory;
  const { storedBytes } = part;
  return [
    part.table,
    part.name,
    formatCount(part.pieceCount),
    formatCount(storedBytes),
    transactionCount === 0 ? '-' : (storedBytes / transactionCount).toFixed(2),
    `${((100 * storedBytes) / segment.bytes.length).toFixed(2)}%`,
  ];
}
