import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { applySchema } from '../../packages/server/src/app/config/apply-schema.ts';
import { configSchema } from '../../packages/server/src/app/config/config-schema.ts';
import { readYaml } from '../../packages/server/src/app/config/read-yaml.ts';
import { renderConfigTables } from './render-config-tables.ts';

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');

test('behavior: the page describes every key of the schema', () => {
  const shown = /<!-- keys:start -->\n([\s\S]*?)<!-- keys:end -->/.exec(page)?.[1];
  expect(shown).toBe(renderConfigTables());
});

test('behavior: the example of the page is a valid configuration', () => {
  const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const tree = readYaml(example, { RPC_KEY: 'k', NODE_TOKEN: 't' });
  expect(applySchema(configSchema, tree, { resolvePath: (path) => path }).faults).toEqual([]);
  expect(tree.origins.size).toBeGreaterThan(10);
});
