/** Everything that can happen in a simulated world, and how often. */
import type { Random } from '@sluice/base/random';
import type { LedgerBlock } from './ledger.ts';
import type { Machine } from './machine.ts';
import { must } from './model.ts';
import { call, checkHeads, type ReaderDependencies } from './reader.ts';
import type { RemoteFault } from './remote.ts';
import { Life } from './scheduler.ts';
import { datasetFolder } from './service.ts';
import type { SourceFault } from './source.ts';
import type { World } from './world.ts';

/** Each action concerns the world or one of its machines. */
type Action = (world: World, random: Random, machine: Machine) => void | Promise<void>;

const plainFaults = ['down', 'stalls', 'lags'] as const satisfies SourceFault[];
const remoteFaults = ['refuses', 'stalls', 'forgets', 'slow'] as const satisfies RemoteFault[];
const lies = ['omits', 'parents', 'bytes', 'finality'] as const satisfies SourceFault[];

const actions = {
  produce: ({ ledger, sources }, random) => {
    ledger.produce(random.chance(0.85) ? 0 : random.between(1, random.chance(0.1) ? 150 : 4));
    for (const { fault, branch } of sources) if (fault === 'splits') ledger.grow(branch);
  },
  fork: ({ ledger }, random) => {
    const depth = random.between(1, random.chance(0.2) ? 12 : 3);
    ledger.abandon(depth);
    // The new tip may be lower than the old one.
    const count = random.between(1, depth + 1);
    for (let i = 0; i < count; i++) ledger.produce(random.chance(0.8) ? 0 : 1);
  },
  finalize: ({ ledger }, random) => ledger.finalize(random.between(0, 12)),
  query: (world, random, machine) => readRange(world, random, machine),
  follow: (world, random, machine) => readHead(world, random, machine),
  heads: (world, random, machine) =>
    world.check(machine, (reader) => checkHead(world, random, reader)),
  lookup: (world, random, machine) =>
    world.check(machine, (reader) => checkLookup(world, random, reader)),
  abort: (world, random) => {
    const readers = [...world.readers];
    if (readers.length === 0) return;
    const reader = random.pick(readers);
    reader.life.isOver = true;
    world.readers.delete(reader);
  },
  kill: (_world, _random, machine) => {
    if (machine.service !== undefined) machine.kill();
  },
  powerLoss: (_world, random, machine) => {
    if (machine.service === undefined) return;
    machine.kill();
    machine.losePower(random);
  },
  stop: async (_world, _random, machine) => {
    if (machine.service?.dataset !== undefined) await machine.stop();
  },
  age: (_world, _random, machine) => machine.age(),
  pause: (_world, random, machine) => machine.pause(random.unit() * 20_000),
  breakDisk: (_world, random, machine) => {
    const kind = random.pick(['EIO', 'ENOSPC', 'EROFS'] as const);
    machine.diskFault = { kind, share: random.pick([0.02, 0.2, 1]) };
  },
  fillDisk: (_world, _random, machine) => {
    machine.disk.diskSpace = { freeBytes: 1_000, totalBytes: 2e12 };
  },
  slowDisk: (_world, random, machine) => {
    machine.slowMs = random.pick([50, 2_000]);
  },
  mendDisk: (_world, _random, machine) => {
    machine.diskFault = undefined;
    machine.slowMs = 5;
    machine.disk.diskSpace = { freeBytes: 1e12, totalBytes: 2e12 };
  },
  damage: (_world, random, machine) => damageFile(machine, random),
  repair: (_world, _random, { damages }) => {
    for (const repair of damages.values()) repair();
    damages.clear();
  },
  breakStore: ({ servers }, random) => {
    servers.store.kind = random.pick(remoteFaults);
    servers.store.share = random.pick([0.1, 0.5, 1]);
  },
  breakFeed: ({ servers }, random) => {
    servers.feed.kind = random.pick(remoteFaults);
    servers.feed.share = random.pick([0.1, 0.5, 1]);
  },
  fillFeed: ({ servers }) => {
    servers.isFeedFull = true;
  },
  loseLease: ({ servers, scheduler }) => servers.stealLease(scheduler.nowMs),
  mendServers: ({ servers }) => servers.heal(),
  breakSource: ({ sources, machines }, random) => {
    // A single source is believed about the block that a new dataset starts with.
    const isBelieved =
      sources.length === 1 && machines.some(({ model }) => model.current?.head == null);
    // A majority of honest sources is needed only while one lies.
    const isLied = sources.some(({ fault }) => lies.some((lie) => lie === fault));
    const isWell = sources.every(({ fault }) => fault === 'none');
    const source = random.pick(sources);
    if (random.chance(0.5) && isWell && sources.length >= 3) source.fault = random.pick(lies);
    else if (random.chance(0.3) && isWell && !isBelieved)
      source.fault = random.pick(['omits', 'parents', 'bytes']);
    else if (!isLied) source.fault = random.pick(plainFaults);
  },
  rewriteHistory: ({ sources, ledger, machines }, random) => {
    const [source] = sources;
    // A single source is believed about everything that is not final yet.
    const finalDepth = Math.min(
      ...machines.map(({ model }) => model.current?.finalized?.depth ?? 0),
    );
    if (source === undefined || sources.length > 1 || finalDepth < 8) return;
    source.branch = ledger.rewrite(finalDepth - random.between(1, 6));
    source.fault = 'rewrites';
  },
  split: ({ sources, ledger }, random) => {
    if (sources.some(({ fault }) => fault !== 'none')) return;
    const depth = ledger.head.depth - random.below(12);
    random.pick(sources).split(Math.max(0, ledger.finalDepth, depth));
  },
  mendSource: ({ sources }, random) => {
    random.pick(sources).fault = 'none';
  },
  recover: (world) => world.converge(),
  wait: () => undefined,
} satisfies Record<string, Action>;

type ActionName = keyof typeof actions;

const weights: Record<ActionName, number> = {
  produce: 300,
  fork: 40,
  finalize: 100,
  query: 150,
  follow: 30,
  heads: 40,
  lookup: 40,
  abort: 20,
  kill: 6,
  powerLoss: 6,
  stop: 2,
  age: 1,
  pause: 4,
  breakDisk: 6,
  fillDisk: 3,
  slowDisk: 4,
  mendDisk: 30,
  damage: 4,
  repair: 8,
  breakStore: 8,
  breakFeed: 8,
  fillFeed: 2,
  loseLease: 4,
  mendServers: 30,
  breakSource: 20,
  rewriteHistory: 5,
  split: 10,
  mendSource: 30,
  recover: 0.5,
  wait: 150,
};
const names = Object.keys(weights) as ActionName[];
const totalWeight = Object.values(weights).reduce((sum, weight) => sum + weight, 0);

export function act(world: World, random: Random): void | Promise<void> {
  let left = random.unit() * totalWeight;
  const name = names.find((action) => {
    left -= weights[action];
    return left < 0;
  });
  world.count(name ?? 'wait');
  return actions[name ?? 'wait'](world, random, random.pick(world.machines));
}

/** Returns a slot near the head, in the history, below the start or above the head. */
function chooseSlot({ ledger }: World, random: Random, { model }: Machine): number {
  const head = ledger.head.slot;
  const start = model.current?.start ?? 0;
  const kind = random.unit();
  if (kind < 0.5) return Math.max(0, head - random.below(12));
  if (kind < 0.9) return start + random.below(Math.max(1, head - start));
  return kind < 0.95 ? Math.max(0, start - 1 - random.below(3)) : head + random.between(1, 3);
}

function readRange(world: World, random: Random, machine: Machine): void {
  const from = chooseSlot(world, random, machine);
  const to = random.chance(0.3) ? undefined : from + random.below(random.chance(0.2) ? 400 : 30);
  const plan = {
    template: random.pick(world.queries),
    from,
    to,
    parentHash: random.chance(0.4) ? chooseParent(world, from, random) : undefined,
    finalizedOnly: random.chance(0.3),
    isGzipped: random.chance(0.3),
    pauseMs: random.chance(0.1) ? random.unit() * 8_000 : 0,
  };
  world.read(plan, machine);
}

function readHead(world: World, random: Random, machine: Machine): void {
  const { ledger } = world;
  const plan = {
    template: random.pick(world.queries),
    from: ledger.head.slot + 1,
    to: undefined,
    parentHash: ledger.head.hash,
    finalizedOnly: false,
    isGzipped: random.chance(0.5),
    pauseMs: 0,
  };
  world.read(plan, machine);
}

/** Returns the right parent, one of an abandoned branch, or any other. */
function chooseParent({ ledger, seenHashes }: World, from: number, random: Random): string {
  if (random.chance(0.3) && seenHashes.length > 0) return random.pick(seenHashes);
  let at: LedgerBlock | null = ledger.head;
  while (at !== null && at.slot >= from) at = at.parent;
  return at?.hash ?? ledger.head.hash;
}

async function checkHead(
  world: World,
  random: Random,
  dependencies: ReaderDependencies,
): Promise<void> {
  const isFinal = random.chance(0.5);
  const path = `/datasets/ledger/${isFinal ? 'finalized-head' : 'head'}`;
  const answer = await call({ method: 'GET', path }, new Life(), dependencies);
  world.note(`${path} ${answer?.status}`);
  if (answer === undefined || !answer.isWhole) return;
  const { status, body, states, startMs } = answer;
  if (status !== 200)
    return must(status === 503 && dependencies.mayFail(startMs), `${path} is ${status}`);
  const ref = JSON.parse(body.toString()) as { hash: string } | null;
  const isShown = states.some(
    ({ head, finalized }) => (isFinal ? finalized : head)?.hash === ref?.hash,
  );
  must(isShown, 'a head is the head of a visible state');
}

/** Searches a transaction by its signature, or a block by its slot. */
async function checkLookup(
  world: World,
  random: Random,
  dependencies: ReaderDependencies,
): Promise<void> {
  const { ledger } = world;
  const target = random.pick(ledger.chain);
  const [signature] = target.block.transactions[0]?.signatures ?? [];
  const isBlock = signature === undefined || random.chance(0.3);
  const path = isBlock ? `blocks/${target.slot}` : `transactions/${signature}`;
  const answer = await call(
    { method: 'GET', path: `/datasets/ledger/${path}` },
    new Life(),
    dependencies,
  );
  world.note(`${path} ${answer?.status}`);
  if (answer === undefined || !answer.isWhole) return;
  const { status, body, states, startMs, headers } = answer;
  const has = ({ head, start }: (typeof states)[number]) =>
    head !== null && start <= target.slot && head.slot >= target.slot && ledger.isOn(target, head);
  if (status === 200) {
    const { header } = JSON.parse(body.toString()) as { header: { number: number; hash: string } };
    const found = ledger.find(header.hash);
    must(found?.slot === target.slot, 'a lookup finds a block of that slot');
    must(isBlock || found === target, 'a lookup finds the block of the transaction');
    must(found === target ? states.some(has) : true, 'a lookup finds what is visible');
    checkHeads(headers, states);
  } else if (status === 404 || status === 400 || status === 204)
    must(states.length === 0 || !states.every(has), `${path} is not found`);
  else must(status === 503 && dependencies.mayFail(startMs), `${path} is ${status}`);
}

/** Flips a bit of a sealed segment, of a list of segments, of an index over segments, or of a cached object. */
function damageFile({ disk, damages }: Machine, random: Random): void {
  const paths = disk.paths().filter((path) => isRotten.test(path) && !damages.has(path));
  if (paths.length === 0) return;
  const path = random.pick(paths);
  const bits = disk.readRaw(path).length * 8;
  if (bits > 0) damages.set(path, disk.flipBit(path, random.below(bits)));
}

const isRotten = new RegExp(
  `^${datasetFolder}/((segments|lists|indexes)/[^.]+\\.\\w+|cache/\\w+/\\d+)$`,
);
