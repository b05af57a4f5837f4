import { parseSlot } from '@sluice/ledger/primitives';
import { Command, InvalidArgumentError, Option } from 'commander';
import { describeServe } from '../../app/serve.ts';
import type { CommandContext } from '../context.ts';
import {
  addListenOptions,
  type ListenChoice,
  listenOverrides,
  refuseSameListener,
} from '../listen-options.ts';
import { kindsOption, metaOptionalText, OPTIONAL_KINDS } from '../normalize-choice.ts';
import { datasetNameOption, retentionOption, slotOption } from '../parse-option.ts';
import { runConfigured } from '../run-configured.ts';
import {
  checkAddresses,
  grpcOption,
  grpcToken,
  portalKey,
  portalOption,
} from '../source-options.ts';

interface ServeCommandOptions extends ListenChoice {
  readonly config?: string;
  readonly data?: string;
  readonly dialect?: 'solana';
  readonly rpc?: readonly string[];
  readonly grpc?: readonly string[];
  readonly portal?: readonly string[];
  readonly ws?: string;
  readonly dataset?: string;
  readonly from?: number | string;
  readonly keep?: string;
  readonly votes?: 'drop' | 'keep';
  readonly allowMissing?: readonly string[];
  readonly metaOptional?: boolean;
  readonly backfillTo?: number;
}

export function buildServeCommand(context: CommandContext): Command {
  const command = new Command('serve').description(
    'Serve every dataset of a data folder. One of them can follow nodes or other Sluices. A configuration file can set everything.',
  );
  addListenOptions(command)
    .addOption(
      new Option('--config <file>', 'the configuration; other options take precedence over it'),
    )
    .addOption(new Option('--data <folder>', 'the data folder (default: ./data)'))
    .addOption(
      new Option(
        '--dialect <name>',
        'also allow queries of this type, in addition to ledger',
      ).choices(['solana']),
    );
  addFollowOptions(command);
  return command.addHelpText('after', examples).action(async (options: ServeCommandOptions) => {
    if (options.config === undefined) refuseSameListener(command, options);
    const overrides = {
      ...listenOverrides(options, options.data),
      dialects: options.dialect === undefined ? undefined : ['ledger', options.dialect],
      datasets: chooseFollow(command, options),
    };
    await runConfigured({ file: options.config, overrides }, describeServe, context);
  });
}

const examples = `
Examples:
  $ sluice serve --data ./data
  $ sluice serve --rpc http://127.0.0.1:8899 --dataset mine --from latest
  $ sluice serve --grpc https://node.example:10000 --rpc https://node.example --dataset mine
  $ sluice serve --rpc http://127.0.0.1:8899 --dataset recent --keep 7d
  $ sluice serve --portal http://10.0.0.5:8080/datasets/mine --dataset mirror --from earliest
  $ sluice serve --rpc http://127.0.0.1:8899 --dataset mine --dialect solana
  $ sluice serve --host 0.0.0.0 --keys keys.txt
  $ sluice serve --config sluice.yaml

SIGHUP reads keys, limits and the log level again from the configuration and the key file.`;

function addFollowOptions(command: Command): void {
  command
    .addOption(new Option('--rpc <url...>', 'follow these nodes by JSON-RPC; needs --dataset'))
    .addOption(grpcOption('follow these nodes by Yellowstone gRPC; needs --dataset'))
    .addOption(portalOption('follow these datasets of other Sluices; needs --dataset'))
    .addOption(
      new Option(
        '--ws <url>',
        "the nodes' WebSocket address (default: the same address, or one port higher)",
      ),
    )
    .addOption(
      new Option('--dataset <name>', 'the dataset that follows the sources').argParser(
        datasetNameOption,
      ),
    )
    .addOption(
      new Option(
        '--from <where>',
        'SLOT, latest, earliest (the first block of the source) or genesis; only for a new dataset',
      ).argParser(parseStart),
    )
    .addOption(
      new Option(
        '--keep <amount>',
        'how much history to keep: blocks (100000), days (7d) or bytes (50GB); default: all',
      ).argParser(retentionOption),
    )
    .addOption(
      new Option(
        '--votes <policy>',
        'keep or drop vote transactions; only for a new dataset (default: drop)',
      ).choices(['drop', 'keep']),
    )
    .addOption(
      new Option(
        '--allow-missing <kinds>',
        'kinds of records that blocks may lack: logs, rewards, meta; only for a new dataset',
      ).argParser(kindsOption(OPTIONAL_KINDS)),
    )
    .option('--meta-optional', metaOptionalText)
    .addOption(
      new Option(
        '--backfill-to <slot>',
        'also load the history down to this slot; cannot be combined with --keep',
      ).argParser(slotOption),
    );
}

function parseStart(text: string): number | string {
  if (startNames.has(text)) return text;
  const slot = /^\d+$/.test(text) ? parseSlot(Number(text)) : undefined;
  if (slot !== undefined) return slot;
  throw new InvalidArgumentError('Expected a slot, latest, earliest or genesis.');
}

const startNames: ReadonlySet<string> = new Set(['latest', 'earliest', 'genesis']);

/**
 * Returns the configuration of the dataset that follows sources. Options that would have no effect are rejected.
 */
function chooseFollow(command: Command, options: ServeCommandOptions): unknown[] | undefined {
  const { config, rpc = [], grpc = [], portal = [], ws, dataset, ...content } = options;
  const { from, keep, votes, metaOptional, backfillTo } = content;
  if (ws !== undefined && rpc.length === 0) command.error('error: --ws needs --rpc URL');
  if (rpc.length + grpc.length + portal.length === 0) {
    const useless = {
      ...{ dataset, from, keep, votes },
      'allow-missing': content.allowMissing,
      'meta-optional': metaOptional,
      'backfill-to': backfillTo,
    };
    for (const [name, value] of Object.entries(useless)) {
      if (value !== undefined)
        command.error(`error: --${name} needs --rpc URL, --grpc URL or --portal URL`);
    }
    return undefined;
  }
  const given = rpc.length > 0 ? '--rpc' : grpc.length > 0 ? '--grpc' : '--portal';
  if (config !== undefined) {
    command.error(
      `error: ${given} cannot be combined with --config: add a source to the configuration`,
    );
  }
  if (dataset === undefined) command.error(`error: ${given} needs --dataset NAME`);
  if (keep !== undefined && backfillTo !== undefined) {
    command.error(
      'error: --backfill-to and --keep cannot be combined: --keep would remove the loaded history',
    );
  }
  checkAddresses(command, options);
  const sources = [
    // gRPC comes first, because the first source leads at the start and gRPC has new blocks before the others.
    ...grpc.map((url) => ({ kind: 'grpc', url, token: grpcToken() })),
    ...rpc.map((url) => ({ kind: 'rpc', url, ws })),
    ...portal.map((url) => ({ kind: 'portal', url, key: portalKey() })),
  ];
  const { allowMissing = [] } = content;
  const isOptional = metaOptional === true && !allowMissing.includes('meta');
  const kinds = isOptional ? [...allowMissing, 'meta'] : content.allowMissing;
  return [{ name: dataset, from, keep, votes, allowMissing: kinds, backfillTo, sources }];
}
