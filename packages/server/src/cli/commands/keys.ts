import { Command, Option } from 'commander';
import { appendKey } from '../../http/keys/append-key.ts';
import type { CommandContext } from '../context.ts';

interface CreateOptions {
  readonly keys: string;
  readonly name?: string;
}

export function buildKeysCommand(context: CommandContext): Command {
  const create = new Command('create')
    .description(
      'Create a key for a client. Its hash is appended to the file; the key itself is printed once.',
    )
    .addOption(
      new Option('--keys <file>', 'the key file, created if it does not exist')
        .env('SLUICE_KEYS')
        .makeOptionMandatory(),
    )
    .option('--name <name>', 'the owner of the key, as shown in the log')
    .addHelpText('after', examples)
    .action(({ keys, name }: CreateOptions) => createKey(keys, name, context));
  return new Command('keys')
    .description('Create keys for the clients of a service.')
    .addCommand(create)
    .addHelpText('after', examples);
}

const examples = `
Examples:
  $ sluice keys create --keys keys.txt --name alice
  $ sluice serve --host 0.0.0.0 --keys keys.txt`;

async function createKey(
  file: string,
  name: string | undefined,
  { out, err }: CommandContext,
): Promise<void> {
  const key = await appendKey(file, name);
  // Only the key goes to standard output, so that a script can read it.
  out.write(`${key}\n`);
  err.write(
    `The hash of the key is in ${file}; the key itself is not stored. Clients send it as Authorization: Bearer or X-API-Key.\n` +
      'A service reads the file at its start and when it receives SIGHUP.\n',
  );
}
