import {
  describeExpected,
  type SchemaNode,
} from '../../packages/server/src/app/config/apply-schema.ts';
import { configSchema } from '../../packages/server/src/app/config/config-schema.ts';
import { pathBelow } from '../../packages/server/src/app/config/config-tree.ts';

/** Renders the tables of `docs/configuration.md`: a heading and a table for every object of the schema. */
export function renderConfigTables(): string {
  const tables: string[] = [];
  renderObject(configSchema as SchemaNode, '', tables);
  return tables.join('\n');
}

function renderObject(schema: SchemaNode, path: string, tables: string[]): void {
  const { properties = {}, required = [], description } = schema;
  const rows: string[] = [];
  const below: (() => void)[] = [];
  for (const [key, property] of Object.entries(properties)) {
    const keyPath = pathBelow(path, key);
    if (property.properties !== undefined) {
      below.push(() => renderObject(property, keyPath, tables));
      continue;
    }
    const kinds = property.items?.anyOf ?? (property.items === undefined ? [] : [property.items]);
    for (const kind of kinds.filter((one) => one.properties !== undefined)) {
      const name = kind.properties?.['kind']?.const;
      const title = name === undefined ? `${keyPath}[]` : `${keyPath}[] of kind ${name}`;
      below.push(() => renderObject(kind, title, tables));
    }
    rows.push(renderRow(key, property, required.includes(key)));
  }
  if (rows.length > 0) {
    if (path !== '') tables.push(`### \`${path}\`\n\n${description ?? ''}\n`);
    tables.push(`| Key | Value | Default | Meaning |\n|---|---|---|---|\n${rows.join('\n')}\n`);
  } else if (path !== '') {
    tables.push(`### \`${path}\`\n\n${description ?? ''}\n`);
  }
  for (const render of below) render();
}

function renderRow(key: string, schema: SchemaNode, isRequired: boolean): string {
  const { description = '', defaultText } = schema;
  const hasDefault = schema.default !== undefined;
  const value = hasDefault ? `\`${JSON.stringify(schema.default)}\`` : isRequired ? 'needed' : '–';
  return `| \`${key}\` | ${describeValue(schema)} | ${defaultText ?? value} | ${description} |`;
}

function describeValue(schema: SchemaNode): string {
  const { items, anyOf } = schema;
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.expected !== undefined) return schema.expected;
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${one}\``).join(', ');
  if (schema.patternProperties !== undefined) return 'names and texts';
  if (items !== undefined) {
    const isObject = items.properties !== undefined || items.anyOf !== undefined;
    return `a list of ${isObject ? 'objects, below' : describeValue(items)}`;
  }
  if (anyOf !== undefined) return anyOf.map(describeValue).join(' or ');
  return describeExpected(schema);
}
