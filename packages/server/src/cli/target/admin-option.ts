import { type Command, Option } from 'commander';

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
