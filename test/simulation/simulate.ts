/** The command `npm run simulate`. */
import { parseArgs } from 'node:util';
import { act } from './actions.ts';
import { type StorageKind, storageChoices } from './settings.ts';
import { withoutMachine } from './without-machine.ts';
import { World, type WorldResult } from './world.ts';

const usage = `usage: npm run simulate -- [--seed N] [--steps M] [--seconds S] [--storage KIND] [--actions A] [--skip RANGES] [--trace]

A step is one event: an operation of the disk, a message, a timer, a call of a source. Without --seed, worlds with fresh seeds of M steps each
are simulated for S seconds (60 by default). KIND is folder, bucket or cluster; without it, the seed decides. --trace prints every event. --actions ends a world after that many actions, and --skip 0-9,20-29
leaves out these actions: a failing run is shrunk by them.
`;
const stepsDefault = '30000';
const shrinkTriesMax = 80;

type Print = (line: string) => void;
type Range = readonly [first: number, last: number];

interface RunOptions {
  readonly seed: number;
  readonly steps: number;
  readonly storage?: StorageKind | undefined;
  readonly actionCountMax?: number;
  readonly skipped: readonly Range[];
  readonly trace?: Print | undefined;
}

/** Returns the exit code. */
export function simulate(args: readonly string[], print: Print): Promise<number> {
  return withoutMachine(() => simulateAs(args, print));
}

async function simulateAs(args: readonly string[], print: Print): Promise<number> {
  const asked = readCommand(args, print);
  if (asked === undefined) {
    print(usage);
    return 2;
  }
  if (asked === 'help') {
    print(usage);
    return 0;
  }
  const { seed, seconds, steps, storage, actions, skipped, isTraced } = asked;
  if (seed === undefined) return simulateFor(seconds, { steps, storage }, print);
  const options: RunOptions = {
    seed,
    steps,
    storage,
    ...(actions === undefined ? {} : { actionCountMax: actions }),
    skipped,
    trace: isTraced ? (text) => print(text.trimEnd()) : undefined,
  };
  return simulateOne(options, print);
}

/** Prints what is wrong, and returns undefined, if an option is. A typing error must not look like a run without a failure. */
function readCommand(args: readonly string[], print: Print) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seed: { type: 'string' },
        steps: { type: 'string', default: stepsDefault },
        seconds: { type: 'string', default: '60' },
        storage: { type: 'string' },
        actions: { type: 'string' },
        skip: { type: 'string', default: '' },
        trace: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) return 'help';
    return {
      seed: values.seed === undefined ? undefined : readCount('seed', values.seed),
      steps: readCount('steps', values.steps, 1),
      seconds: readCount('seconds', values.seconds, 1),
      storage: values.storage === undefined ? undefined : readStorage(values.storage),
      actions: values.actions === undefined ? undefined : readCount('actions', values.actions),
      skipped: parseRanges(values.skip),
      isTraced: values.trace,
    };
  } catch (error) {
    print(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

function readCount(name: string, text: string, min = 0): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(count) && count >= min) return count;
  throw new TypeError(`--${name} takes a whole number from ${min}`);
}

function readStorage(text: string): StorageKind {
  const storage = storageChoices.find((kind) => kind === text);
  if (storage !== undefined) return storage;
  throw new TypeError('--storage takes folder, bucket or cluster');
}

async function simulateOne(options: RunOptions, print: Print): Promise<number> {
  const result = await runWorld(options);
  print(describe(result, options.seed));
  if (result.failure !== undefined) await reportFailure(result, options, print);
  print(`digest ${result.digest}`);
  return result.failure === undefined ? 0 : 1;
}

/** Simulates worlds with fresh seeds until the time is over or one fails. */
async function simulateFor(
  seconds: number,
  world: Pick<RunOptions, 'steps' | 'storage'>,
  print: Print,
): Promise<number> {
  const startMs = realMs();
  let seed = Number(process.hrtime.bigint() % 1_000_000_007n);
  let [stepCount, actionCount] = [0, 0];
  while (realMs() - startMs < seconds * 1000) {
    const options = { ...world, seed, skipped: [] };
    const result = await runWorld(options);
    print(`${describe(result, seed)}, digest ${result.digest}`);
    if (result.failure !== undefined) {
      await reportFailure(result, options, print);
      return 1;
    }
    stepCount += result.eventCount;
    actionCount += result.actionCount;
    seed++;
  }
  const { user, system } = process.cpuUsage();
  const perMinute = (count: number) => Math.round((count * 60e6) / (user + system));
  const speed = `${perMinute(stepCount)} steps and ${perMinute(actionCount)} actions`;
  print(`${stepCount} steps, ${speed} a minute of the processor`);
  return 0;
}

function runWorld({ skipped, trace, ...options }: RunOptions): Promise<WorldResult> {
  const isSkipped = (action: number) =>
    skipped.some(([first, last]) => action >= first && action <= last);
  return new World({ ...options, act, isSkipped, ...(trace === undefined ? {} : { trace }) }).run();
}

async function reportFailure(
  { failure, actionCount }: WorldResult,
  { seed, steps, storage, skipped }: RunOptions,
  print: Print,
): Promise<void> {
  print(`failed after action ${actionCount - 1}: ${failure?.stack}`);
  const options = { seed, steps, storage, actionCountMax: actionCount };
  const left = await shrink({ ...options, skipped }, failure?.message ?? '');
  const skip = left.map(([first, last]) => `${first}-${last}`).join();
  const world = `--seed ${seed} --steps ${steps}${storage === undefined ? '' : ` --storage ${storage}`}`;
  const command = `npm run simulate -- ${world} --actions ${actionCount}`;
  print(`${command}${skip && ` --skip ${skip}`}`);
}

/** Leaves out actions as long as the same rule is violated. Returns the actions that can be left out. */
async function shrink(options: RunOptions, message: string): Promise<readonly Range[]> {
  const fails = async (skipped: readonly Range[]) => {
    const { failure } = await runWorld({ ...options, skipped });
    return failure !== undefined && ruleOf(failure.message) === ruleOf(message);
  };
  const { actionCountMax = 0 } = options;
  let { skipped } = options;
  let tries = 0;
  for (let size = Math.ceil(actionCountMax / 2); size >= 1; size >>= 1) {
    for (let first = 0; first < actionCountMax; first += size) {
      const range: Range = [first, Math.min(actionCountMax, first + size) - 1];
      if (skipped.some(([a, b]) => range[0] >= a && range[1] <= b)) continue;
      if (tries++ >= shrinkTriesMax) return skipped;
      const more = joinRanges([...skipped, range]);
      if (await fails(more)) skipped = more;
    }
  }
  return skipped;
}

/** The numbers in a message may differ between runs that violate the same rule. */
const ruleOf = (message: string) => message.replace(/\d.*$/s, '');

function joinRanges(ranges: readonly Range[]): Range[] {
  const joined: [number, number][] = [];
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    const before = joined.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

function parseRanges(text: string): Range[] {
  return text
    .split(',')
    .filter(Boolean)
    .map((part) => {
      const [, first = '', last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
      if (first === '') throw new TypeError('--skip takes ranges of actions, such as 0-9,20-29');
      return [Number(first), Number(last)];
    });
}

function describe({ eventCount, actionCount, simulatedMs, counts }: WorldResult, seed: number) {
  const minutes = (simulatedMs / 60_000).toFixed(1);
  const crashes = (counts.get('kill') ?? 0) + (counts.get('powerLoss') ?? 0);
  const done = `${eventCount} steps, ${actionCount} actions, ${crashes} crashes`;
  return `seed ${seed}: ${done}, ${minutes} simulated minutes`;
}

function realMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
