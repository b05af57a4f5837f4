import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeBase58 } from '@sluice/base/base58';
import { CodedError } from '@sluice/base/errors';
import {
  anchorIdlTag,
  type LedgerIdl,
  LedgerIdls,
  metadataProgramId,
} from '@sluice/decode/ledger-idls';
import { isAddress } from '@sluice/ledger/primitives';
import { Command } from 'commander';
import type { IdlDescription } from '../../http/admin-idls.ts';
import type { CommandContext } from '../context.ts';
import { formatTable } from '../format-table.ts';
import { several } from '../query/query-options.ts';
import { resolveRange } from '../query/resolve-range.ts';
import { createTargetClient } from '../query/run-query.ts';
import { stopSignal } from '../stop-signal.ts';
import { getJson } from '../target/get-json.ts';
import { type Target, withTarget } from '../target/open-target.ts';
import {
  type AdminOptions,
  addAdmin,
  addTarget,
  adminUrl,
  type TargetOptions,
  targetHelp,
} from '../target/target-options.ts';
import { writeFileWhole } from '../write-file-whole.ts';

interface ScanOptions extends AdminOptions, TargetOptions {
  readonly program: readonly string[];
  readonly follow?: boolean;
  readonly out?: string;
}

export function buildIdlsCommand(context: CommandContext): Command {
  const { out } = context;
  const scan = addAdmin(addTarget(new Command('scan')))
    .usage('--program <ids> [options] [dataset]')
    .description(
      'Rebuild the IDLs that programs stored on the ledger, and register each from the slot in which it was complete.',
    )
    .addOption(several('--program <ids>', 'the programs').makeOptionMandatory())
    .option('--follow', 'continue with new finalized blocks until Ctrl-C')
    .option('--out <folder>', 'write the IDLs to files of this folder instead of registering them')
    .addHelpText('after', targetHelp)
    .action(async (name: string | undefined, options: ScanOptions) => {
      const wrong = options.program.find((each) => !isAddress(each));
      if (wrong !== undefined)
        throw new CodedError('cli-usage', { found: wrong, allowed: 'base58 of 32 bytes' });
      await withTarget(name, options, (target) => scanIdls(options, target, context));
    });
  const list = addAdmin(new Command('list'))
    .description('List the IDLs of a service.')
    .option('--json', 'print JSON')
    .action(async ({ admin, json }: AdminOptions & { readonly json?: boolean }) => {
      const idls = await getJson<readonly IdlDescription[]>(adminUrl(admin, 'idls'));
      out.write(json === true ? `${JSON.stringify(idls, null, 2)}\n` : formatIdls(idls));
    });
  const remove = addAdmin(new Command('remove'))
    .description('Remove an IDL that was registered since the service started.')
    .argument('<name>', 'the name of the IDL')
    .action(async (name: string, { admin }: AdminOptions) => {
      await getJson(adminUrl(admin, 'idls', name), { method: 'DELETE' });
      out.write(`removed IDL ${name}\n`);
    });
  return new Command('idls')
    .description('Find, list and remove the IDLs by which a service decodes.')
    .addCommand(scan)
    .addCommand(list)
    .addCommand(remove)
    .addHelpText('after', examples);
}

const examples = `
Examples:
  $ sluice idls scan mine --program 7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc
  $ sluice idls scan mine --program 7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc --out idl
  $ sluice idls list
  $ sluice idls remove 7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc.282000000`;

/** Reads finalized blocks only, because an IDL of a replaced block would stay registered. */
async function scanIdls(
  options: ScanOptions,
  target: Target,
  context: CommandContext,
): Promise<void> {
  const { program: programId, follow = false } = options;
  const signal = stopSignal();
  const client = createTargetClient(target, { isPatient: follow });
  const { first, last } = await resolveRange({ finalized: true }, {}, client);
  const idls = new LedgerIdls(programId);
  const query = {
    fromBlock: first,
    toBlock: follow ? null : (last ?? null),
    fields: { instruction: { programId: true, accounts: true, data: true } },
    instructions: [
      { programId, d8: [anchorIdlTag], isCommitted: true },
      { programId: [metadataProgramId], isCommitted: true },
    ],
  } as const;
  const missing = new Set(programId);
  const handle = (idl: LedgerIdl) => {
    missing.delete(idl.programId);
    return handleIdl(idl, options, { signal, context });
  };
  try {
    for await (const batch of client.stream(query, { signal, finalized: true })) {
      if (batch.kind === 'rollback') continue;
      for (const { header, instructions } of batch.blocks) {
        const written = instructions.map(({ data, ...rest }) => ({
          ...rest,
          data: decodeBase58(data) ?? new Uint8Array(),
        }));
        for (const idl of idls.takeBlock(header.number, written)) await handle(idl);
      }
    }
  } catch (error) {
    if (!signal.aborted || !follow) throw interrupted(signal, error);
  }
  for (const idl of idls.unfinished) await handle(idl);
  if (follow) return;
  context.err.write(`read the finalized blocks of slots ${first} to ${last}\n`);
  for (const program of missing)
    context.err.write(`no IDL of program ${program} was found in these slots\n`);
}

function interrupted(signal: AbortSignal, cause: unknown): unknown {
  return signal.aborted ? new CodedError('query-interrupted', {}, { cause }) : cause;
}

async function handleIdl(
  idl: LedgerIdl,
  { admin, out: folder }: ScanOptions,
  { signal, context }: { readonly signal: AbortSignal; readonly context: CommandContext },
): Promise<void> {
  const { programId, slot, origin } = idl;
  const what = `${programId} slot ${slot} (${origin})`;
  if ('reason' in idl) return void context.err.write(`skipped ${what}: ${idl.reason}\n`);
  const name = `${programId}.${slot}`;
  const body = new TextEncoder().encode(idl.text);
  if (folder === undefined) {
    const parameters = new URLSearchParams({ programId, fromSlot: String(slot) });
    await getJson(`${adminUrl(admin, 'idls', name)}?${parameters}`, { method: 'PUT', body });
    return void context.out.write(`registered ${what} as ${name}\n`);
  }
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${name}.json`);
  await writeFileWhole({ path, force: true }, signal, async (write) => write(body));
  // The lines are entries of `idl` in the configuration.
  context.out.write(`- { path: ${path}, programId: ${programId}, fromSlot: ${slot} }\n`);
}

function formatIdls(idls: readonly IdlDescription[]): string {
  if (idls.length === 0) return 'no IDLs\n';
  const rows = idls.map(({ name, program, programId, fromSlot, toSlot, origin }) => [
    ...[name, program, programId, origin],
    ...[fromSlot, toSlot].map((slot) => (slot === null ? '' : String(slot))),
  ]);
  const notes = idls.flatMap(({ name, undefinedTypes }) =>
    undefinedTypes.map((type) => `${name} does not define the type ${type}\n`),
  );
  const heading = ['IDL', 'program', 'address', 'origin', 'from slot', 'to slot'];
  return formatTable([heading, ...rows]) + notes.join('');
}
