import type { Command } from 'commander';
import { buildBackfillCommand } from './commands/backfill.ts';
import { buildConfigCommand } from './commands/config.ts';
import { buildDatasetCommand } from './commands/dataset.ts';
import { buildDemoCommand } from './commands/demo.ts';
import { buildExplainCommand } from './commands/explain.ts';
import { buildImportCommand } from './commands/import.ts';
import { buildInspectCommand } from './commands/inspect.ts';
import { buildKeysCommand } from './commands/keys.ts';
import { buildPackCommand } from './commands/pack.ts';
import { buildServeCommand } from './commands/serve.ts';
import { buildSimulateCommand } from './commands/simulate.ts';
import { buildVerifyCommand } from './commands/verify.ts';
import type { CommandContext } from './context.ts';

/** Every command of the program, in the order of its help. One file in `commands/` builds each. */
export const COMMANDS: readonly ((context: CommandContext) => Command)[] = [
  buildDemoCommand,
  buildServeCommand,
  buildConfigCommand,
  buildImportCommand,
  buildBackfillCommand,
  buildDatasetCommand,
  buildVerifyCommand,
  buildKeysCommand,
  buildSimulateCommand,
  buildPackCommand,
  buildInspectCommand,
  buildExplainCommand,
];
