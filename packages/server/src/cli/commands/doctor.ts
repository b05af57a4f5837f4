import { systemClock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { isTerminal, styler, usesColor } from '@sluice/base/terminal';
import { messageBytesMaxDefault } from '@sluice/source/grpc/grpc-subscription';
import { Command, Option } from 'commander';
import { adminPort } from '../../app/config/admin-port.ts';
import type { Config } from '../../app/config/config-schema.ts';
import { examineConfig } from '../../app/config/load-config.ts';
import type { CommandContext } from '../context.ts';
import type { Finding } from '../doctor/check.ts';
import { checkArchive } from '../doctor/check-archive.ts';
import { checkData } from '../doctor/check-data.ts';
import { checkRemote } from '../doctor/check-remote.ts';
import { checkSources } from '../doctor/check-sources.ts';
import { checkPorts, checkSystem } from '../doctor/check-system.ts';
import { addListenOptions, type ListenChoice, listenOverrides } from '../listen-options.ts';
import { grpcOption, grpcToken, portalKey, portalOption } from '../source-options.ts';

interface DoctorOptions extends ListenChoice {
  readonly config?: string;
  readonly data?: string;
  readonly rpc?: readonly string[];
  readonly grpc?: readonly string[];
  readonly portal?: readonly string[];
  readonly archive?: readonly string[];
  readonly json?: boolean;
}

export function buildDoctorCommand(context: CommandContext): Command {
  const command = new Command('doctor').description(
    'Check what a service needs: configuration, data, sources, ports, clock, file limits. Reports each problem and what to do.',
  );
  return addListenOptions(command)
    .addOption(new Option('--config <file>', 'the configuration, as for sluice serve'))
    .addOption(new Option('--data <folder>', 'the data folder (default: ./data)'))
    .addOption(new Option('--rpc <url...>', 'nodes to check'))
    .addOption(grpcOption('nodes with Yellowstone gRPC to check'))
    .addOption(portalOption('datasets of other Sluices to check'))
    .addOption(new Option('--archive <location...>', 'folders or addresses of archives to check'))
    .option('--json', 'print JSON, as when the output is piped')
    .addHelpText('after', examples)
    .action(async (options: DoctorOptions) => {
      const findings = await examine(options);
      const isForPeople = isTerminal(context.out) && options.json !== true;
      context.out.write(
        isForPeople
          ? describe(findings, styler(usesColor(context.out)))
          : `${JSON.stringify(findings)}\n`,
      );
      const wrong = findings.filter(({ state }) => state === 'wrong').length;
      if (wrong > 0) throw new CodedError('doctor-failed', { wrong });
    });
}

const examples = `
Examples:
  $ sluice doctor
  $ sluice doctor --config sluice.yaml
  $ sluice doctor --rpc http://127.0.0.1:8899 --data /var/lib/sluice
  $ sluice doctor --archive https://files.example
  $ sluice doctor --json | jq '.[] | select(.state != "ok")'

The exit code is 1 if anything is wrong; warnings leave it at 0.`;

async function examine(options: DoctorOptions): Promise<Finding[]> {
  const { config, findings } = examineConfiguration(options);
  if (config === undefined) return [...findings, ...checkSystem(0)];
  const sources = [
    ...config.datasets.flatMap((dataset) => dataset.sources),
    ...namedSources(options),
  ];
  const { listen, admin } = config;
  return [
    ...findings,
    ...(await checkData(config.data)),
    ...(await checkSources(sources, () => systemClock.unixMs())),
    ...(await Promise.all((options.archive ?? []).map(checkArchive))),
    ...(await checkRemote(config)),
    ...(await checkPorts([
      { what: 'interface', host: listen.host, port: listen.port },
      { what: 'operator', host: admin.host, port: adminPort(config) },
    ])),
    ...checkSystem(config.datasets.length),
  ];
}

/** Returns the configuration, if it is usable, and its errors. */
function examineConfiguration({ config: file, data, ...options }: DoctorOptions): {
  readonly config: Config | undefined;
  readonly findings: Finding[];
} {
  const area = 'configuration';
  const overrides = listenOverrides(options, data);
  try {
    const { config, faults, isShaped } = examineConfig({ file, overrides }, process.env);
    const findings: Finding[] = faults.map(({ message, code }) => ({
      ...{ area, state: 'wrong', text: `${message} [${code}]` },
      remedy: 'correct the file; docs/configuration.md lists every key',
    }));
    const text = file === undefined ? 'no file: defaults and options apply' : `${file} is valid`;
    if (faults.length === 0) findings.push({ area, state: 'ok', text });
    return { config: isShaped ? config : undefined, findings };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    const text = `${error.message} [${error.code}]`;
    const remedy = 'check the path, or write a first configuration with sluice config init';
    return { config: undefined, findings: [{ area, state: 'wrong', text, remedy }] };
  }
}

function namedSources({ rpc = [], grpc = [], portal = [] }: DoctorOptions) {
  const nodes = rpc.map((url) => ({
    kind: 'rpc' as const,
    url,
    headers: {},
    connectionCountMax: 1,
  }));
  const token = grpcToken();
  const streams = grpc.map((url) => ({
    ...{ kind: 'grpc' as const, url, commitment: 'confirmed' as const },
    messageBytesMax: messageBytesMaxDefault,
    ...(token === undefined ? {} : { token }),
  }));
  const key = portalKey();
  const portals = portal.map((url) => ({
    ...{ kind: 'portal' as const, url },
    ...(key === undefined ? {} : { key }),
  }));
  return [...nodes, ...streams, ...portals];
}

const marks = {
  ok: ['green', 'ok     '],
  warning: ['yellow', 'warning'],
  wrong: ['red', 'WRONG  '],
} as const;

function describe(findings: readonly Finding[], style: ReturnType<typeof styler>): string {
  return findings
    .map(({ area, state, text, remedy }) => {
      const [color, mark] = marks[state];
      const advice =
        remedy === undefined ? '' : `\n${' '.repeat(25)}${style('dim', `→ ${remedy}`)}`;
      return `${style(color, mark)}  ${area.padEnd(14)}  ${text}${advice}\n`;
    })
    .join('');
}
