import { setImmediate as nextTurn } from 'node:timers/promises';
import { assert } from '@sluice/base/assert';
import type { Block } from '@sluice/ledger/block';
import type { ChainSnapshot, HotBlock } from '../../chain/chain-snapshot.ts';
import { firstHotAtOrAfter } from '../../chain/find-blocks.ts';
import { segmentsFrom } from '../../chain/segment-lists.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { answerBlock, headerLine } from '../../engine/testing/reference/answer-query.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from '../block-evaluator.ts';
import { LinePiece } from '../line-piece.ts';

export interface ReferenceEvaluatorDependencies {
  readonly dataset: DatasetReader & { decodeHotBlock(block: HotBlock): Promise<Block> };
  /** Decodes the blocks of a sealed segment. */
  readonly decodeSegment: (bytes: Uint8Array) => readonly Block[];
}

/** A run ends when its lines reach this size, so that other requests get their turn. */
const runBytesMax = 256 * 1024;
const runBlockCountMax = 16;

/** Evaluates decoded blocks without threads, for tests with a manual clock. */
export class ReferenceEvaluator implements BlockEvaluator {
  readonly #dependencies: ReferenceEvaluatorDependencies;

  constructor(dependencies: ReferenceEvaluatorDependencies) {
    this.#dependencies = dependencies;
  }

  async *evaluate(job: EvaluationJob): AsyncGenerator<EvaluatedBlocks> {
    let run: Block[] = [];
    let lines: string[] = [];
    let byteCount = 0;
    let endsWithLine = false;
    const finish = (): EvaluatedBlocks => {
      const evaluated = buildRun(job, run, lines, endsWithLine);
      [run, lines, byteCount] = [[], [], 0];
      return evaluated;
    };
    for await (const block of this.#readBlocks(job.snapshot, job.first, job.last)) {
      if (job.signal.aborted) break;
      const line = answerBlock(job.selection, block);
      run.push(block);
      endsWithLine = line !== undefined;
      if (line !== undefined) lines.push(line);
      byteCount += line?.length ?? 0;
      if (byteCount < runBytesMax && run.length < runBlockCountMax) continue;
      yield finish();
      await nextTurn();
    }
    if (run.length > 0) yield finish();
  }

  async *#readBlocks(snapshot: ChainSnapshot, first: number, last: number): AsyncGenerator<Block> {
    const { dataset, decodeSegment } = this.#dependencies;
    const { hot } = snapshot;
    for await (const segment of segmentsFrom(snapshot, first, dataset.readList)) {
      if (segment.first.number > last) return;
      for (const block of decodeSegment(await dataset.readSegment(segment))) {
        const { number } = block.header;
        if (number >= first && number <= last) yield block;
      }
    }
    for (let i = firstHotAtOrAfter(snapshot, first); i < hot.length; i++) {
      const block = hot[i];
      if (block === undefined || block.header.number > last) return;
      yield await dataset.decodeHotBlock(block);
    }
  }
}

function buildRun(
  { selection }: EvaluationJob,
  run: readonly Block[],
  lines: readonly string[],
  endsWithLine: boolean,
): EvaluatedBlocks {
  const last = run.at(-1);
  assert(last !== undefined, 'a run has a block');
  const { number, hash } = last.header;
  return {
    piece: lines.length === 0 ? null : new LinePiece(Buffer.from(lines.join(''))),
    lastCovered: { number, hash },
    endsWithLine,
    headerLine: () => new LinePiece(Buffer.from(headerLine(selection, last))),
  };
}
