import { Command, Option } from 'commander';
import { appendKey } from '../../http/keys/append-key.ts';
import type { CommandContext } from '../context.ts';

interface CreateOptions {
  readonly keys: string;
  readonly name?: string;
}

export function buildKeysCommand(context: CommandContext): Command {
  const create = new Command('create')
    .description('Make a key for a client: its hash goes into the file, the key is printed once.')
    .addOption(
      new Option('--keys <file>', 'the key file, made if it is not there')
        .env('SLUICE_KEYS')
        .makeOptionMandatory(),
    )
    .option('--name <name>', 'who it is for, as the log calls it')
    .addHelpText('after', examples)
    .action(({ keys, name }: CreateOptions) => createKey(keys, name, context));
  return new Command('keys')
    .description('Make keys that clients show to a service.')
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
    `Its hash is in ${file}; the key itself is stored nowhere. Clients send it as Authorization: Bearer or X-API-Key.\n` +
      'A service reads the file when it starts, and again when it gets SIGHUP.\n',
  );
}
