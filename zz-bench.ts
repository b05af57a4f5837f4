import { readFileSync, existsSync } from 'node:fs';
import { Engine } from '/work/wt/engine/packages/server/src/engine/engine.ts';
import { openSegment } from '/work/wt/engine/packages/server/src/segment/open-segment.ts';
import { decodeBlocks } from '/work/wt/engine/packages/server/src/segment/decode-blocks.ts';
import { answerSegments } from '/work/wt/engine/packages/server/src/engine/answer-segments.ts';
import { parseTestQuery } from '/work/wt/engine/packages/server/src/engine/testing/arbitrary-query.ts';
import { answerQuery } from '/work/wt/engine/packages/server/src/engine/reference/answer-query.ts';
import { buildSegment } from '/work/wt/engine/packages/server/src/segment/build-segment.ts';
import { discriminator } from '/work/wt/engine/packages/server/src/ledger/discriminator.ts';
const base = process.argv[2]!; const runs = Number(process.argv[3] ?? 10); const only = process.argv[4];
const engine = new Engine({ cacheBytesMax: 1 << 29 });
const keys: string[] = []; let blocks = 0;
const files: Uint8Array[] = [];
for (let i = 0; existsSync(`${base}.${i}`); i++) { const b = readFileSync(`${base}.${i}`); files.push(b); const s = engine.open(String(i), b); keys.push(String(i)); blocks += s.blockCount; }
// sample for picking
const seg = openSegment(files[0]!); 
const sampleSeg = decodeBlocks({ directory: { ...seg.directory, groups: seg.directory.groups.slice(0, 1) } } as never && new Proxy(seg, { get: (t, k) => k === 'directory' ? { ...seg.directory, groups: seg.directory.groups.slice(0, 1) } : (typeof (t as any)[k] === 'function' ? (t as any)[k].bind(t) : (t as any)[k]) }) as never);
const progs = new Map<string, number>(); const d8s = new Map<string, number>(); const owners = new Map<string, number>();
for (const b of sampleSeg) { for (const i of b.instructions) { progs.set(i.programId, (progs.get(i.programId) ?? 0) + 1); const d = discriminator(i.data, 8); if (d) d8s.set(i.programId + ' ' + d, (d8s.get(i.programId + ' ' + d) ?? 0) + 1); } for (const t of b.tokenBalances) if (t.postOwner) owners.set(t.postOwner, (owners.get(t.postOwner) ?? 0) + 1); }
const top = (m: Map<string, number>) => [...m].sort((a, b) => b[1] - a[1]);
const sys = new Set(['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA','ComputeBudget111111111111111111111111111111','11111111111111111111111111111111','ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL','TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb']);
const apps = top(progs).filter(([p]) => !sys.has(p)).map(([p]) => p);
const swaps = top(d8s).filter(([k]) => !sys.has(k.split(' ')[0]!)).map(([k]) => k.split(' '));
const rare = [...sampleSeg.at(-1)!.transactions.at(-1)!.accountKeys].at(-2)!;
const all = Object.fromEntries([['transaction', ['transactionIndex','version','accountKeys','addressTableLookups','numReadonlySignedAccounts','numReadonlyUnsignedAccounts','numRequiredSignatures','recentBlockhash','signatures','err','fee','computeUnitsConsumed','loadedAddresses','feePayer','hasDroppedLogMessages']]]);
const from = { fromBlock: 0 };
const Q: Record<string, any> = {
  Q1: { ...from, instructions: [{ programId: [swaps[0]![0]], d8: [swaps[0]![1]], transaction: true, innerInstructions: true }] },
  Q2: { ...from, instructions: [{ programId: [swaps[0]![0]], d8: [swaps[0]![1]], transaction: true, innerInstructions: true, transactionTokenBalances: true }] },
  Q3: { ...from, instructions: [{ programId: [swaps[0]![0]], d8: [swaps[0]![1]], transaction: true, innerInstructions: true, transactionTokenBalances: true, logs: true }] },
  Q4: { ...from, instructions: [{ programId: ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'], d1: ['0x0c'], a1: ['So11111111111111111111111111111111111111112'], transaction: true, transactionInstructions: true, transactionBalances: true, transactionTokenBalances: true, logs: true }] },
  Q5: { ...from, instructions: swaps.slice(0, 3).map(([p]) => ({ programId: [p], transaction: true, transactionInstructions: true, transactionTokenBalances: true, logs: true })) },
  Q6: { ...from, instructions: swaps.slice(0, 12).map(([p, d]) => ({ programId: [p], d8: [d], transaction: true, innerInstructions: true, transactionTokenBalances: true, logs: true })) },
  Q7: { ...from, includeAllBlocks: true },
  Q8: { ...from, tokenBalances: [{ postOwner: [top(owners)[5]![0]], transaction: true }] },
  Q9: { ...from, transactions: [{ mentionsAccount: [rare], instructions: true }] },
  Q10: { ...from, transactions: [{}], instructions: [{}], logs: [{}], balances: [{}], tokenBalances: [{}], rewards: [{}] },
};
for (const [name, body] of Object.entries(Q)) {
  if (only && only !== name) continue;
  const query = parseTestQuery(body);
  const times: number[] = []; let bytes = 0;
  for (let r = 0; r < runs; r++) { const c = process.cpuUsage(); const t = performance.now(); bytes = 0; for (const p of answerSegments(engine, keys, query)) bytes += p.length; const cc = process.cpuUsage(c); times.push((cc.user + cc.system) / 1000); }
  const cold = times[0]!; const sorted = times.slice(1).sort((a, b) => a - b); const med = sorted[sorted.length >> 1]!, min = sorted[0]!;
  console.log(name, 'bytes', (bytes / 1e6).toFixed(2) + 'MB', 'cold', cold.toFixed(1), 'warm med', med.toFixed(2), 'min', min.toFixed(2), 'ms', 'blocks/s(min)', (blocks / min * 1000).toFixed(0), 'MB/s', (bytes / min / 1000).toFixed(0));
}
console.log('allocated', (engine.allocatedBytes / 1e6).toFixed(0) + 'MB', 'blocks', blocks);
