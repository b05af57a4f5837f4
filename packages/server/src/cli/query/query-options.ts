import { type Command, InvalidArgumentError, Option } from 'commander';
import { dateOption, numberOption, slotOption } from '../parse-option.ts';
import type { TargetOptions } from '../target/target-options.ts';
import type { FilterFlags } from './query-flags.ts';
import { ROW_KINDS, type RowKind } from './record-rows.ts';

export const OUTPUTS = ['jsonl', 'pretty', 'table', 'csv'] as const;
export type Output = (typeof OUTPUTS)[number];

/** A slot, or a time in unix seconds. */
export type RangeEnd = { readonly slot: number } | { readonly seconds: number };

export interface QueryOptions extends TargetOptions, FilterFlags {
  readonly query?: string;
  readonly from?: RangeEnd;
  readonly to?: RangeEnd;
  readonly last?: number;
  readonly fields?: readonly string[];
  readonly decode?: boolean;
  readonly finalized?: boolean;
  readonly follow?: boolean;
  readonly limit?: number;
  readonly output?: Output;
  readonly kind?: RowKind;
  readonly out?: string;
  readonly force?: boolean;
  readonly count?: boolean;
  readonly printCurl?: boolean;
  readonly printTs?: boolean;
  readonly quiet?: boolean;
}

const countRange = { min: 1, max: Number.MAX_SAFE_INTEGER, integer: true };

export function addQueryOptions(command: Command): Command {
  addFilterOptions(command);
  addRangeOptions(command, { isFollowing: true });
  return addOutputOptions(command);
}

export function addFilterOptions(command: Command): void {
  command
    .option('--query <file>', 'the query as JSON, as docs/query.md describes it; - for stdin')
    .addOption(several('--program <ids>', 'instructions of these programs'))
    .addOption(
      several('--name <names>', 'only instructions of --program with these names in its IDL'),
    )
    .addOption(
      several(
        '--d1 <hex>',
        'only instructions whose data starts with one of these bytes: 0x03,0x0c',
      ),
    )
    .addOption(several('--d8 <hex>', 'only instructions whose data starts with these eight bytes'))
    .addOption(
      several(
        '--account <addresses>',
        'transactions, or instructions of --program, that mention one of these accounts',
      ),
    )
    .addOption(several('--fee-payer <addresses>', 'transactions that these accounts paid for'))
    .addOption(several('--mint <addresses>', 'token balances of these mints'))
    .addOption(several('--owner <addresses>', 'token balances of accounts of these owners'))
    .addOption(
      several('--logs [programs]', 'logs of these programs (default: those of --program, or all)'),
    )
    .addOption(
      new Option(
        '--with <records>',
        'related records to include: transaction, instructions, inner, parents, logs, balances, tokenBalances',
      ).argParser(listOption),
    )
    .addOption(
      new Option(
        '--fields <list>',
        'instruction.data,transaction.feePayer,block.timestamp; a kind alone selects all its fields',
      ).argParser(listOption),
    )
    .option(
      '--decode',
      'add the decoded form of instructions and events, by the IDLs of the service',
    );
}

export function addRangeOptions(
  command: Command,
  { isFollowing }: { readonly isFollowing: boolean },
): void {
  command
    .addOption(
      new Option('--from <where>', 'first slot, or a date (default: the first block)').argParser(
        rangeEndOption,
      ),
    )
    .addOption(
      new Option('--to <where>', 'last slot, or a date (default: the head)').argParser(
        rangeEndOption,
      ),
    )
    .addOption(
      new Option('--last <slots>', 'the last slots up to the head').argParser(
        numberOption(countRange),
      ),
    );
  if (!isFollowing) return;
  command
    .option('--finalized', 'finalized blocks only')
    .option('--follow', 'continue with new blocks until Ctrl-C or --to');
}

function addOutputOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--output <form>',
        'the output format (default: table on a terminal, jsonl elsewhere)',
      ).choices(OUTPUTS),
    )
    .addOption(
      new Option(
        '--kind <records>',
        'the records that table and csv show (default: those that the query selects)',
      ).choices(ROW_KINDS),
    )
    .addOption(
      new Option('--limit <lines>', 'stop after this many blocks').argParser(
        numberOption(countRange),
      ),
    )
    .option('--out <file>', 'write to a file; running the same command again continues it')
    .option('--force', 'overwrite the file of --out')
    .option('--count', 'print the numbers of blocks and records instead of the records')
    .option('--print-curl', 'print the request as a curl command instead of sending it')
    .option('--print-ts', 'print the request as a TypeScript program instead of sending it')
    .option('--quiet', 'no progress on stderr');
}

/** An option with one or several values, separated by commas or by repeating it. So the argument after it can be the dataset. */
export function several(flags: string, description: string): Option {
  return new Option(flags, description).argParser(
    (text: string, before: readonly string[] | undefined) => [
      ...(before ?? []),
      ...listOption(text),
    ],
  );
}

function listOption(text: string): readonly string[] {
  return text.split(',').map((part) => part.trim());
}

function rangeEndOption(text: string): RangeEnd {
  if (/^\d+$/.test(text)) return { slot: slotOption(text) };
  if (/^\d{4}-/.test(text)) return { seconds: dateOption(text) };
  throw new InvalidArgumentError('Expected a slot, or a date such as 2026-01-31T12:00:00Z.');
}
