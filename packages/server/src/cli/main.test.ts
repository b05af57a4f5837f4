import { spawn } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { CodedError } from '@sluice/base/errors';
import { workerUrl } from '@sluice/base/worker-url';
import { Command } from 'commander';
import { afterEach, expect, test, vi } from 'vitest';
import { loadCommands } from './commands.ts';
import { buildProgram, main } from './main.ts';
import { portalKey } from './source-options.ts';

afterEach(() => vi.unstubAllEnvs());

interface RunResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(args: string[], commands?: Parameters<typeof main>[2]): Promise<RunResult> {
  const out = new PassThrough();
  const err = new PassThrough();
  const code = await main(args, { out, err }, commands);
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

/** Runs the program with commands that exist only in this test. */
function runSample(...args: string[]): Promise<RunResult> {
  const list = () => new Command('list').option('--long', 'more of it').action(() => {});
  return run(args, [
    () => new Command('sample').addCommand(list()),
    () =>
      new Command('read').argument('<file>').action((path: string) => {
        throw new CodedError('cli-file-unreadable', { path });
      }),
    () =>
      new Command('crash').action(() => {
        throw new TypeError('x is not a function');
      }),
  ]);
}

test('default: --version prints only the version', async () => {
  const { code, out } = await run(['--version']);
  expect(code).toBe(0);
  expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('behavior: --help lists the exit codes', async () => {
  const { code, out } = await run(['--help']);
  expect(code).toBe(0);
  expect(out).toContain('Exit codes:');
});

test('error: an unknown option is refused with the nearest name', async () => {
  const { code, err } = await run(['--versio']);
  expect(code).toBe(2);
  expect(err).toContain('Did you mean --version?');
});

test.each([
  ['import', 'blocks.jsonl'],
  ['serve', '--rpc', 'http://127.0.0.1:1'],
  ['backfill', '--to', '1', '--rpc', 'http://127.0.0.1:1'],
])('error: %s with an invalid dataset name is a usage error', async (...args) => {
  for (const name of ['A B', '../mine']) {
    const { code, err } = await run([...args, '--dataset', name]);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('1 to 64 characters of a-z, 0-9 and -'),
    ]);
  }
});

test.each(['serve', 'demo'])(
  'error: %s with the same port for both listeners is a usage error',
  async (name) => {
    const { code, err } = await run([name, '--port', '9000', '--admin-port', '9000']);
    expect(code).toBe(2);
    expect(err).toContain('--admin-port must differ from --port');
  },
);

test('behavior: every command has a help with an example', async () => {
  const context = { out: new PassThrough(), err: new PassThrough() };
  const program = buildProgram(context, await loadCommands());
  for (const command of program.commands) {
    const alone = await loadCommands(command.name());
    expect(alone.map((build) => build(context).name())).toEqual([command.name()]);
    const { code, out } = await run([command.name(), '--help']);
    expect(code).toBe(0);
    expect(out, command.name()).toMatch(/Examples?:/);
  }
});

test('error: an unknown command is refused with the nearest name', async () => {
  const { code, out, err } = await runSample('sampel');
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toBe(
    "error: unknown command 'sampel'\n(Did you mean sample?)\n(see sluice --help)\n",
  );
});

test.each([[['help', 'sampel']], [['sampel', '--help']]])(
  'error: %s, the help of an unknown command, suggests the nearest name',
  async (args) => {
    const { code, out, err } = await runSample(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('(Did you mean sample?)');
  },
);

test('behavior: the help command and the help option print the same text', async () => {
  const { code, out } = await runSample('help', 'sample', 'list');
  expect(code).toBe(0);
  expect(out).toContain('--long');
  expect(out).toBe((await runSample('sample', 'list', '--help')).out);
  expect((await runSample('help')).out).toBe((await runSample('--help')).out);
});

test('error: an unknown option of a subcommand refers to the help of the subcommand', async () => {
  const { code, err } = await runSample('sample', 'list', '--log');
  expect(code).toBe(2);
  expect(err).toContain('(Did you mean --long?)');
  expect(err).toContain('(see sluice sample list --help)');
});

test('behavior: an empty environment variable counts as unset', async () => {
  const names = ['HOST', 'PORT', 'SLUICE_AUTH', 'SLUICE_KEYS', 'SLUICE_PORTAL_KEY'];
  const file = '/dev/null';
  for (const name of names) vi.stubEnv(name, undefined);
  const unset = await run(['config', 'print', file]);
  for (const name of names) vi.stubEnv(name, '');
  expect(await run(['config', 'print', file])).toEqual(unset);
  expect(unset).toMatchObject({ code: 0, err: '' });
  expect((await run(['keys', 'create'])).err).toContain("required option '--keys <file>'");
  expect(portalKey()).toBeUndefined();
});

test('error: too many or too few arguments are refused', async () => {
  expect((await runSample('sample', 'list', 'more')).code).toBe(2);
  expect((await runSample('read')).code).toBe(2);
});

test('error: a call without a command prints the help to stderr', async () => {
  const { code, out, err } = await runSample();
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('Usage: sluice');
});

test('error: a coded error is one line with its code, and the exit code is 1', async () => {
  const { code, out, err } = await runSample('read', 'a.jsonl');
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toBe('sluice: the file cannot be read (path a.jsonl) [cli-file-unreadable]\n');
});

test('error: a bug is printed with its stack, and the exit code is 70', async () => {
  const { code, err } = await runSample('crash');
  expect(code).toBe(70);
  expect(err).toMatch(
    /^sluice: internal error, please report it:\nTypeError: x is not a function\n\s+at /,
  );
});

test('behavior: a failed assertion ends the process with its text, even if its error is caught', async () => {
  const urlOf = (path: string) => JSON.stringify(workerUrl(import.meta.url, path).href);
  const script = `import { Command } from 'commander';
    const { assert } = await import('@sluice/base/assert');
    const { endOnFailedAssertion, main } = await import(${urlOf('./main.ts')});
    endOnFailedAssertion((exitCode) => process.exit(exitCode));
    const work = async () => {
      try { assert(false, 'a block has one parent'); } catch {}
      process.stdout.write('continued');
    };
    await main(['work'], undefined, [() => new Command('work').action(work)]);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: import.meta.dirname,
  });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (chunk) => (texts.out += chunk));
  child.stderr.on('data', (chunk) => (texts.err += chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect([code, texts.out]).toEqual([70, '']);
  expect(texts.err).toContain(
    'internal error, please report it:\nAssertionError: a block has one parent',
  );
});
