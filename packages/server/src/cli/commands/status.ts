import { systemClock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import { isTerminal, styler, usesColor } from '@sluice/base/terminal';
import type { BlockRef } from '@sluice/ledger/block';
import { Command } from 'commander';
import { StoredReader } from '../../dataset/stored/stored-reader.ts';
import { buildStatus } from '../../http/describe-dataset.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import type { CommandContext } from '../context.ts';
import { formatCount, formatTable } from '../format-table.ts';
import { getJson } from '../target/get-json.ts';
import { listTargets, type TargetList } from '../target/list-targets.ts';
import type { ServiceAddress } from '../target/open-target.ts';
import { addTarget, type TargetOptions, targetHelp } from '../target/target-options.ts';

interface StatusOptions extends TargetOptions {
  readonly json?: boolean;
}

export function buildStatusCommand(context: CommandContext): Command {
  const command = new Command('status').description(
    'Show the state of datasets: the stored range, its age, the sources and the active alarms.',
  );
  return addTarget(command)
    .option('--json', 'print JSON, as when the output is piped')
    .addHelpText('after', `${examples}\n${targetHelp}`)
    .action(async (name: string | undefined, { data, json }: StatusOptions) => {
      const list = await listTargets({ target: name, data });
      const statuses = await readStatuses(list);
      const isForPeople = isTerminal(context.out) && json !== true;
      if (isForPeople) context.out.write(describe(statuses, usesColor(context.out)));
      else context.out.write(`${JSON.stringify(list.isNamed ? statuses[0] : statuses)}\n`);
    });
}

const examples = `
Examples:
  $ sluice status
  $ sluice status mine
  $ sluice status http://10.0.0.5:8080 --json | jq '.[].alarms'`;

interface Status {
  readonly dataset: string;
  readonly real_time: boolean;
  readonly start_block: number | null;
  readonly head: BlockRef | null;
  readonly finalized_head: BlockRef | null;
  readonly block_count: number;
  readonly sealed_bytes: number;
  readonly head_lag_seconds: number | null;
  readonly behind_slots: number | null;
  readonly sources: readonly { name: string; state: string; fault: string | null }[];
  readonly backfill: { to: number; slot: number | null; seconds_left: number | null } | null;
  readonly alarms: readonly { code: string; message: string }[];
}

type StatusResult = Status | { readonly dataset: string; readonly error: string };

function readStatuses(list: TargetList): Promise<StatusResult[]> {
  const read =
    list.kind === 'service'
      ? (name: string) => askStatus(name, list.service)
      : (name: string) => readStoredStatus(name, list.folder);
  if (list.isNamed) return Promise.all(list.names.map(read));
  return Promise.all(list.names.map((name) => read(name).catch(describeFailure(name))));
}

/** A dataset whose status cannot be read does not prevent the output for the others. */
function describeFailure(dataset: string): (error: unknown) => StatusResult {
  return (error) => {
    if (!isCodedError(error) || error.code === 'service-unreachable') throw error;
    const refusal = error.detail['code'] ?? error.detail['status'];
    const isRefusal = error.code === 'service-refused' || error.code === 'service-key-refused';
    return { dataset, error: isRefusal ? String(refusal) : error.code };
  };
}

function askStatus(name: string, { base, key }: ServiceAddress): Promise<Status> {
  return getJson<Status>(`${base}/datasets/${name}/status`, { key });
}

async function readStoredStatus(name: string, folder: string): Promise<Status> {
  const reader = await StoredReader.open(`${folder}/${name}`, nodeFs);
  const served = { reader, dialects: ['ledger'] as const, ingest: () => null };
  return buildStatus({ ...served, ledgerUnixMs: () => systemClock.unixMs() }) as Status;
}

const heading = ['dataset', 'start', 'finalized', 'head', 'blocks', 'lag', 'behind', ''];

function describe(statuses: readonly StatusResult[], isColored: boolean): string {
  const style = styler(isColored);
  const rows = statuses.map((status) =>
    'error' in status
      ? [status.dataset, '-', '-', '-', '-', '-', '-', status.error]
      : toRow(status),
  );
  const notes = statuses.flatMap((status) => ('error' in status ? [] : describeNotes(status)));
  const lines = notes.map(({ isBad, text }) => (isBad ? style('yellow', text) : text));
  return formatTable([heading, ...rows]) + lines.map((line) => `${line}\n`).join('');
}

function toRow(status: Status): string[] {
  const { start_block, finalized_head, head, head_lag_seconds, behind_slots } = status;
  return [
    status.dataset,
    String(start_block ?? '-'),
    String(finalized_head?.number ?? '-'),
    String(head?.number ?? '-'),
    formatCount(status.block_count),
    head_lag_seconds === null || !status.real_time ? '-' : `${head_lag_seconds} s`,
    String(behind_slots ?? '-'),
    status.real_time ? 'following' : 'not following',
  ];
}

interface Note {
  readonly isBad: boolean;
  readonly text: string;
}

function describeNotes({ dataset, sources, backfill, alarms }: Status): Note[] {
  const notes: Note[] = sources.map(({ name, state, fault }) => ({
    isBad: fault !== null,
    text: `${dataset}: source ${name} is ${state}${fault === null ? '' : `: ${fault}`}`,
  }));
  if (backfill !== null) {
    const { to, slot, seconds_left } = backfill;
    const left = seconds_left === null ? '' : `, ${Math.ceil(seconds_left)} s left`;
    notes.push({
      isBad: false,
      text: `${dataset}: backfill is at slot ${slot ?? '-'}, down to ${to}${left}`,
    });
  }
  for (const { code, message } of alarms) {
    notes.push({ isBad: true, text: `${dataset}: alarm ${code}: ${message}` });
  }
  return notes;
}
