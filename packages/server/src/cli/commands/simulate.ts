import { systemClock } from '@sluice/base/clock';
import { CHAIN_OPTIONS } from '@sluice/simulator/chain/chain-options';
import {
  PROFILES,
  type Profile,
  TRANSACTION_COUNT_MAX,
} from '@sluice/simulator/content/content-options';
import { SPEED_RANGE } from '@sluice/simulator/simulated-ledger';
import { simulatedLines } from '@sluice/simulator/simulated-lines';
import type { SimulatedNode } from '@sluice/simulator/start-node';
import {
  createSimulatedLedger,
  type SimulatedLedgerOptions,
  startSimulatedNode,
} from '@sluice/simulator/start-simulated-node';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { CommandContext } from '../context.ts';
import { dateOption, numberOption, portOption } from '../parse-option.ts';
import { Progress } from '../progress.ts';
import { aborted, stopSignal } from '../stop-signal.ts';
import { checkOutput, writeOutput } from '../write-output.ts';

const blockCountRange = { min: 1, max: 1_000_000_000, integer: true };
const transactionsRange = { min: 0, max: TRANSACTION_COUNT_MAX, integer: false };

interface SimulateOptions {
  readonly seed: number;
  readonly profile: Profile;
  readonly transactions?: number;
  readonly votes: boolean | number;
  readonly slotMs: number;
  readonly skipRate: number;
  readonly forkRate: number;
  readonly forkDepth: number;
  readonly finalityDistance: number;
  readonly startSlot: number;
  readonly startDate: number;
  readonly history: number;
  readonly speed: number;
  readonly host: string;
  readonly port: number;
  readonly wsPort: number;
  readonly controlPort: number;
  readonly grpcPort: number;
  readonly blocks?: number;
  readonly out?: string;
  readonly force?: boolean;
}

/** Options that have no meaning for a file, which contains the whole final chain. */
const nodeOnlyOptions = [
  ...['host', 'port', 'wsPort', 'controlPort', 'grpcPort', 'speed', 'history'],
  ...['forkRate', 'forkDepth', 'finalityDistance'],
];

export function buildSimulateCommand(context: CommandContext): Command {
  const command = new Command('simulate').description(
    'Serve a simulated ledger with the JSON-RPC, WebSocket and gRPC interfaces of a node, or write its blocks to a file.',
  );
  addLedgerOptions(command);
  addNodeOptions(command);
  addFileOptions(command);
  return command.addHelpText('after', examples).action(async (options: SimulateOptions) => {
    checkCombination(command, options);
    if (options.out === undefined) await serve(options, context);
    else await writeBlocks(options, options.out, context);
  });
}

const examples = `
Examples:
  $ sluice simulate
  $ sluice simulate --profile 2025 --skip-rate 0.006 --fork-rate 0.05
  $ sluice simulate --seed 7 --start-slot 0 --start-date 2026-03-01 --speed 10
  $ sluice simulate --profile busy --blocks 1000 --out blocks.jsonl.gz

Requests to the control port inject faults and change the time of the running node:
  $ curl http://127.0.0.1:8898/faults -d '{"kind":"fork","depth":4}'
  $ curl http://127.0.0.1:8898/time -d '{"advanceSlots":100}'
  $ curl -X DELETE http://127.0.0.1:8898/faults`;

function addLedgerOptions(command: Command): void {
  const { seed, slotMs, skipRate, forkRate, forkDepthMax } = CHAIN_OPTIONS;
  const { finalityDistance, startSlot, historySlots } = CHAIN_OPTIONS;
  command
    .option(
      '--seed <integer>',
      'the same seed gives the same bytes',
      numberOption(seed),
      seed.default,
    )
    .addOption(
      new Option('--profile <name>', 'the size of the blocks')
        .choices(Object.keys(PROFILES))
        .default('demo'),
    )
    .option(
      '--transactions <mean>',
      'transactions per block without votes (default: 8, 389 or 976 by profile)',
      numberOption(transactionsRange),
    )
    .addOption(
      new Option('--votes <on|off|mean>', 'vote transactions per block')
        .argParser(parseVotes)
        .default(true, 'on, with the number of the profile'),
    )
    .option('--slot-ms <ms>', 'the duration of a slot', numberOption(slotMs), slotMs.default)
    .option(
      '--skip-rate <share>',
      'share of slots without a block',
      numberOption(skipRate),
      skipRate.default,
    )
    .option('--fork-rate <rate>', 'forks per slot', numberOption(forkRate), forkRate.default)
    .option(
      '--fork-depth <blocks>',
      'the largest number of blocks that a fork replaces',
      numberOption(forkDepthMax),
      forkDepthMax.default,
    )
    .option(
      '--finality-distance <slots>',
      'the distance of finality to the head',
      numberOption(finalityDistance),
      finalityDistance.default,
    )
    .option(
      '--start-slot <slot>',
      'the head when the node starts, or the first slot of the file',
      numberOption(startSlot),
      startSlot.default,
    )
    .addOption(
      new Option('--start-date <date>', 'date of the start slot, UTC')
        .argParser(dateOption)
        .default(CHAIN_OPTIONS.startSeconds.default, '2026-01-01'),
    )
    .option(
      '--history <slots>',
      'how many slots below the head are served',
      numberOption(historySlots),
      historySlots.default,
    );
}

function addNodeOptions(command: Command): void {
  command
    .option('--speed <factor>', 'the speed of time', numberOption(SPEED_RANGE), 1)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option(
      '--port <port>',
      'the port of JSON-RPC and WebSocket; 0 for any free port',
      portOption,
      8899,
    )
    .option('--ws-port <port>', 'the port of the WebSocket', portOption, 8900)
    .option('--control-port <port>', 'the port for faults and time', portOption, 8898)
    .option('--grpc-port <port>', 'the port of Yellowstone gRPC', portOption, 10_000);
}

function addFileOptions(command: Command): void {
  command
    .option(
      '--blocks <count>',
      'write this many blocks to a file instead of serving them',
      numberOption(blockCountRange),
    )
    .option('--out <file>', 'the file to write; gzip if it ends in .gz, - for standard output')
    .option('--force', 'overwrite an existing file');
}

function parseVotes(text: string): boolean | number {
  if (text === 'on' || text === 'off') return text === 'on';
  const mean = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (mean <= TRANSACTION_COUNT_MAX) return mean;
  const expected = `on, off, or a mean number per block from 0 to ${TRANSACTION_COUNT_MAX}`;
  throw new InvalidArgumentError(`Expected ${expected}.`);
}

/** Rejects options that would have no effect. */
function checkCombination(command: Command, options: SimulateOptions): void {
  const { out, blocks } = options;
  if (out === undefined && blocks !== undefined) command.error('error: --blocks needs --out FILE');
  if (out !== undefined && blocks === undefined) command.error('error: --out needs --blocks N');
  if (out === undefined && options.force) command.error('error: --force needs --out FILE');
  if (out === undefined) return;
  for (const name of nodeOnlyOptions) {
    if (command.getOptionValueSource(name) !== 'cli') continue;
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    command.error(
      `error: ${flag} has no effect on a file of blocks; leave it out, or leave out --out`,
    );
  }
}

function ledgerOptions(options: SimulateOptions): SimulatedLedgerOptions {
  return {
    speed: options.speed,
    chain: {
      seed: options.seed,
      slotMs: options.slotMs,
      skipRate: options.skipRate,
      forkRate: options.forkRate,
      forkDepthMax: options.forkDepth,
      finalityDistance: options.finalityDistance,
      startSlot: options.startSlot,
      startSeconds: options.startDate,
      historySlots: options.history,
    },
    content: {
      profile: options.profile,
      transactionsPerBlock: options.transactions,
      votes: options.votes,
    },
  };
}

async function serve(options: SimulateOptions, context: CommandContext): Promise<void> {
  const { host, port, wsPort, controlPort, grpcPort } = options;
  const stop = stopSignal();
  const node = await startSimulatedNode(
    { ...ledgerOptions(options), host, port, wsPort, controlPort, grpcPort },
    { clock: systemClock },
  );
  context.out.write(describeNode(node, options));
  await aborted(stop);
  context.out.write('stopping\n');
  await node.close();
}

function describeNode(
  node: SimulatedNode,
  { seed, profile, slotMs, speed }: SimulateOptions,
): string {
  const { confirmedSlot, firstAvailableSlot } = node.state();
  const pace = speed === 1 ? '' : `, ${speed} times as fast`;
  return `Simulated ledger: seed ${seed}, profile ${profile}, a slot every ${slotMs} ms${pace}.
Blocks from slot ${firstAvailableSlot} to the head, now ${confirmedSlot}.

  JSON-RPC   ${node.rpcUrl}  (and WebSocket)
  WebSocket  ${node.wsUrl}
  gRPC       ${node.grpcUrl}  (Yellowstone)
  control    ${node.controlUrl}  (faults and time; GET / lists the requests)

Try:  curl -s ${node.rpcUrl} -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"getBlock","params":[${confirmedSlot},{"commitment":"confirmed","maxSupportedTransactionVersion":1}]}'
Stop with Ctrl-C.
`;
}

async function writeBlocks(
  options: SimulateOptions,
  path: string,
  context: CommandContext,
): Promise<void> {
  const blockCount = options.blocks ?? 1;
  const output = { path, force: options.force ?? false };
  await checkOutput(output);
  const signal = stopSignal();
  const ledger = createSimulatedLedger(
    { ...ledgerOptions(options), paused: true },
    { clock: systemClock },
  );
  const progress = new Progress(
    { total: blockCount, unit: 'blocks' },
    { err: context.err, clock: systemClock },
  );
  const lines = simulatedLines(ledger, { firstSlot: options.startSlot, blockCount });
  const counted = function* () {
    for (const line of lines) {
      yield line;
      progress.add(1, line.length);
    }
  };
  await writeOutput(output, counted(), { out: context.out, signal });
  progress.finish();
}
