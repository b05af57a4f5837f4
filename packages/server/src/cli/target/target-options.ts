import { Argument, type Command, Option } from 'commander';

export interface TargetOptions {
  readonly data?: string;
}

/** The argument and the option that select the dataset of every reading command. */
export function addTarget(command: Command): Command {
  return command
    .addArgument(
      new Argument(
        '[dataset]',
        'a name, or an address: http://HOST:PORT/datasets/NAME (default: the only dataset)',
      ),
    )
    .addOption(
      new Option(
        '--data <folder>',
        'read this data folder instead of a service (default: ./data, if no service responds)',
      ),
    );
}

export const targetHelp = `
A name is looked up at the service of SLUICE_URL (default: http://127.0.0.1:8080), then in ./data. If the service requires a
key, set SLUICE_KEY.`;

export interface AdminOptions {
  readonly admin: string;
}

/** The option that selects the service of every command that uses the listener for operators. */
export function addAdmin(command: Command): Command {
  return command.addOption(
    new Option('--admin <url>', 'the listener for operators of the service, on this machine')
      .env('SLUICE_ADMIN_URL')
      .default('http://127.0.0.1:8081'),
  );
}

export function adminUrl(admin: string, path: 'sets' | 'idls', name?: string): string {
  const base = `${admin.replace(/\/+$/, '')}/${path}`;
  return name === undefined ? base : `${base}/${encodeURIComponent(name)}`;
}
