import { type Command, Option } from 'commander';
import { portOption } from './parse-option.ts';

/** The options of `ListenChoice`, the same for every command that serves. */
export function addListenOptions(command: Command): Command {
  return command
    .addOption(new Option('--host <address>', 'where to listen').env('HOST').default('127.0.0.1'))
    .addOption(
      new Option('--port <port>', 'the port of the interface; 0 for any')
        .env('PORT')
        .default(8080)
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
