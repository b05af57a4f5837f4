import fc from 'fast-check';
import { buildSegment } from '/work/wt/engine/packages/server/src/segment/build-segment.ts';
import { openSegment } from '/work/wt/engine/packages/server/src/segment/open-segment.ts';
import { decodeBlocks } from '/work/wt/engine/packages/server/src/segment/decode-blocks.ts';
import { answerSegments } from '/work/wt/engine/packages/server/src/engine/answer-segments.ts';
import { Engine } from '/work/wt/engine/packages/server/src/engine/engine.ts';
import { answerQuery } from '/work/wt/engine/packages/server/src/engine/reference/answer-query.ts';
import { arbitraryQueryCase } from '/work/wt/engine/packages/server/src/engine/testing/arbitrary-query.ts';
import { isDeepStrictEqual } from 'node:util';
const runs = Number(process.argv[2] ?? 100);
const seed = Number(process.argv[3] ?? 1);
let n = 0;
const res = fc.check(fc.property(arbitraryQueryCase({ maxLength: 6 }), fc.constantFrom(1, 2, 100), ({ blocks, body, query }, size) => {
  n++;
  const engine = new Engine({ cacheBytesMax: 1 << 26 });
  const keys: string[] = [];
  for (let at = 0; at < blocks.length; at += size) { const b = buildSegment(blocks.slice(at, at + size)); engine.open(String(at), b); keys.push(String(at)); }
  const a = Buffer.concat([...answerSegments(engine, keys, query)]).toString(); const e = answerQuery(query, blocks);
  if (a !== e) { let i = 0; while (a[i] === e[i]) i++; console.log('DIFF at', i, 'lens', a.length, e.length, 'blocks', blocks.length, size, '\n got', a.slice(Math.max(0, i - 200), i + 100), '\n exp', e.slice(Math.max(0, i - 200), i + 100), '\n', JSON.stringify(body).slice(0, 1500)); return false; }
  return true;
}), { numRuns: runs, seed, endOnFailure: true });
console.log(res.failed ? 'FAILED' : 'ok', n, res.seed, res.counterexamplePath);
