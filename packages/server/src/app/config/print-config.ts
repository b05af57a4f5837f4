/** Prints a configuration with all keys and values, but without secrets. */
import { memberOf } from '@sluice/protocol/unknown-value';
import { stringify } from 'yaml';
import { adminPort } from './admin-port.ts';
import type { SchemaNode } from './apply-schema.ts';
import { type Config, configSchema, type DatasetConfig, MADE_AS } from './config-schema.ts';
import { type ConfigOrigin, pathBelow } from './config-tree.ts';
import { datasetFolder } from './dataset-folder.ts';
import type { LoadedConfig } from './load-config.ts';

const hidden = '***';

/** Returns YAML that is a valid configuration, except for hidden values. */
export function printConfig({ config, tree }: LoadedConfig): string {
  const where = { path: '', origins: tree.origins };
  return stringify(show(configSchema as SchemaNode, inForce(config), where), { lineWidth: 0 });
}

/** Adds values that derive from other keys. */
function inForce(config: Config): Config {
  return {
    ...config,
    admin: { ...config.admin, port: adminPort(config) },
    datasets: config.datasets.map((dataset) => ({
      ...dataset,
      ...creationKeys(dataset),
      folder: datasetFolder(dataset, config),
      dialects: dataset.dialects ?? config.dialects,
    })),
  };
}

/** Keys that apply to a new dataset, and are rejected if no dataset can be created. */
function creationKeys({
  sources,
  from,
  votes,
  allowMissing,
}: DatasetConfig): Partial<DatasetConfig> {
  const isFollowed = sources.some(({ kind }) => kind !== 'files');
  return {
    ...(isFollowed ? { from: from ?? MADE_AS.from } : {}),
    ...(sources.length > 0
      ? { votes: votes ?? MADE_AS.votes, allowMissing: allowMissing ?? [] }
      : {}),
  };
}

interface Where {
  readonly path: string;
  readonly origins: ReadonlyMap<string, ConfigOrigin>;
}

function show(schema: SchemaNode, value: unknown, { path, origins }: Where): unknown {
  const below = (step: string | number) => ({ path: pathBelow(path, step), origins });
  if (Array.isArray(value)) {
    const item = schema.items ?? {};
    return value.map((element, i) => show(item, element, below(i)));
  }
  if (typeof value !== 'object' || value === null)
    return showLeaf(schema, value, { path, origins });
  const kind = memberOf(value, 'kind');
  const matching =
    schema.anyOf?.find(({ properties }) => properties?.['kind']?.const === kind) ?? schema;
  const [ofRecord = {}] = Object.values(matching.patternProperties ?? {});
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [
      key,
      show(matching.properties?.[key] ?? ofRecord, child, below(key)),
    ]),
  );
}

/** A value with a variable is shown as in the file: with the name of the variable and not its value. */
function showLeaf({ secret }: SchemaNode, value: unknown, { path, origins }: Where): unknown {
  const template = origins.get(path)?.template;
  const text = template ?? value;
  if (secret === undefined || typeof text !== 'string') return text;
  if (secret === 'url') return hideUrl(text);
  return /^(Bearer |Basic )?\$\{\w+\}$/.test(text) ? text : hidden;
}

/** Only the origin of an address is shown. User, path and query are often keys. */
function hideUrl(text: string): string {
  const [, origin, user, host, rest] = /^(\w+:\/\/)([^/?#]*@)?([^/?#@]*)(.*)$/s.exec(text) ?? [];
  if (origin === undefined) return text === 'none' || /^\$\{\w+\}$/.test(text) ? text : hidden;
  const isPlain = rest === '' || rest === '/';
  return `${origin}${user === undefined ? '' : `${hidden}@`}${host}${isPlain ? rest : `/${hidden}`}`;
}
