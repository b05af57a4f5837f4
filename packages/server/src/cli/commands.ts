import type { Command } from 'commander';
import { refuseFewFiles } from '../app/open-files-limit.ts';
import type { CommandContext } from './context.ts';

export type BuildCommand = (context: CommandContext) => Command;

/** Every command of the program, in the order of its help. One file in `commands/` builds each. */
const commands: Readonly<Record<string, () => Promise<BuildCommand>>> = {
  demo: async () => (await beforeService(() => import('./commands/demo.ts'))).buildDemoCommand,
  serve: async () => (await beforeService(() => import('./commands/serve.ts'))).buildServeCommand,
  config: async () => (await import('./commands/config.ts')).buildConfigCommand,
  query: async () => (await import('./commands/query.ts')).buildQueryCommand,
  tail: async () => (await import('./commands/tail.ts')).buildTailCommand,
  head: async () => (await import('./commands/head.ts')).buildHeadCommand,
  status: async () => (await import('./commands/status.ts')).buildStatusCommand,
  doctor: async () => (await import('./commands/doctor.ts')).buildDoctorCommand,
  import: async () => (await import('./commands/import.ts')).buildImportCommand,
  backfill: async () => (await import('./commands/backfill.ts')).buildBackfillCommand,
  dataset: async () => (await import('./commands/dataset.ts')).buildDatasetCommand,
  verify: async () => (await import('./commands/verify.ts')).buildVerifyCommand,
  keys: async () => (await import('./commands/keys.ts')).buildKeysCommand,
  simulate: async () => (await import('./commands/simulate.ts')).buildSimulateCommand,
  pack: async () => (await import('./commands/pack.ts')).buildPackCommand,
  inspect: async () => (await import('./commands/inspect.ts')).buildInspectCommand,
  explain: async () => (await import('./commands/explain.ts')).buildExplainCommand,
};

/** Where files are too few for a service they are for loading it, which then fails in ways that say something else. */
function beforeService<Module>(load: () => Promise<Module>): Promise<Module> {
  refuseFewFiles();
  return load();
}

/** The command of that name alone, since loading what all of them need takes most of a second; all if there is none such. */
export async function loadCommands(name = ''): Promise<BuildCommand[]> {
  // Answered by the program itself.
  if (name === '--version' || name === '-V') return [];
  const wanted = Object.hasOwn(commands, name) ? [name] : Object.keys(commands);
  return Promise.all(wanted.map((one) => (commands[one] as () => Promise<BuildCommand>)()));
}
