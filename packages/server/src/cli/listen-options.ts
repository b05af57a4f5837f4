import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { isSameListener } from '../app/config/admin-port.ts';
import { portOption } from './parse-option.ts';

const hostDefault = '127.0.0.1';

/** The options for addresses and access of every command that serves. */
export interface ListenChoice {
  readonly host?: string;
  readonly port?: number;
  readonly adminPort?: number;
  readonly auth?: 'none';
  /** A file with the hashes of the keys. */
  readonly keys?: string;
}

/** The options have no defaults, because a configuration file may set the values. */
export function addListenOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--host <address>', `the address to listen on (default: ${hostDefault})`).env(
        'HOST',
      ),
    )
    .addOption(
      new Option('--port <port>', 'the port to listen on; 0 for any free port (default: 8080)')
        .env('PORT')
        .argParser(portOption),
    )
    .addOption(
      new Option(
        '--admin-port <port>',
        'the port of /ready, /health and /metrics, on loopback (default: port + 1)',
      ).argParser(portOption),
    )
    .addOption(
      new Option('--auth <decision>', 'none: anyone who can reach the address may send requests')
        .choices(['none'])
        .env('SLUICE_AUTH'),
    )
    .addOption(
      new Option('--keys <file>', 'a file with the hashes of the keys that clients may use').env(
        'SLUICE_KEYS',
      ),
    );
}

/** Reports equal addresses with the names of the options instead of the configuration keys. */
export function refuseSameListener(
  command: Command,
  { host = hostDefault, port, adminPort }: ListenChoice,
): void {
  if (port === undefined || adminPort === undefined) return;
  if (!isSameListener({ host, port }, { host: hostDefault, port: adminPort })) return;
  command.error('error: --admin-port must differ from --port, which is at the same address');
}

/** Returns the options in the form of a configuration. `data` is the data folder, if it is given. */
export function listenOverrides(
  { host, port, adminPort, auth, keys }: ListenChoice,
  data: string | undefined,
): Record<string, unknown> {
  // `--auth none` overrides the keys of the file.
  const keysHere =
    keys === undefined ? { keys: auth === undefined ? undefined : null } : { keys: resolve(keys) };
  return {
    data: data === undefined ? undefined : resolve(data),
    listen: { host, port, auth, ...keysHere },
    admin: { port: adminPort },
  };
}
