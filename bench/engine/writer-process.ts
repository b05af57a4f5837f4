/**
 * Compares our writer with `JSON.stringify`, one thread each. Our side evaluates the query for everything over a few
 * blocks of an open segment in memory: plan, decode pages, select, write. The text stays in the writer's buffer.
 * `JSON.stringify` gets the same lines as parsed objects and makes a string of each.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerSegments } from '@sluice/server/dist/engine/answer-segments.js';
import { Engine } from '@sluice/server/dist/engine/engine.js';
import { quantilesOf } from '../benchmark.ts';
import { segmentsFolder } from './corpus.ts';
import type { WriterOptions, WriterResult } from './measure-alone.ts';
import { parseBody } from './parse-body.ts';

const { corpus, body, runCount } = JSON.parse(process.argv[2] ?? '') as WriterOptions;
const file = readdirSync(segmentsFolder(corpus)).sort()[0] as string;
const engine = new Engine({ cacheBytesMax: 2 ** 30 });
engine.open(file, readFileSync(join(segmentsFolder(corpus), file)));
const query = parseBody(body);
const range = { first: query.fromBlock, last: query.toBlock ?? Infinity };

function write(): Uint8Array[] {
  return [...answerSegments(engine, [file], query)];
}

const pieces = write();
const text = Buffer.concat(pieces).toString();
const lines: object[] = text
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));
const ourMs: number[] = [];
const stringifyMs: number[] = [];
let characterCount = 0;
for (let run = 0; run < runCount; run++) {
  let startMs = performance.now();
  const written = engine.begin(file, query, { range });
  for (const _ of written.pieces());
  written.release();
  ourMs.push(performance.now() - startMs);
  startMs = performance.now();
  for (const line of lines) characterCount += JSON.stringify(line).length;
  stringifyMs.push(performance.now() - startMs);
}
const result: WriterResult = {
  answerBytes: Buffer.byteLength(text),
  characterCount: characterCount / runCount + lines.length,
  sluice: quantilesOf(ourMs),
  stringify: quantilesOf(stringifyMs),
};
process.send?.(result);
