import { Command, Option } from 'commander';
import { DEMO_CONFIG, describeDemo } from '../../app/demo/demo-config.ts';
import { replaceEarlierDemo } from '../../app/demo/replace-earlier-demo.ts';
import type { CommandContext } from '../context.ts';
import {
  addListenOptions,
  type ListenChoice,
  listenOverrides,
  refuseSameListener,
} from '../listen-options.ts';
import { runConfigured } from '../run-configured.ts';

interface DemoCommandOptions extends ListenChoice {
  readonly data: string;
}

export function buildDemoCommand(context: CommandContext): Command {
  const command = new Command('demo').description(
    'Serve two datasets of a built-in simulated ledger: the quickest way to try Sluice.',
  );
  addListenOptions(command);
  return command
    .addOption(new Option('--data <folder>', 'the data folder').default('./data/demo'))
    .addHelpText('after', examples)
    .action(async ({ data, ...listen }: DemoCommandOptions) => {
      refuseSameListener(command, listen);
      const replaced = await replaceEarlierDemo(data);
      if (replaced !== undefined) context.err.write(replaced);
      const overrides = { ...DEMO_CONFIG, ...listenOverrides(listen, data) };
      await runConfigured({ overrides }, describeDemo, context);
    });
}

const examples = `
Examples:
  $ sluice demo
  $ sluice demo --port 9000 --data /tmp/demo
  $ sluice demo --host 0.0.0.0 --auth none`;
