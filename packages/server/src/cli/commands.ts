import type { Command } from 'commander';
import { refuseFewFiles } from '../app/open-files-limit.ts';
import type { CommandContext } from './context.ts';

export type BuildCommand = (context: CommandContext) => Command;

/** All commands in the order of the help. Each is built by a file in `commands/`. */
const commands: Readonly<Record<string, () => Promise<BuildCommand>>> = {
  demo: async () => (await beforeService(() => import('./commands/demo.ts'))).buildDemoCommand,
  serve: async () => (await beforeService(() => import('./commands/serve.ts'))).buildServeCommand,
  config: async () => (await import('./commands/config.ts')).buildConfigCommand,
  query: async () => (await import('./commands/query.ts')).buildQueryCommand,
  tail: async () => (await import('./commands/tail.ts')).buildTailCommand,
  head: async () => (await import('./commands/head.ts')).buildHeadCommand,
  sync: async () => (await import('./commands/sync.ts')).buildSyncCommand,
  export: async () => (await import('./commands/export.ts')).buildExportCommand,
  status: async () => (await import('./commands/status.ts')).buildStatusCommand,
  doctor: async () => (await import('./commands/doctor.ts')).buildDoctorCommand,
  import: async () => (await import('./commands/import.ts')).buildImportCommand,
  convert: async () => (await import('./commands/convert.ts')).buildConvertCommand,
  backfill: async () => (await import('./commands/backfill.ts')).buildBackfillCommand,
  dataset: async () => (await import('./commands/dataset.ts')).buildDatasetCommand,
  backup: async () => (await import('./commands/backup.ts')).buildBackupCommand,
  restore: async () => (await import('./commands/restore.ts')).buildRestoreCommand,
  verify: async () => (await import('./commands/verify.ts')).buildVerifyCommand,
  repair: async () => (await import('./commands/repair.ts')).buildRepairCommand,
  keys: async () => (await import('./commands/keys.ts')).buildKeysCommand,
  sets: async () => (await import('./commands/sets.ts')).buildSetsCommand,
  idls: async () => (await import('./commands/idls.ts')).buildIdlsCommand,
  simulate: async () => (await import('./commands/simulate.ts')).buildSimulateCommand,
  pack: async () => (await import('./commands/pack.ts')).buildPackCommand,
  inspect: async () => (await import('./commands/inspect.ts')).buildInspectCommand,
  explain: async () => (await import('./commands/explain.ts')).buildExplainCommand,
};

/** Checks the limit of open files first, because loading the service would otherwise fail with a misleading error. */
function beforeService<Module>(load: () => Promise<Module>): Promise<Module> {
  refuseFewFiles();
  return load();
}

/** Loads only the named command, because loading all of them takes most of a second. Loads all commands when the name is unknown. */
export async function loadCommands(name = ''): Promise<BuildCommand[]> {
  // The program itself handles these.
  if (name === '--version' || name === '-V') return [];
  const named = Object.entries(commands).filter(([command]) => command === name);
  const wanted = named.length > 0 ? named : Object.entries(commands);
  return Promise.all(wanted.map(([, load]) => load()));
}
