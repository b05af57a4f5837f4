import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { isSameListener } from '../app/config/admin-port.ts';
import { portOption } from './parse-option.ts';

/** Of both listeners, as the configuration has it. */
const hostDefault = '127.0.0.1';

/** Where a service listens and who may ask; the same for every command that serves. */
export interface ListenChoice {
  readonly host?: string;
  readonly port?: number;
  readonly adminPort?: number;
  readonly auth?: 'none';
  /** A file of hashes. */
  readonly keys?: string;
}

/** Without defaults: what neither an option nor the environment says is for the configuration to say. */
export function addListenOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--host <address>', `where to listen (default: ${hostDefault})`).env('HOST'),
    )
    .addOption(
      new Option('--port <port>', 'the port of the interface; 0 for any (default: 8080)')
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
      new Option('--auth <decision>', 'none: anyone who reaches the address may ask')
        .choices(['none'])
        .env('SLUICE_AUTH'),
    )
    .addOption(new Option('--keys <file>', 'hashes of the keys that may ask').env('SLUICE_KEYS'));
}

/** By the options' names, where there is no file that has a part in it. */
export function refuseSameListener(
  command: Command,
  { host = hostDefault, port, adminPort }: ListenChoice,
): void {
  if (port === undefined || adminPort === undefined) return;
  if (!isSameListener({ host, port }, { host: hostDefault, port: adminPort })) return;
  command.error('error: --admin-port must differ from --port, which is at the same address');
}

/** What the options say, as a configuration holds it. `data` is the data folder, if one is named. */
export function listenOverrides(
  { host, port, adminPort, auth, keys }: ListenChoice,
  data: string | undefined,
): Record<string, unknown> {
  // An open door that is asked for here is not closed again by keys of the file.
  const keysHere =
    keys === undefined ? { keys: auth === undefined ? undefined : null } : { keys: resolve(keys) };
  return {
    data: data === undefined ? undefined : resolve(data),
    listen: { host, port, auth, ...keysHere },
    admin: { port: adminPort },
  };
}
