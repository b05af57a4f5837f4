import { randomInt } from 'node:crypto';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { ListenChoice } from '../../app/run-service.ts';
import { type FollowChoice, runServe } from '../../app/serve.ts';
import { systemClock } from '../../base/clock.ts';
import type { Retention } from '../../dataset/retention.ts';
import type { StartPoint } from '../../ingest/choose-start.ts';
import { parseSlot, type Slot } from '../../ledger/primitives.ts';
import type { CommandContext } from '../context.ts';
import { addListenOptions } from '../listen-options.ts';
import { slotOption } from '../parse-option.ts';
import { readVersion } from '../read-version.ts';
import { retentionOption } from '../retention-option.ts';
import { stopSignal } from '../stop-signal.ts';

interface ServeCommandOptions extends ListenChoice {
  readonly data: string;
  readonly dialect?: 'solana';
  readonly rpc?: readonly string[];
  readonly ws?: string;
  readonly dataset?: string;
  readonly from?: StartPoint;
  readonly keep?: Retention;
  readonly votes: 'drop' | 'keep';
  readonly backfillTo?: Slot;
}

export function buildServeCommand(context: CommandContext): Command {
  const command = new Command('serve').description(
    'Serve every dataset of a data folder, and follow a node into one of them if told to.',
  );
  addListenOptions(command)
    .addOption(new Option('--data <folder>', 'the data folder').default('./data'))
    .addOption(
      new Option('--dialect <name>', 'allow this type of query beside ledger').choices(['solana']),
    );
  addFollowOptions(command);
  return command.addHelpText('after', examples).action(async (options: ServeCommandOptions) => {
    const { data, dialect, rpc, ws, dataset, from, keep, votes, backfillTo, ...listen } = options;
    await runServe(
      {
        listen,
        dataFolder: data,
        dialects: dialect === undefined ? ['ledger'] : ['ledger', dialect],
        follow: chooseFollow(command, options),
        version: readVersion(),
        seed: randomInt(2 ** 32),
      },
      { ...context, clock: systemClock, signal: stopSignal() },
    );
  });
}

const examples = `
Examples:
  $ sluice serve --data ./data
  $ sluice serve --rpc http://127.0.0.1:8899 --dataset mine --from latest
  $ sluice serve --rpc http://127.0.0.1:8899 --dataset recent --keep 7d
  $ sluice serve --host 0.0.0.0 --keys keys.txt`;

function addFollowOptions(command: Command): void {
  command
    .addOption(new Option('--rpc <url...>', 'follow these nodes by JSON-RPC; needs --dataset'))
    .addOption(
      new Option('--ws <url>', 'their WebSocket (default: the same address, or one port higher)'),
    )
    .addOption(new Option('--dataset <name>', 'the dataset that follows'))
    .addOption(
      new Option(
        '--from <where>',
        'SLOT, latest or genesis; counts when the dataset is made',
      ).argParser(parseStart),
    )
    .addOption(
      new Option(
        '--keep <amount>',
        'how much of the past stays: blocks (100000), days (7d) or bytes (50GB); default: all',
      ).argParser(retentionOption),
    )
    .addOption(
      new Option('--votes <policy>', 'vote transactions; counts when the dataset is made')
        .choices(['drop', 'keep'])
        .default('drop'),
    )
    .addOption(
      new Option(
        '--backfill-to <slot>',
        'bring its history down to this slot beside following; not with --keep',
      ).argParser(slotOption),
    );
}

function parseStart(text: string): StartPoint {
  if (text === 'latest' || text === 'genesis') return { kind: text };
  const slot = /^\d+$/.test(text) ? parseSlot(Number(text)) : undefined;
  if (slot === undefined) throw new InvalidArgumentError('Expected a slot, latest or genesis.');
  return { kind: 'slot', slot };
}

/** Refuses options that would have no effect, so that nobody believes they had one. */
function chooseFollow(command: Command, options: ServeCommandOptions): FollowChoice | undefined {
  const { rpc, ws, dataset, from, keep, votes, backfillTo } = options;
  if (rpc === undefined) {
    for (const name of ['ws', 'dataset', 'from', 'keep', 'votes', 'backfill-to']) {
      const option = command.options.find(({ long }) => long === `--${name}`);
      const isGiven = command.getOptionValueSource(option?.attributeName() ?? name) === 'cli';
      if (isGiven) command.error(`error: --${name} needs --rpc URL`);
    }
    return undefined;
  }
  if (dataset === undefined) command.error('error: --rpc needs --dataset NAME');
  if (keep !== undefined && backfillTo !== undefined) {
    command.error('error: --backfill-to fetches what --keep would let go: give one of them');
  }
  const start = from ?? { kind: 'latest' };
  const retention = keep ?? { kind: 'all' };
  return { name: dataset, rpcUrls: rpc, wsUrl: ws, start, retention, votes, backfillTo };
}
