import { CodedError } from '@sluice/base/errors';
import { Command } from 'commander';
import type { SetDescription } from '../../http/admin-sets.ts';
import { setAddressCountMax, setNamePattern } from '../../query/address-set.ts';
import { readSmallFile } from '../../storage/read-small-file.ts';
import type { CommandContext } from '../context.ts';
import { formatCount, formatTable } from '../format-table.ts';
import { naming } from '../metered-file.ts';
import { getJson } from '../target/get-json.ts';
import { type AdminOptions, addAdmin, adminUrl } from '../target/target-options.ts';

interface SetsOptions extends AdminOptions {
  readonly json?: boolean;
}

/** The service responds after it has stored the set, which takes seconds for a million addresses on a busy machine. */
const putMsMax = 60_000;
const fileBytesMax = setAddressCountMax * 64;

export function buildSetsCommand({ out }: CommandContext): Command {
  const put = addAdmin(new Command('put'))
    .description('Store the addresses of a file as a set, or replace the set.')
    .argument('<name>', 'the name of the set: letters, digits, _ and -')
    .argument('<file>', 'one address on each line; lines that begin with # are ignored')
    .action(async (name: string, file: string, { admin }: SetsOptions) => {
      requireSetName(name);
      const body = new Uint8Array(naming(file, () => readSmallFile(file, fileBytesMax)));
      const how = { method: 'PUT', body, msMax: putMsMax } as const;
      const set = await getJson<SetDescription>(adminUrl(admin, 'sets', name), how);
      out.write(
        `set ${set.name}: version ${set.version}, number of addresses: ${formatCount(set.addresses)}\n`,
      );
    });
  const list = addAdmin(new Command('list'))
    .description('List the sets of a service.')
    .option('--json', 'print JSON')
    .action(async ({ admin, json }: SetsOptions) => {
      const sets = await getJson<readonly SetDescription[]>(adminUrl(admin, 'sets'));
      out.write(json === true ? `${JSON.stringify(sets, null, 2)}\n` : formatSets(sets));
    });
  const remove = addAdmin(new Command('remove'))
    .description('Remove a set. Streams that use it continue.')
    .argument('<name>', 'the name of the set')
    .action(async (name: string, { admin }: SetsOptions) => {
      requireSetName(name);
      await getJson(adminUrl(admin, 'sets', name), { method: 'DELETE' });
      out.write(`removed set ${name}\n`);
    });
  return new Command('sets')
    .description('Store, list and remove sets of addresses, to which queries refer by name.')
    .addCommand(put)
    .addCommand(list)
    .addCommand(remove)
    .addHelpText('after', examples);
}

function requireSetName(name: string): void {
  if (setNamePattern.test(name)) return;
  throw new CodedError('cli-usage', {
    ...{ found: name, fault: 'is not the name of a set' },
    allowed: '1 to 64 letters, digits, _ and -',
  });
}

const examples = `
Examples:
  $ sluice sets put exchanges exchanges.txt
  $ sluice sets list
  $ echo '{"fromBlock":0,"tokenBalances":[{"owner":{"set":"exchanges"}}]}' > q.json
  $ sluice query --query q.json
  $ sluice sets remove exchanges`;

function formatSets(sets: readonly SetDescription[]): string {
  if (sets.length === 0) return 'no sets\n';
  const rows = sets.map(({ name, addresses, version, bytes }) => [
    name,
    formatCount(addresses),
    version,
    formatCount(bytes),
  ]);
  return formatTable([['set', 'addresses', 'version', 'bytes of memory'], ...rows]);
}
