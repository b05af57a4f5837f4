import { CodedError, isCodedError } from '@sluice/base/errors';
import { Command } from 'commander';
import { CONFIG_EXAMPLE } from '../../app/config/config-example.ts';
import type { Config } from '../../app/config/config-schema.ts';
import { type ExaminedConfig, examineConfig, loadConfig } from '../../app/config/load-config.ts';
import { printConfig } from '../../app/config/print-config.ts';
import { decideAccess } from '../../app/listen-policy.ts';
import type { CommandContext } from '../context.ts';
import { checkRemote } from '../doctor/check-remote.ts';
import { addListenOptions, type ListenChoice, listenOverrides } from '../listen-options.ts';
import { writeFileWhole } from '../write-file-whole.ts';

const fileDefault = 'sluice.yaml';

export function buildConfigCommand(context: CommandContext): Command {
  const check = new Command('check')
    .description(
      'Report every error of a configuration. Also tries its object store and feed, if it has them.',
    )
    .argument('[file]', 'the configuration', fileDefault)
    .option('--offline', 'do not try the object store and the feed')
    .action((file: string, options: CheckOptions) => checkFile(file, options, context));
  const print = new Command('print')
    .description(
      'Show the configuration that a service would use, with defaults and without secrets.',
    )
    .argument('[file]', 'the configuration', fileDefault)
    .action((file: string, options: ListenChoice) => {
      const overrides = listenOverrides(options, undefined);
      context.out.write(printConfig(loadConfig({ file, overrides }, process.env)));
    });
  const init = new Command('init')
    .description('Write a first configuration file, which works unchanged.')
    .argument('[file]', 'where to write it', fileDefault)
    .option('--force', 'overwrite an existing file')
    .action((file: string, options: { force?: boolean }) => writeExample(file, options, context));
  const command = new Command('config').description('Write, check or show a configuration.');
  for (const subcommand of [addListenOptions(check), addListenOptions(print), init]) {
    command.addCommand(subcommand.addHelpText('after', examples));
  }
  return command.addHelpText('after', examples);
}

const examples = `
Examples:
  $ sluice config init
  $ sluice config check sluice.yaml
  $ sluice config check --offline sluice.yaml
  $ sluice config print /etc/sluice/sluice.yaml
  $ sluice serve --config sluice.yaml

Options and environment variables (HOST, PORT, SLUICE_AUTH, SLUICE_KEYS) take precedence over the file, as with sluice serve.`;

interface CheckOptions extends ListenChoice {
  readonly offline?: boolean;
}

async function checkFile(
  file: string,
  { offline = false, ...options }: CheckOptions,
  { out }: CommandContext,
): Promise<void> {
  const overrides = listenOverrides(options, undefined);
  const examined = examineConfig({ file, overrides }, process.env);
  const { config, isShaped } = examined;
  const faults = [...examined.faults, ...findKeyFaults(examined)];
  for (const { code, message } of faults) out.write(`${message} [${code}]\n`);
  if (!isShaped)
    out.write('Rules that involve several keys are checked after these errors are corrected.\n');
  if (faults.length > 0) throw new CodedError('config-invalid', { faults: faults.length });
  const wrong = offline ? 0 : await reportRemote(config, out);
  if (wrong > 0) throw new CodedError('config-invalid', { faults: wrong });
  const { length } = config.datasets;
  out.write(`${file} is valid: ${length} ${length === 1 ? 'dataset' : 'datasets'} listed.\n`);
}

/** Tries the object store and the feed, prints the findings, and returns the number of problems. */
async function reportRemote(config: Config, out: NodeJS.WritableStream): Promise<number> {
  const findings = await checkRemote(config);
  for (const { area, state, text, remedy } of findings) {
    out.write(`${area}: ${state}: ${text}${remedy === undefined ? '' : `; ${remedy}`}\n`);
  }
  return findings.filter(({ state }) => state === 'wrong').length;
}

/** Returns the errors of the key file. A missing key file is reported elsewhere. */
function findKeyFaults(examined: ExaminedConfig): CodedError[] {
  if (!examined.isShaped || examined.config.listen.keys === undefined) return [];
  try {
    decideAccess(examined);
    return [];
  } catch (error) {
    if (isCodedError(error)) return [error];
    throw error;
  }
}

async function writeExample(
  path: string,
  { force = false }: { force?: boolean },
  { out }: CommandContext,
): Promise<void> {
  await writeFileWhole({ path, force }, new AbortController().signal, async (write) =>
    write(new TextEncoder().encode(CONFIG_EXAMPLE)),
  );
  out.write(`Written to ${path}. Run it with: sluice serve --config ${path}\n`);
}
