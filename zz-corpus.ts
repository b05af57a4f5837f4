import { openSync, writeSync, closeSync, statSync } from 'node:fs';
import { SimulatedChain } from '/work/wt/engine/packages/server/src/simulator/chain.ts';
import { parseContentOptions } from '/work/wt/engine/packages/server/src/simulator/content/content-options.ts';
import { BlockGenerator } from '/work/wt/engine/packages/server/src/simulator/content/generate-block.ts';
import { expectedBlock } from '/work/wt/engine/packages/server/src/simulator/content/expected-block.ts';
import { SegmentWriter } from '/work/wt/engine/packages/server/src/segment/segment-writer.ts';
const n = Number(process.argv[2]); const out = process.argv[3]!;
const chain = new SimulatedChain({ seed: 1, startSlot: 320_000_000 } as never);
const gen = new BlockGenerator(parseContentOptions({ seed: 1, profile: '2025', votes: false } as never));
let count = 0, part = 0; let fd = openSync(`${out}.${part}`, 'w'); let w = new SegmentWriter((b) => writeSync(fd, b));
let tg = 0, tb = 0; const t00 = performance.now(); let txs = 0;
for (let slot = 320_000_000; count < n; slot++) {
  const cb = (chain as any).blockAt(slot); if (!cb) continue;
  const t0 = performance.now(); const b = expectedBlock(gen.generate(cb), { votes: 'drop' } as never); const t1 = performance.now();
  if (w.isFull) { w.finish(); closeSync(fd); fd = openSync(`${out}.${++part}`, 'w'); w = new SegmentWriter((b) => writeSync(fd, b)); }
  w.append(b); tg += t1 - t0; tb += performance.now() - t1; count++; txs += b.transactions.length;
}
w.finish(); closeSync(fd);
let size = 0; for (let i = 0; i <= part; i++) size += statSync(`${out}.${i}`).size;
console.log({ count, txs, part, size, perTx: size / txs, genMs: tg / count, buildMs: tb / count, total: performance.now() - t00 });
