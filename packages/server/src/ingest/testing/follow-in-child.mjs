// A process that follows a node into a folder and prints each head once it is visible. Run with the built files:
//   node follow-in-child.mjs <url of dist> <data folder> <rpc url> [limits of the dataset and retention, as JSON]
const [dist, folder, url, more = '{}'] = process.argv.slice(2);
const { limits, retention } = JSON.parse(more);
const load = (path) => import(`${dist}${path}`);
const { Dataset } = await load('dataset/dataset.js');
const { createDataset, datasetExists } = await load('dataset/stored/create-dataset.js');
const { Ingester } = await load('ingest/ingester.js');
const { startPreparerPool } = await load('ingest/prepare/prepared-block.js');
const { nodeFs } = await load('storage/node-fs.js');
const { WriterLock } = await load('storage/writer-lock.js');
const { systemClock } = await import('@sluice/base/clock');
const { Random } = await import('@sluice/base/random');

const lock = await WriterLock.acquire(folder);
const dependencies = { fs: nodeFs, clock: systemClock, isLockHeld: () => lock.isHeld };
const own = `${folder}/ledger`;
if (!(await datasetExists(own, nodeFs))) {
  const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
  await createDataset(own, { name: 'ledger', aliases: [], votes: 'drop', ...rest }, dependencies);
}
const dataset = await Dataset.open(
  {
    folder: own,
    realTime: true,
    limits: { journalFileBytesMax: 60_000, diskFloorBytes: 0, ...limits },
  },
  dependencies,
);
const pool = startPreparerPool({ workerCount: 1, normalize: {} });
const ingester = new Ingester(
  {
    sources: [{ kind: 'rpc', name: 'node', url, wsUrls: [] }],
    start: { kind: 'genesis' },
    ...(retention === undefined ? {} : { retention }),
  },
  {
    dataset,
    clock: systemClock,
    random: Random.fromSeed(1),
    prepare: (slot, bytes) => pool.normalize(slot, bytes),
  },
);
const { signal } = new AbortController();
ingester.run(signal);
for (let version = -1; ; ) {
  const snapshot = await dataset.changed(version, signal);
  version = snapshot.version;
  process.stdout.write(`${snapshot.head?.number ?? -1} ${snapshot.head?.hash ?? ''}\n`);
}
