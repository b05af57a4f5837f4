// A process that loads history into a dataset and prints each start once it is visible. Run with the built files:
//   node backfill-in-child.mjs <url of dist> <data folder> <rpc url>
const [dist, folder, url] = process.argv.slice(2);
const load = (path) => import(`${dist}${path}`);
const { Dataset } = await load('dataset/dataset.js');
const { Backfill } = await load('ingest/backfill/backfill.js');
const { BlockLoader } = await load('ingest/follow/block-loader.js');
const { FollowedSource } = await load('ingest/follow/followed-source.js');
const { startPreparerPool } = await load('ingest/prepare/prepared-block.js');
const { mergeSegments } = await load('segment/write/merge-segments.js');
const { openSegment } = await load('segment/read/open-segment.js');
const { SegmentBuffer } = await load('dataset/merge/built-segment.js');
const { nodeFs } = await load('storage/node-fs.js');
const { WriterLock } = await load('storage/writer-lock.js');
const { systemClock } = await import('@sluice/base/clock');
const { Random } = await import('@sluice/base/random');

const lock = await WriterLock.acquire(folder);
const merge = async (segments) => {
  const parts = new SegmentBuffer();
  parts.append(mergeSegments(segments.map((bytes) => openSegment(bytes))));
  return parts.finish();
};
const dependencies = { fs: nodeFs, clock: systemClock, isLockHeld: () => lock.isHeld, merge };
const limits = { diskFloorBytes: 0 };
const dataset = await Dataset.open(
  { folder: `${folder}/ledger`, realTime: false, limits },
  dependencies,
);
const pool = startPreparerPool({ workerCount: 1, normalize: {} });
const loader = new BlockLoader((slot, bytes) => pool.normalize(slot, bytes));
const source = new FollowedSource(
  { kind: 'rpc', name: 'node', url, wsUrls: [] },
  { clock: systemClock, random: Random.fromSeed(1) },
);
const stop = new AbortController();
const tell = async () => {
  for (let version = -1; !stop.signal.aborted; ) {
    const snapshot = await dataset.changed(version, stop.signal);
    version = snapshot.version;
    process.stdout.write(`${snapshot.start}\n`);
  }
};
const telling = tell();
await Backfill.run(
  { to: 0, storesOnStop: false, limits: { sealBlockCount: 12, sealBytes: 1e9 } },
  { dataset, loader, clock: systemClock, sources: () => [source] },
  new AbortController().signal,
);
stop.abort();
await telling;
await dataset.close();
await Promise.all([pool.close(), source.remote.close(), lock.release()]);
