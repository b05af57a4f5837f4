/**
 * Modules of the bundle that are built from the documentation:
 *
 *   virtual:alarm-actions   what to do about each alarm, from the table in docs/operating.md
 *   virtual:idl             instructions, accounts and errors of the programs in docs/idl
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

interface IdlFile {
  readonly address: string;
  readonly metadata: { readonly name: string };
  readonly instructions: readonly {
    readonly name: string;
    readonly discriminator: readonly number[];
    readonly accounts: readonly { readonly name: string }[];
  }[];
  readonly errors?: readonly { readonly code: number; readonly msg: string }[];
}

export function nameModules(repository: string): Plugin {
  return {
    name: 'name-modules',
    resolveId: (id) => (/^virtual:(alarm-actions|idl)$/.test(id) ? `\0${id}` : undefined),
    load: (id) => {
      if (id === '\0virtual:alarm-actions') {
        const page = readFileSync(join(repository, 'docs/operating.md'), 'utf8');
        return `export const alarmActions = ${JSON.stringify(readAlarmActions(page))};`;
      }
      if (id === '\0virtual:idl') {
        return `export const idls = ${JSON.stringify(readIdls(join(repository, 'docs/idl')))};`;
      }
      return undefined;
    },
  };
}

function readAlarmActions(page: string): Record<string, string> {
  const table = page.slice(page.indexOf('| Alarm | Cause | Action |'));
  const actions: Record<string, string> = {};
  for (const [, names = '', action = ''] of table.matchAll(/^\| (`.+?`) \| .+? \| (.+?) \|$/gm)) {
    for (const [, name = ''] of names.matchAll(/`([^`]+)`/g)) {
      actions[name] = action.replaceAll('`', '');
    }
  }
  return actions;
}

function readIdls(folder: string): object[] {
  return readdirSync(folder).map((file) => {
    const idl = JSON.parse(readFileSync(join(folder, file), 'utf8')) as IdlFile;
    return {
      address: idl.address,
      name: idl.metadata.name,
      instructions: idl.instructions.map(({ name, discriminator, accounts }) => ({
        name,
        d8: `0x${Buffer.from(discriminator).toString('hex')}`,
        accounts: accounts.map((account) => account.name),
      })),
      errors: Object.fromEntries((idl.errors ?? []).map(({ code, msg }) => [code, msg])),
    };
  });
}
