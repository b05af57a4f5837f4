import type { Command } from 'commander';
import { buildDemoCommand } from './commands/demo.ts';
import { buildExplainCommand } from './commands/explain.ts';
import { buildImportCommand } from './commands/import.ts';
import { buildInspectCommand } from './commands/inspect.ts';
import { buildPackCommand } from './commands/pack.ts';
import { buildServeCommand } from './commands/serve.ts';
import { buildSimulateCommand } from './commands/simulate.ts';
import type { CommandContext } from './context.ts';

/** Every command of the program, in the order of its help. One file in `commands/` builds each. */
export const COMMANDS: readonly ((context: CommandContext) => Command)[] = [
  buildDemoCommand,
  buildServeCommand,
  buildImportCommand,
  buildSimulateCommand,
  buildPackCommand,
  buildInspectCommand,
  buildExplainCommand,
];
