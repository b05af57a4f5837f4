import { systemClock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { isTerminal, styler, usesColor } from '@sluice/base/terminal';
import type { Client, createClient } from '@sluice/client';
import type { QueryBody } from '@sluice/protocol/query-body';
import { Command, Option } from 'commander';
import type { CommandContext } from '../context.ts';
import { numberOption } from '../parse-option.ts';
import { createTargetClient } from '../query/run-query.ts';
import { stopSignal } from '../stop-signal.ts';
import { createTailLines, type TailBlock, type TailLines } from '../tail-lines.ts';
import { type Target, withTarget } from '../target/open-target.ts';
import { addTarget, type TargetOptions, targetHelp } from '../target/target-options.ts';

interface TailOptions extends TargetOptions {
  readonly last: number;
  readonly blocks?: number;
  readonly finalized?: boolean;
  readonly json?: boolean;
}

const countRange = { min: 1, max: 1_000_000, integer: true };

export function buildTailCommand(context: CommandContext): Command {
  const command = new Command('tail').description(
    'Show the newest blocks of a dataset and follow it: a line per block, with rates, forks and finality.',
  );
  return addTarget(command)
    .addOption(
      new Option('--last <slots>', 'start this many slots before the head')
        .argParser(numberOption(countRange))
        .default(10),
    )
    .addOption(
      new Option('--blocks <count>', 'stop after this many blocks').argParser(
        numberOption(countRange),
      ),
    )
    .option('--finalized', 'finalized blocks only')
    .option('--json', 'print JSON lines, as when the output is piped')
    .addHelpText('after', `${examples}\n${targetHelp}`)
    .action(async (name: string | undefined, options: TailOptions) => {
      await withTarget(name, options, (target) => tail(options, target, context));
    });
}

const examples = `
Examples:
  $ sluice tail
  $ sluice tail http://10.0.0.5:8080/datasets/mine
  $ sluice tail mine --finalized --blocks 100 | jq .number`;

async function tail(options: TailOptions, target: Target, context: CommandContext): Promise<void> {
  const { out, err } = context;
  const signal = stopSignal();
  const client = createTargetClient(target, {
    isPatient: true,
    onEvent: (event) => {
      if (event.kind === 'retry') err.write(`${event.error.message}; retrying\n`);
    },
  });
  const query = await buildQuery(options, client);
  const isForPeople = isTerminal(out) && options.json !== true;
  if (isForPeople) err.write(`${target.name}, from ${target.where}\n`);
  const lines = createTailLines({ isForPeople, style: styler(usesColor(out)) });
  try {
    await follow(query, options, { client, lines, out, signal });
  } catch (error) {
    // Ctrl-C is the normal end of this command.
    if (!signal.aborted) throw error;
  }
}

/** Ends at the head if the dataset follows no source. Otherwise it runs until it is stopped. */
async function buildQuery({ last, finalized }: TailOptions, client: Client): Promise<QueryBody> {
  const [{ start_block, real_time }, head] = await Promise.all([
    client.metadata(),
    finalized === true ? client.finalizedHead() : client.head(),
  ]);
  if (head === null) throw new CodedError('dataset-starting');
  return {
    fromBlock: Math.max(start_block, head.number - last + 1),
    ...(real_time ? {} : { toBlock: head.number }),
    includeAllBlocks: true,
    fields: {
      block: { number: true, hash: true, timestamp: true, recordCounts: true, finalizedHead: true },
    },
  };
}

interface FollowDependencies {
  readonly client: ReturnType<typeof createClient>;
  readonly lines: TailLines;
  readonly out: CommandContext['out'];
  readonly signal: AbortSignal;
}

async function follow(
  query: QueryBody,
  { blocks: countMax = Infinity, finalized }: TailOptions,
  { client, lines, out, signal }: FollowDependencies,
): Promise<void> {
  let count = 0;
  const stream = client.stream(query, { signal, finalized: finalized === true });
  for await (const batch of stream) {
    const nowMs = systemClock.nowMs();
    if (batch.kind === 'rollback') {
      out.write(lines.rollback(batch.to));
      continue;
    }
    const blocks = batch.blocks.slice(0, countMax - count) as unknown as readonly TailBlock[];
    for (const block of blocks) out.write(lines.block(block, nowMs));
    count += blocks.length;
    if (count >= countMax) return;
  }
}
