import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ERRORS } from '@sluice/base/errors';
import { afterAll, expect, test } from 'vitest';
import { CONFIG_EXAMPLE } from './config-example.ts';
import { examineConfig, loadConfig } from './load-config.ts';
import { printConfig } from './print-config.ts';
import type { Environment } from './read-yaml.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-config-'));
const file = join(folder, 'sluice.yaml');
afterAll(() => rmSync(folder, { recursive: true }));

function examine(text: string, environment: Environment = {}, overrides = {}) {
  writeFileSync(file, text);
  return examineConfig({ file, overrides }, environment);
}

/** Returns the code, key, line and other details of every fault. */
function faultsOf(text: string, environment: Environment = {}) {
  try {
    const { faults } = examine(text, environment);
    return faults.map(({ code, detail }) => ({ code, ...detail, file: undefined }));
  } catch (error) {
    const { code, detail } = error as { code: string; detail: object };
    return [{ code, ...detail, file: undefined }];
  }
}

const rpc = (lines: string) => `datasets:
  - name: mine
    sources:
      - kind: rpc
${lines.replaceAll(/^/gm, '        ')}
`;

test('default: an empty file and no file give all defaults', () => {
  const { config } = loadConfig({ overrides: {} }, {});
  expect(config.listen).toEqual({ host: '127.0.0.1', port: 8080, corsOrigins: [] });
  expect([config.data, config.limits.key.requestsPerSecond]).toEqual(['./data', 50]);
  expect(examine('# nothing\n').config).toEqual({ ...config, data: join(folder, 'data') });
});

test('default: the file that init writes is valid, and so are the suggestions in its comments', () => {
  expect(faultsOf(CONFIG_EXAMPLE)).toEqual([]);
  // The folder ./data/demo belongs to npm start.
  expect(examine(CONFIG_EXAMPLE).config.datasets).not.toContainEqual(
    expect.objectContaining({ folder: join(folder, 'data/demo') }),
  );
  const suggested = CONFIG_EXAMPLE.replaceAll(/^( *)# (?=( *)([\w-]+:|- ))(?!.*\. )/gm, '$1');
  expect(suggested).toContain('\n  - name: mainnet');
  expect(faultsOf(suggested, { RPC_KEY: 'a', NODE_TOKEN: 'b' })).toEqual([]);
});

test.each([
  ['listen:\n  hst: x\n', 'config-key-unknown', { key: 'listen.hst', line: 2, nearest: 'host' }],
  ['\n\nlimit: 1\n', 'config-key-unknown', { key: 'limit', line: 3, nearest: 'limits' }],
  ['__proto__: 1\n', 'config-key-unknown', { key: '__proto__', line: 1 }],
  ['listen:\n  port: 8x\n', 'config-value-invalid', { key: 'listen.port', line: 2, found: '"8x"' }],
  ['listen:\n  port: 65535\n', 'config-value-invalid', { key: 'listen.port', line: 2 }],
  [
    'listen:\n  port: 9000\nadmin:\n  port: 9000\n',
    'config-value-invalid',
    { key: 'admin.port', line: 4, expected: expect.stringContaining('listen.port') },
  ],
  [
    'listen: { host: "::", auth: none, port: 9 }\nadmin: { port: 9 }\n',
    'config-value-invalid',
    { key: 'admin.port', line: 2 },
  ],
  ['listen: [1]\n', 'config-value-invalid', { key: 'listen', line: 1, found: 'a list' }],
  ['listen:\n  port: 9007199254740993\n', 'config-value-invalid', { line: 2 }],
  ['datasets:\n  - aliases: [a]\n', 'config-key-missing', { key: 'datasets[0].name', line: 2 }],
  ['datasets:\n  - name: Big\n', 'config-value-invalid', { key: 'datasets[0].name', line: 2 }],
  [
    'datasets:\n  - name: a\n  - name: b\n    aliases:\n      - a\n',
    'config-value-invalid',
    { key: 'datasets[1].aliases[0]', line: 5 },
  ],
  [
    'datasets:\n  - name: a\n  - name: b\n    folder: data/a\n',
    'config-value-invalid',
    { key: 'datasets[1].folder', line: 4 },
  ],
  [
    'datasets:\n  - name: a\n    keep: 7d\n',
    'config-key-useless',
    { key: 'datasets[0].keep', line: 3, needs: 'sources' },
  ],
  [
    'datasets:\n  - name: a\n    sources:\n      - kind: rcp\n',
    'config-value-invalid',
    {
      key: 'datasets[0].sources[0].kind',
      line: 4,
      expected: 'rpc or grpc or portal or simulator or files',
    },
  ],
  [
    'datasets:\n  - name: a\n    from: genesis\n    sources: [{ kind: files, paths: [a.jsonl] }]\n',
    'config-key-useless',
    { key: 'datasets[0].from', line: 3, needs: 'a source that is followed' },
  ],
  [
    'datasets:\n  - name: a\n    keep: 7d\n    sources: [{ kind: files, paths: [a.jsonl] }]\n',
    'config-value-invalid',
    { key: 'datasets[0].keep', line: 3 },
  ],
  [
    'datasets:\n  - name: a\n    sources: [{ kind: files, paths: [] }]\n',
    'config-value-invalid',
    { key: 'datasets[0].sources[0].paths', line: 3 },
  ],
  [
    'datasets:\n  - name: a\n    sources:\n      - { kind: portal, url: "http://10.0.0.5:8080" }\n',
    'config-value-invalid',
    { key: 'datasets[0].sources[0].url', line: 4 },
  ],
  [rpc('ws: none'), 'config-key-missing', { key: 'datasets[0].sources[0].url', line: 4 }],
  [rpc('url: ftp://x'), 'config-value-invalid', { key: 'datasets[0].sources[0].url', line: 5 }],
  ['limits:\n  http:\n    headersMsMax: 20000\n', 'config-value-invalid', { line: 3 }],
  [
    'limits:\n  key:\n    bytesPerSecond: 1000\n',
    'config-key-useless',
    { key: 'limits.key.bytesPerSecond', line: 3, needs: 'listen.keys' },
  ],
  ['listen:\n  host: 0.0.0.0\n', 'auth-undecided', { key: 'listen.host', line: 2 }],
  ['dialects: [solana]\n', 'config-value-invalid', { key: 'dialects', line: 1 }],
  ['log:\n  level: ${LEVEL}\n', 'config-variable-unset', { variable: 'LEVEL', line: 2 }],
  ['log:\n  level: ${LEVEL\n', 'config-value-invalid', { key: 'log.level', line: 2 }],
  ['listen:\n  keys: *mine\n', 'config-value-invalid', { key: 'listen.keys', line: 2 }],
  ['listen: *mine\n', 'config-value-invalid', { key: 'listen', line: 1 }],
  ['listen:\n  keys:\n', 'config-value-invalid', { key: 'listen.keys', line: 2, found: 'nothing' }],
  ['listen:\n  port: ~\n', 'config-value-invalid', { key: 'listen.port', line: 2 }],
  ['log: {level}\n', 'config-value-invalid', { key: 'log.level', line: 1, found: 'nothing' }],
  ['datasets:\n', 'config-value-invalid', { key: 'datasets', line: 1, found: 'nothing' }],
  [rpc('url:'), 'config-value-invalid', { key: 'datasets[0].sources[0].url', line: 5 }],
  [rpc('url: http://x\nheaders: {a: }'), 'config-value-invalid', { line: 6, found: 'nothing' }],
  ['a: 1\na: 2\n', 'config-not-yaml', { line: 2, fault: 'duplicate key' }],
  ['a: "b\n', 'config-not-yaml', { fault: 'missing char' }],
  [`a: ${'x'.repeat(1 << 20)}`, 'cli-file-too-large', {}],
])('error: F-70 %j is refused as %s, by key and line', (text, code, detail) => {
  expect(faultsOf(text)).toMatchObject([{ code, ...detail }]);
});

test.each([
  'listen: { port: 0 }\nadmin: { port: 0 }\n',
  'listen: { port: 9 }\nadmin: { port: 9, host: 127.0.0.2 }\n',
  'listen: { host: 0.0.0.0, auth: none, port: 9 }\nadmin: { port: 9, host: "::1" }\n',
])('behavior: one port at two addresses, and any port twice, are allowed: %j', (text) => {
  expect(faultsOf(text)).toEqual([]);
});

const origins = (...texts: string[]) =>
  `listen:\n  corsOrigins:\n${texts.map((text) => `    - "${text}"\n`).join('')}`;

test.each([
  ['https://App.Example', 'https://app.example'],
  ['https://b.example:443', 'https://b.example'],
  ['http://b.example:80', 'http://b.example'],
  ['https://b.example/', 'https://b.example'],
  ['https://b.example/app?x', 'https://b.example'],
  ['https://me:hunter2@b.example', 'https://b.example'],
])(
  'error: config-value-invalid: the origin %s is refused with the form that browsers send',
  (text, form) => {
    const [fault, ...others] = faultsOf(origins('https://a.example', text));
    expect(others).toEqual([]);
    expect(fault).toMatchObject({ key: 'listen.corsOrigins[1]', line: 4 });
    expect(fault).toHaveProperty('expected', expect.stringMatching(new RegExp(`here ${form}$`)));
    expect(faultsOf(origins(form))).toEqual([]);
  },
);

test('error: config-value-invalid: an invalid origin of a page is refused without a suggestion', () => {
  const texts = ['https://*.example', '*', 'null', 'ftp://b.example', 'b.example'];
  const faults = faultsOf(origins(...texts, 'http://localhost:3000'));
  expect(faults).toHaveLength(texts.length);
  expect(JSON.stringify(faults)).not.toContain('here');
});

test('default: an empty section gives all defaults', () => {
  const { config, faults } = examine('listen:\nlimits:\n  http:\n');
  expect(faults).toEqual([]);
  expect(config).toEqual(examine('{}').config);
});

test('error: config-value-invalid: a missing anchor is reported with the other faults, without its name', () => {
  const faults = faultsOf('listen:\n  keys: *hunter2\n  port: x\n');
  expect(faults).toMatchObject([
    { code: 'config-value-invalid', key: 'listen.keys', line: 2 },
    { code: 'config-value-invalid', key: 'listen.port', line: 3 },
  ]);
  expect(JSON.stringify(faults)).not.toContain('hunter2');
});

test.each(['[1]', 'text', '1: 2'])(
  'error: config-value-invalid: a file that is %s is reported without a key',
  (text) => {
    const [fault] = faultsOf(text);
    expect(fault).toMatchObject({ code: 'config-value-invalid', line: 1 });
    expect(fault).not.toHaveProperty('key');
  },
);

test('error: auth-undecided is reported with the other faults, and names the keys that decide', () => {
  const faults = faultsOf('listen:\n  host: 0.0.0.0\ndialects: [solana]\n');
  expect(faults).toMatchObject([
    { code: 'auth-undecided', key: 'listen.host', line: 2 },
    { code: 'config-value-invalid', key: 'dialects', line: 3 },
  ]);
  expect(ERRORS['auth-undecided'].text).toMatch(/listen\.auth.*listen\.keys/);
});

test('error: config-variable-unset is reported for every variable, with the other faults', () => {
  const text = 'listen:\n  port: ${MY_PORT}\nlog:\n  level: ${LEVEL}\n  levl: x\n';
  expect(faultsOf(text)).toMatchObject([
    { code: 'config-variable-unset', variable: 'MY_PORT', line: 2 },
    { code: 'config-variable-unset', variable: 'LEVEL', line: 4 },
    { code: 'config-key-unknown', key: 'log.levl', line: 5 },
  ]);
  expect(faultsOf('listen:\n  keys: ${KEYS}\n', { KEYS: '' })).toMatchObject([
    { code: 'config-variable-unset', variable: 'KEYS', key: 'listen.keys', line: 2 },
  ]);
});

test('limit: repeated aliases are counted', () => {
  const rows = ['a: &a [1,1,1,1,1,1,1,1,1,1]'];
  for (const [i, name] of ['b', 'c', 'd', 'e', 'f'].entries()) {
    const below = 'abcde'[i];
    rows.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${below}`).join(',')}]`);
  }
  expect(faultsOf(rows.join('\n'))).toMatchObject([{ code: 'config-value-invalid' }]);
});

test('behavior: variables become text and numbers, and cannot change the structure', () => {
  const text = 'listen:\n  auth: none\n  host: "${H}"\n  port: ${P}\ndata: a$${b}\n';
  const { config, faults } = examine(text, { H: '::1 # x\n  port: 1', P: '99' });
  expect(faults).toEqual([]);
  expect(config.listen).toMatchObject({ host: '::1 # x\n  port: 1', port: 99 });
  expect(config.data).toBe(join(folder, 'a${b}'));
});

test('behavior: overrides take precedence over the file', () => {
  const text = 'listen:\n  host: 10.0.0.1\n  port: 1\n  keys: k\n';
  const { config } = examine(text, {}, { listen: { port: 2, host: undefined, keys: null } });
  expect(config.listen).toEqual({ host: '10.0.0.1', port: 2, corsOrigins: [] });
});

const secrets = ['hunter2', 'pathkey', 'querykey', 'headerkey', 'fromenv'];
const secretText = rpc(
  [
    'url: https://me:hunter2@node.example/pathkey/?api=querykey',
    'ws: wss://node.example/${KEY}',
    'headers: {x-a: headerkey, x-b: "${KEY}", authorization: "Bearer ${KEY}"}',
  ].join('\n'),
);

test('behavior: the printed configuration has every key and no secret', () => {
  writeFileSync(file, secretText);
  const text = printConfig(loadConfig({ file, overrides: {} }, { KEY: 'fromenv' }));
  for (const secret of secrets) expect(text).not.toContain(secret);
  expect(text).toContain('url: https://***@node.example/***');
  expect(text).toContain('ws: wss://node.example/***');
  expect(text).toContain('x-b: ${KEY}');
  expect(text).toContain('authorization: Bearer ${KEY}');
  expect(text).toContain('requestsPerSecond: 50');
  expect(faultsOf(text, { KEY: 'x' })).toEqual([]);
});

test('behavior: the printed configuration shows values derived from other keys', () => {
  writeFileSync(
    file,
    'listen:\n  port: 9000\ndialects: [ledger, solana]\ndatasets:\n  - name: mine\n',
  );
  const text = printConfig(loadConfig({ file, overrides: {} }, {}));
  expect(text).toContain('port: 9001');
  expect(text).toContain(`folder: ${join(folder, 'data', 'mine')}`);
  expect(text.match(/- solana/g)).toHaveLength(2);
});

test('error: an error shows no secret, wherever the secret is', () => {
  const wrong = [
    secretText.replace('https:', 'htps:'),
    secretText.replace('wss:', 'ws s:'),
    secretText.replace('headers: {', 'headers: {"a b": headerkey, '),
    secretText.replace('  - name: mine', '  - name: https://x:hunter2@y'),
    secretText.replace('url:', 'urll:'),
    `${secretText}\n  hunter2 [ pathkey`,
    secretText.replace('kind: rpc', 'kind: https://hunter2'),
    secretText.replace('kind: rpc', 'kind: "${KEY}"'),
    secretText.replace(/headers: .*/, 'headers: headerkey'),
    'limits: "${KEY}"\n',
    'datasets: "${KEY}"\n',
  ];
  for (const text of wrong) {
    const faults = JSON.stringify(faultsOf(text, { KEY: 'fromenv' }));
    expect(faults).toContain('config-');
    for (const secret of secrets) expect(faults).not.toContain(secret);
  }
});
