/** The IDLs of a service: those of its configuration, and those that an operator registered since it was started. */
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { listUndefinedTypes } from '@sluice/decode/idl/undefined-types';
import { IdlRegistry, type RegisteredIdl, readRegistered } from '@sluice/decode/idl-registry';
import { messageOf } from '@sluice/protocol/unknown-value';
import type { Logger } from 'pino';
import type { IdlDescription } from '../http/admin-idls.ts';
import { readSmallFile } from '../storage/read-small-file.ts';
import type { Config } from './config/config-schema.ts';

/** The largest known IDL has about 1 MB. */
const idlBytesMax = 8 << 20;
/** A larger folder is probably not one of IDLs. */
const fileCountMax = 1_000;

export class IdlStore {
  readonly #onChanged: (idls: readonly RegisteredIdl[]) => void;
  #configured: readonly RegisteredIdl[] = [];
  readonly #registered = new Map<string, RegisteredIdl>();
  #registry = new IdlRegistry();

  /** Calls `onChanged` with all IDLs whenever they change. */
  constructor(onChanged: (idls: readonly RegisteredIdl[]) => void) {
    this.#onChanged = onChanged;
  }

  get registry(): IdlRegistry {
    return this.#registry;
  }

  configure(idls: readonly RegisteredIdl[]): void {
    this.#configured = idls;
    this.#change();
  }

  /** Registers an IDL under a name. Throws `idl-invalid` or `idl-address-missing`, and then changes nothing. */
  put(idl: RegisteredIdl): void {
    readRegistered(idl);
    this.#registered.set(idl.name, idl);
    this.#change();
  }

  /** Returns whether an operator had registered an IDL with this name. */
  remove(name: string): boolean {
    const isRemoved = this.#registered.delete(name);
    if (isRemoved) this.#change();
    return isRemoved;
  }

  list(): readonly IdlDescription[] {
    return this.#all.flatMap((idl) =>
      readRegistered(idl).map((description) => ({
        name: idl.name,
        program: description.name,
        programId: description.address ?? '',
        fromSlot: idl.fromSlot ?? null,
        toSlot: idl.toSlot ?? null,
        origin:
          this.#registered.get(idl.name) === idl
            ? ('operator' as const)
            : ('configuration' as const),
        undefinedTypes: listUndefinedTypes(description),
      })),
    );
  }

  /** An IDL of an operator replaces the one of the configuration with the same name. */
  get #all(): readonly RegisteredIdl[] {
    const configured = this.#configured.filter(({ name }) => !this.#registered.has(name));
    return [...configured, ...this.#registered.values()];
  }

  #change(): void {
    this.#registry = new IdlRegistry(this.#all, this.#registry.version + 1);
    this.#onChanged(this.#all);
  }
}

/** Reads the IDLs of a configuration. One that cannot be read is logged and left out, because queries must not fail for it. */
export function readConfiguredIdls(entries: Config['idl'], log: Logger): readonly RegisteredIdl[] {
  const idls = new Map<string, RegisteredIdl>();
  for (const { path, programId, fromSlot, toSlot } of entries) {
    if (fromSlot !== undefined && toSlot !== undefined && fromSlot > toSlot) {
      log.error({ path, fromSlot, toSlot }, 'the IDLs are not used: fromSlot is above toSlot');
      continue;
    }
    for (const file of filesOf(path, log)) {
      const idl = readFile(file, log);
      if (idl === undefined) continue;
      const slots =
        fromSlot === undefined && toSlot === undefined ? '' : ` ${fromSlot ?? 0}-${toSlot ?? ''}`;
      const name = `${basename(file)}${slots}`;
      idls.set(name, { name, text: idl, programId, fromSlot, toSlot });
    }
  }
  return [...idls.values()].filter((idl) => isReadable(idl, log));
}

function filesOf(path: string, log: Logger): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    const names = readdirSync(path).filter((name) => name.endsWith('.json'));
    return names
      .sort()
      .slice(0, fileCountMax)
      .map((name) => join(path, name));
  } catch (error) {
    log.error({ path }, `the IDLs cannot be read: ${messageOf(error)}`);
    return [];
  }
}

function readFile(path: string, log: Logger): string | undefined {
  try {
    return readSmallFile(path, idlBytesMax).toString();
  } catch (error) {
    log.error({ path }, `the IDL cannot be read: ${messageOf(error)}`);
    return undefined;
  }
}

function isReadable(idl: RegisteredIdl, log: Logger): boolean {
  try {
    readRegistered(idl);
    return true;
  } catch (error) {
    log.error({ idl: idl.name }, `the IDL is not used: ${messageOf(error)}`);
    return false;
  }
}
