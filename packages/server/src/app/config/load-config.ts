import { dirname, resolve } from 'node:path';
import { CodedError, isCodedError, knownDetail } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { readSmallFile } from '../../storage/read-small-file.ts';
import { applySchema } from './apply-schema.ts';
import { checkConfig } from './check-config.ts';
import { type Config, configSchema } from './config-schema.ts';
import type { ConfigOrigin, ConfigTree } from './config-tree.ts';
import { type Environment, readYaml } from './read-yaml.ts';

export interface ConfigChoice {
  /** Without a file the configuration consists of the overrides and the defaults. */
  readonly file?: string | undefined;
  /** Values of options and the environment, in the form of a file. They take precedence over the file. */
  readonly overrides: Readonly<Record<string, unknown>>;
}

export interface LoadedConfig {
  readonly config: Config;
  /** The values before parsing, with their positions. */
  readonly tree: ConfigTree;
  readonly file?: string | undefined;
}

export interface ExaminedConfig extends LoadedConfig {
  readonly faults: readonly CodedError[];
  /** Whether all keys and values are valid on their own. Only then are the rules between them checked. */
  readonly isShaped: boolean;
}

/** Reads a configuration. Throws the first fault if it is invalid. */
export function loadConfig(choice: ConfigChoice, environment: Environment): LoadedConfig {
  const { faults, config, tree, file } = examineConfig(choice, environment);
  if (faults[0] !== undefined) throw faults[0];
  return { config, tree, file };
}

/** Like `loadConfig`, but returns all faults in the order of lines. */
export function examineConfig(
  { file, overrides }: ConfigChoice,
  environment: Environment,
): ExaminedConfig {
  const written = file === undefined ? emptyTree : readConfigFile(file, environment);
  const tree = override(written, overrides);
  const resolvePath = (path: string) => (file === undefined ? path : resolve(dirname(file), path));
  const applied = applySchema(configSchema, tree, { resolvePath });
  const config = applied.value as Config;
  const unsetKeys = new Set(tree.unset.map(({ detail }) => detail['key']));
  // A value with an unset variable is reported only for that.
  const wrong = applied.faults.filter(({ detail }) => !unsetKeys.has(detail['key'] ?? null));
  const ofShape = [...tree.unset, ...wrong];
  const isShaped = ofShape.length === 0;
  const faults = isShaped ? checkConfig(config, tree) : ofShape;
  const sorted = [...faults].sort(byLine).map((fault) => nameFile(fault, file));
  return { config, tree, file, isShaped, faults: sorted };
}

/** Ten times the size of a file with a thousand datasets. */
const configBytesMax = 1 << 20;
const emptyTree: ConfigTree = { value: {}, origins: new Map(), unset: [] };

function readConfigFile(file: string, environment: Environment): ConfigTree {
  const unreadable = (cause: unknown) => {
    const reason = systemErrorCode(cause) ?? 'unknown';
    return new CodedError('cli-file-unreadable', { file, reason }, { cause });
  };
  let text: string;
  try {
    text = readSmallFile(file, configBytesMax).toString();
  } catch (error) {
    throw isCodedError(error) ? error : unreadable(error);
  }
  try {
    return readYaml(text, environment);
  } catch (error) {
    throw isCodedError(error) ? nameFile(error, file) : error;
  }
}

function nameFile(fault: CodedError, file: string | undefined): CodedError {
  return file === undefined
    ? fault
    : new CodedError(fault.code, ...knownDetail({ file, ...fault.detail }));
}

function byLine(a: CodedError, b: CodedError): number {
  return Number(a.detail['line'] ?? 0) - Number(b.detail['line'] ?? 0);
}

/** Returns the tree with the overrides applied; `null` removes a value. Overridden values have no position in the file. */
function override(tree: ConfigTree, overrides: Readonly<Record<string, unknown>>): ConfigTree {
  const origins = new Map(tree.origins);
  return { ...tree, value: merge(tree.value, overrides, { origins, path: '' }), origins };
}

interface MergeInto {
  readonly origins: Map<string, ConfigOrigin>;
  readonly path: string;
}

function merge(below: unknown, above: unknown, { origins, path }: MergeInto): unknown {
  if (above === undefined) return below;
  if (!isObject(above) || (!isObject(below) && below !== undefined && below !== null)) {
    // A section of the wrong type, such as a list, is kept, so that it is reported.
    if (isObject(above)) return below;
    origins.delete(path);
    return above ?? undefined;
  }
  const merged: Record<string, unknown> = isObject(below) ? { ...below } : {};
  for (const [key, value] of Object.entries(above)) {
    const keyPath = path === '' ? key : `${path}.${key}`;
    merged[key] = merge(merged[key], value, { origins, path: keyPath });
  }
  return merged;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
