import { Command, Option } from 'commander';
import { runDemo } from '../../app/demo.ts';
import type { ListenChoice } from '../../app/run-service.ts';
import { systemClock } from '../../base/clock.ts';
import type { CommandContext } from '../context.ts';
import { addListenOptions } from '../listen-options.ts';
import { readVersion } from '../read-version.ts';
import { stopSignal } from '../stop-signal.ts';

interface DemoCommandOptions extends ListenChoice {
  readonly data: string;
}

export function buildDemoCommand(context: CommandContext): Command {
  const command = new Command('demo').description(
    'Serve two datasets over a built-in simulated ledger that grows: the quickest way to see it work.',
  );
  addListenOptions(command);
  return command
    .addOption(new Option('--data <folder>', 'where the data goes').default('./data/demo'))
    .addHelpText('after', examples)
    .action(async ({ data, ...listen }: DemoCommandOptions) => {
      await runDemo(
        { listen, dataFolder: data, version: readVersion() },
        { ...context, clock: systemClock, signal: stopSignal() },
      );
    });
}

const examples = `
Examples:
  $ sluice demo
  $ sluice demo --port 9000 --data /tmp/demo
  $ sluice demo --host 0.0.0.0 --auth none`;
