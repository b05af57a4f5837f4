/**
 * Puts the finalized head into the headers of lines whose query selects `fields.block.finalizedHead`.
 *
 * Segments do not know the finalized head, so the engine writes `"finalizedHead":null` as the last field of a header. The first
 * occurrence of that text in a line is always the header's: the header comes first and holds no free text. This evaluator
 * replaces the null with the finalized head of the snapshot that is evaluated. In an Arrow stream it is in the metadata of each batch. Other
 * queries pass through unchanged.
 */
import { messageHeaders } from '@sluice/arrow/ipc-reader';
import { elementAt } from '@sluice/base/element-at';
import { finalizedTextLength } from '@sluice/protocol/arrow-table';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { Selection } from '../query/query.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import { LinePiece } from './line-piece.ts';

const key = '"finalizedHead":';
const placeholder = Buffer.from(`${key}null`);
const lineFeed = 0x0a;
const reserved = Buffer.from('null'.padEnd(finalizedTextLength));

export function selectsFinalizedHead({ fields }: Selection): boolean {
  return fields.block.includes('finalizedHead');
}

export class FinalizedHeadEvaluator implements BlockEvaluator {
  readonly #evaluator: BlockEvaluator;

  constructor(evaluator: BlockEvaluator) {
    this.#evaluator = evaluator;
  }

  evaluate(job: EvaluationJob): AsyncIterable<EvaluatedBlocks> {
    return selectsFinalizedHead(job.selection) ? this.#replace(job) : this.#evaluator.evaluate(job);
  }

  /** Asks for plain lines, because the value cannot be replaced inside compressed ones. */
  async *#replace(job: EvaluationJob): AsyncGenerator<EvaluatedBlocks> {
    const head = finalizedHeadText(job.snapshot);
    const field = Buffer.from(`${key}${head}`);
    const replace = (piece: LinePiece) =>
      job.selection.arrow === undefined
        ? replaceInLines(piece, field)
        : replaceInBatches(piece, head);
    for await (const blocks of this.#evaluator.evaluate({ ...job, form: 'plain' })) {
      yield {
        ...blocks,
        piece: blocks.piece === null ? null : replace(blocks.piece),
        headerLine: () => replace(blocks.headerLine()),
      };
    }
  }
}

/** Puts the finalized head into one line of text that the engine wrote. */
export function fillFinalizedHead(line: string, snapshot: ChainSnapshot): string {
  // A function, because a text would be searched for `$`.
  return line.replace(`${key}null`, () => `${key}${finalizedHeadText(snapshot)}`);
}

function finalizedHeadText({ finalized }: ChainSnapshot): string {
  if (finalized === null) return 'null';
  return `{"number":${finalized.number},"hash":"${finalized.hash}"}`;
}

/** Copies the lines into memory of their own and releases the original. */
function replaceInLines(piece: LinePiece, field: Uint8Array): LinePiece {
  const { parts } = piece;
  const lines = parts.length === 1 ? toBuffer(elementAt(parts, 0)) : Buffer.concat(parts);
  const starts = findPlaceholders(lines);
  const grownBy = field.length - placeholder.length;
  const target = Buffer.allocUnsafe(lines.length + starts.length * grownBy);
  let from = 0;
  let to = 0;
  for (const start of starts) {
    to += lines.copy(target, to, from, start);
    target.set(field, to);
    to += field.length;
    from = start + placeholder.length;
  }
  lines.copy(target, to, from);
  piece.release();
  return new LinePiece(target);
}

/** Puts the text into the metadata of record batches, where the engine reserved space for it. The rows are not searched. */
function replaceInBatches(piece: LinePiece, head: string): LinePiece {
  const bytes = Buffer.concat(piece.parts);
  const text = Buffer.from(head.padEnd(finalizedTextLength));
  for (const { start, end } of messageHeaders(bytes)) {
    const at = bytes.subarray(start, end).indexOf(reserved);
    if (at >= 0) bytes.set(text, start + at);
  }
  piece.release();
  return new LinePiece(bytes);
}

/** The first placeholder of each line. */
function findPlaceholders(lines: Buffer): number[] {
  const starts: number[] = [];
  for (let lineStart = 0; lineStart < lines.length; ) {
    const start = lines.indexOf(placeholder, lineStart);
    if (start < 0) return starts;
    starts.push(start);
    const end = lines.indexOf(lineFeed, start);
    if (end < 0) return starts;
    lineStart = end + 1;
  }
  return starts;
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
