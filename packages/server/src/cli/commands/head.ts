import { CodedError } from '@sluice/base/errors';
import { isTerminal } from '@sluice/base/terminal';
import type { BlockRef } from '@sluice/ledger/block';
import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { formatTable } from '../format-table.ts';
import { getJson } from '../target/get-json.ts';
import { type Target, withTarget } from '../target/open-target.ts';
import { addTarget, type TargetOptions, targetHelp } from '../target/target-options.ts';

interface HeadOptions extends TargetOptions {
  readonly finalized?: boolean;
  readonly number?: boolean;
  readonly json?: boolean;
}

export function buildHeadCommand(context: CommandContext): Command {
  const command = new Command('head').description(
    'Show the highest block and the highest finalized block of a dataset.',
  );
  return addTarget(command)
    .option('--finalized', 'show only the finalized block')
    .option('--number', 'print only the slot')
    .option('--json', 'print JSON, as when the output is piped')
    .addHelpText('after', `${examples}\n${targetHelp}`)
    .action(async (name: string | undefined, options: HeadOptions) => {
      const text = await withTarget(name, options, (target) =>
        describeHeads(target, options, isTerminal(context.out)),
      );
      context.out.write(text);
    });
}

const examples = `
Examples:
  $ sluice head
  $ sluice head http://10.0.0.5:8080/datasets/mine
  $ sluice head mine --finalized --number`;

interface Heads {
  readonly dataset: string;
  readonly head: BlockRef | null;
  readonly finalized_head: BlockRef | null;
}

async function describeHeads(
  target: Target,
  { finalized, number, json }: HeadOptions,
  isForPeople: boolean,
): Promise<string> {
  const heads = await readHeads(target);
  const chosen = finalized === true ? heads.finalized_head : heads.head;
  if (number === true) {
    if (chosen === null) throw new CodedError('dataset-starting', { dataset: target.name });
    return `${chosen.number}\n`;
  }
  if (isForPeople && json !== true) return describe(heads, target, finalized === true);
  return `${JSON.stringify(finalized === true ? chosen : heads)}\n`;
}

export async function readHeads({ name, url, key }: Target): Promise<Heads> {
  const [head, finalized_head] = await Promise.all([
    getJson<BlockRef | null>(`${url}/head`, { key }),
    getJson<BlockRef | null>(`${url}/finalized-head`, { key }),
  ]);
  return { dataset: name, head, finalized_head };
}

function describe(
  { dataset, head, finalized_head }: Heads,
  target: Target,
  isFinalOnly: boolean,
): string {
  const row = (what: string, ref: BlockRef | null) => [
    what,
    String(ref?.number ?? '-'),
    ref?.hash ?? '-',
  ];
  const rows = [row('head', head), row('finalized', finalized_head)].slice(isFinalOnly ? 1 : 0);
  return `${dataset}, from ${target.where}\n${formatTable([['', 'slot', 'hash'], ...rows])}`;
}
