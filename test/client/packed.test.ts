/** The packages as a user gets them: packed, installed in an empty project, run with a real service. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../repository-files.ts';
import { ServiceProcess } from '../service/service-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-packed-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Packs a package with npm. Returns the path of the archive. */
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

test('default: the links of the packed README lead to pages that every service serves', () => {
  const archive = pack(join(repositoryRoot, 'packages', 'client'));
  const text = execFileSync('tar', ['-xzOf', archive, 'package/README.md'], { encoding: 'utf8' });
  const links = [...text.matchAll(/\]\(([^)]*)\)/g)].map(([, link = '']) => link);
  expect(links.length).toBeGreaterThan(2);
  for (const link of links) {
    const [, page] = /^http:\/\/127\.0\.0\.1:8080\/docs\/([a-z-]+)$/.exec(link) ?? [];
    const files = [`docs/${page}.md`, `docs/${page}/README.md`];
    expect([link, files.some((file) => existsSync(join(repositoryRoot, file)))]).toEqual([
      link,
      true,
    ]);
  }
});

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

const project = join(folder, 'project');

function install(): void {
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"type":"module","private":true}');
  // The dependency of the protocol package is packed from this repository too, so nothing is downloaded.
  const tarballs = ['node_modules/typebox', 'packages/protocol', 'packages/client'].map((path) =>
    pack(join(repositoryRoot, path)),
  );
  const options = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', ...options, ...tarballs], { cwd: project, stdio: 'ignore' });
}

/** Compiles the script with the installed types and returns the errors of the compiler. */
function compile(): string[] {
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
  program.emit();
  const problems = ts.getPreEmitDiagnostics(program).map(({ messageText }) => String(messageText));
  // The project has no types of Node, which this script uses in one place.
  return problems.filter((text) => !text.includes("Cannot find name 'process'"));
}

let service: ServiceProcess;
let problems: string[];
beforeAll(async () => {
  install();
  problems = compile();
  service = await ServiceProcess.startDemo(join(folder, 'data'));
});
afterAll(async () => {
  await service.end('SIGKILL');
});

test('behavior: the packed client has types, no tests, and one dependency', () => {
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
  expect(problems).toEqual([]);
});

const runtimes = [
  { name: 'Node', program: process.execPath, args: [] },
  { name: 'Deno', program: findProgram('deno'), args: ['run', '--allow-all'] },
  { name: 'Bun', program: findProgram('bun'), args: [] },
];

/** Returns the path of a program of the PATH. */
function findProgram(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((place) => join(place, name)).find((path) => existsSync(path));
}

describe.each(runtimes)('$name', ({ name, program, args }) => {
  const title = program === undefined ? `skipped, because ${name} is not installed: ` : '';
  test.skipIf(program === undefined)(
    `behavior: ${title}a program reads blocks and resumes from its cursor in an empty project`,
    () => {
      rmSync(join(project, 'cursor.json'), { force: true });
      const url = `${service.url}/datasets/ledger-beta`;
      const run = () => {
        const options = { cwd: project, encoding: 'utf8' } as const;
        const out = execFileSync(program as string, [...args, 'consumer.js', url], options);
        return JSON.parse(out) as { fees: string; count: number; isCoded: boolean };
      };
      const { fees, count, isCoded } = run();
      expect(count).toBeGreaterThan(20);
      expect(BigInt(fees)).toBeGreaterThan(0n);
      expect(isCoded).toBe(true);
      // According to the cursor, the whole range is stored.
      expect(run()).toMatchObject({ count: 0 });
    },
  );
});
