/** The packages as a stranger gets them: packed, installed in an empty project, run against a real service. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { afterAll, expect, test } from 'vitest';
import { repositoryRoot } from '../repository-files.ts';
import { ServiceProcess } from '../service/service-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-packed-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the files of a package as npm packs them, by name. */
function pack(path: string): string {
  const target = join(folder, 'tarballs');
  mkdirSync(target, { recursive: true });
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', target];
  const out = execFileSync('npm', args, {
    cwd: path,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [packed] = JSON.parse(out) as { filename: string }[];
  return join(target, packed?.filename ?? '');
}

const script = `
import { createClient, isSluiceError, SluiceError } from '@sluice/client';
import { fileCursor } from '@sluice/client/file-cursor';

const client = createClient({ url: process.argv[2] ?? '' });
const { start_block } = await client.metadata();
let fees = 0n;
let count = 0;
const query = {
  fromBlock: start_block,
  toBlock: start_block + 20,
  fields: { transaction: { fee: true } },
  transactions: [{}],
} as const;
for await (const batch of client.stream(query, { cursor: fileCursor('cursor.json') })) {
  if (batch.kind === 'rollback') continue;
  for (const { transactions } of batch.blocks) {
    for (const { fee } of transactions) {
      fees += fee ?? 0n;
      count++;
    }
  }
}
const error = new SluiceError('stalled');
console.log(JSON.stringify({ fees: String(fees), count, isCoded: isSluiceError(error, 'stalled') }));
`;

test('behavior: the packed packages work in an empty project: types, program, cursor', async () => {
  const project = join(folder, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"type":"module","private":true}');
  // What the protocol depends on comes from this repository's packages, so that nothing is downloaded.
  const tarballs = ['node_modules/typebox', 'packages/protocol', 'packages/client'].map((path) =>
    pack(join(repositoryRoot, path)),
  );
  const options = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', ...options, ...tarballs], { cwd: project, stdio: 'ignore' });

  const installed = join(project, 'node_modules', '@sluice', 'client');
  const files = readdirSync(join(installed, 'dist'));
  expect(files).toContain('client.js');
  expect(files.filter((name) => /test|testing|tsbuildinfo/.test(name))).toEqual([]);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies: object;
    sideEffects: boolean;
  };
  expect(Object.keys(manifest.dependencies)).toEqual(['@sluice/protocol']);
  expect(manifest.sideEffects).toBe(false);

  const source = join(project, 'consumer.ts');
  writeFileSync(source, script);
  const program = ts.createProgram([source], {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    lib: ['lib.es2024.d.ts', 'lib.dom.d.ts', 'lib.dom.asynciterable.d.ts'],
    types: [],
    strict: true,
    skipLibCheck: false,
    outDir: project,
    typeRoots: [join(repositoryRoot, 'node_modules/@types')],
  });
  const problems = ts.getPreEmitDiagnostics(program).map(({ messageText }) => messageText);
  // The project has no types of Node, which this script uses in one place.
  expect(problems.filter((text) => !/Cannot find name 'process'/.test(String(text)))).toEqual([]);
  program.emit();

  const service = await ServiceProcess.startDemo(join(folder, 'data'));
  try {
    const run = () =>
      JSON.parse(
        execFileSync(process.execPath, ['consumer.js', `${service.url}/datasets/ledger-beta`], {
          cwd: project,
          encoding: 'utf8',
        }),
      ) as { fees: string; count: number; isCoded: boolean };
    const { fees, count, isCoded } = run();
    expect(count).toBeGreaterThan(20);
    expect(BigInt(fees)).toBeGreaterThan(0n);
    expect(isCoded).toBe(true);
    // The range is stored, as the cursor says.
    expect(run()).toMatchObject({ count: 0 });
  } finally {
    await service.end('SIGKILL');
  }
}, 180_000);
