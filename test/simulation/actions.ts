/** Everything that can happen in a simulated world, and how often. */
import type { Random } from '@sluice/base/random';
import type { LedgerBlock } from './ledger.ts';
import { must } from './model.ts';
import { call, checkHeads, type ReaderDependencies } from './reader.ts';
import { Life } from './scheduler.ts';
import { datasetFolder } from './service.ts';
import type { SourceFault } from './source.ts';
import type { World } from './world.ts';

type Action = (world: World, random: Random) => void | Promise<void>;

const plainFaults = ['down', 'stalls', 'lags'] as const satisfies SourceFault[];
const lies = ['omits', 'parents', 'bytes', 'finality'] as const satisfies SourceFault[];

const actions = {
  produce: ({ ledger }, random) => {
    ledger.produce(random.chance(0.85) ? 0 : random.between(1, random.chance(0.1) ? 150 : 4));
  },
  fork: ({ ledger }, random) => {
    const depth = random.between(1, random.chance(0.2) ? 12 : 3);
    ledger.abandon(depth);
    // The new tip may be lower than the old one.
    const count = random.between(1, depth + 1);
    for (let i = 0; i < count; i++) ledger.produce(random.chance(0.8) ? 0 : 1);
  },
  finalize: ({ ledger }, random) => ledger.finalize(random.between(0, 12)),
  query: (world, random) => readRange(world, random),
  follow: (world, random) => readHead(world, random),
  heads: (world, random) => world.check((reader) => checkHead(world, random, reader)),
  lookup: (world, random) => world.check((reader) => checkLookup(world, random, reader)),
  abort: (world, random) => {
    const readers = [...world.readers];
    if (readers.length === 0) return;
    const reader = random.pick(readers);
    reader.life.isOver = true;
    world.readers.delete(reader);
  },
  kill: (world) => {
    if (world.service !== undefined) world.kill();
  },
  powerLoss: (world, random) => {
    if (world.service === undefined) return;
    world.kill();
    world.losePower(random);
  },
  stop: async (world) => {
    if (world.service?.dataset !== undefined) await world.stop();
  },
  breakDisk: (world, random) => {
    const kind = random.pick(['EIO', 'ENOSPC'] as const);
    world.diskFault = { kind, share: random.pick([0.02, 0.2, 1]) };
  },
  fillDisk: (world) => {
    world.disk.diskSpace = { freeBytes: 1_000, totalBytes: 2e12 };
  },
  slowDisk: (world, random) => {
    world.slowMs = random.pick([50, 2_000]);
  },
  mendDisk: (world) => {
    world.diskFault = undefined;
    world.slowMs = 5;
    world.disk.diskSpace = { freeBytes: 1e12, totalBytes: 2e12 };
  },
  damage: (world, random) => damageFile(world, random),
  repair: ({ damages }) => {
    for (const repair of damages.values()) repair();
    damages.clear();
  },
  breakSource: ({ sources }, random) => {
    // A majority of honest sources is needed only while one lies.
    const isLied = sources.some(({ fault }) => lies.some((lie) => lie === fault));
    const isWell = sources.every(({ fault }) => fault === 'none');
    const source = random.pick(sources);
    if (random.chance(0.5) && isWell && sources.length >= 3) source.fault = random.pick(lies);
    else if (random.chance(0.3) && isWell)
      source.fault = random.pick(['omits', 'parents', 'bytes']);
    else if (!isLied) source.fault = random.pick(plainFaults);
  },
  rewriteHistory: ({ sources, ledger, model }, random) => {
    const [source] = sources;
    // A single source is believed about everything that is not final yet.
    const finalDepth = model.current?.finalized?.depth ?? 0;
    if (source === undefined || sources.length > 1 || finalDepth < 8) return;
    source.rewritten = ledger.rewrite(finalDepth - random.between(1, 6));
    source.fault = 'rewrites';
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
  breakDisk: 6,
  fillDisk: 3,
  slowDisk: 4,
  mendDisk: 30,
  damage: 4,
  repair: 8,
  breakSource: 20,
  rewriteHistory: 5,
  mendSource: 30,
  recover: 0.5,
  wait: 150,
};
const names = Object.keys(weights) as ActionName[];
const totalWeight = Object.values(weights).reduce((sum, weight) => sum + weight, 0);

export function act(world: World, random: Random): void | Promise<void> {
  let left = random.unit() * totalWeight;
  const name = names.find((one) => {
    left -= weights[one];
    return left < 0;
  });
  world.count(name ?? 'wait');
  return actions[name ?? 'wait'](world, random);
}

/** Returns a slot near the head, in the history, below the start or above the head. */
function chooseSlot({ model, ledger }: World, random: Random): number {
  const head = ledger.head.slot;
  const start = model.current?.start ?? 0;
  const kind = random.unit();
  if (kind < 0.5) return Math.max(0, head - random.below(12));
  if (kind < 0.9) return start + random.below(Math.max(1, head - start));
  return kind < 0.95 ? Math.max(0, start - 1 - random.below(3)) : head + random.between(1, 3);
}

function readRange(world: World, random: Random): void {
  const from = chooseSlot(world, random);
  const to = random.chance(0.3) ? undefined : from + random.below(random.chance(0.2) ? 400 : 30);
  world.read({
    template: random.pick(world.queries),
    from,
    to,
    parentHash: random.chance(0.4) ? chooseParent(world, from, random) : undefined,
    finalizedOnly: random.chance(0.3),
    isGzipped: random.chance(0.3),
    pauseMs: random.chance(0.1) ? random.unit() * 8_000 : 0,
  });
}

function readHead(world: World, random: Random): void {
  const { ledger } = world;
  world.read({
    template: random.pick(world.queries),
    from: ledger.head.slot + 1,
    to: undefined,
    parentHash: ledger.head.hash,
    finalizedOnly: false,
    isGzipped: random.chance(0.5),
    pauseMs: 0,
  });
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

/** Flips a bit of a sealed segment, of a list of segments or of an index over segments. */
function damageFile({ disk, damages }: World, random: Random): void {
  const paths = disk.paths().filter((path) => isRotten.test(path) && !damages.has(path));
  if (paths.length === 0) return;
  const path = random.pick(paths);
  const bits = disk.readRaw(path).length * 8;
  if (bits > 0) damages.set(path, disk.flipBit(path, random.below(bits)));
}

const isRotten = new RegExp(`^${datasetFolder}/(segments|lists|indexes)/[^.]+\\.\\w+$`);
