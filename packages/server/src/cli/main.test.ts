import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { buildProgram, main } from './main.ts';

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out = new PassThrough();
  const err = new PassThrough();
  const code = await main(args, { out, err });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

test('default: --version prints the version alone', async () => {
  const { code, out } = await run('--version');
  expect(code).toBe(0);
  expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('behavior: --help lists the exit codes', async () => {
  const { code, out } = await run('--help');
  expect(code).toBe(0);
  expect(out).toContain('Exit codes:');
});

test('error: an unknown option is refused with the nearest name', async () => {
  const { code, err } = await run('--versio');
  expect(code).toBe(2);
  expect(err).toContain('Did you mean --version?');
});

test('behavior: every command has a help with an example', async () => {
  const program = buildProgram({ out: new PassThrough(), err: new PassThrough() });
  for (const command of program.commands) {
    const { code, out } = await run(command.name(), '--help');
    expect(code).toBe(0);
    expect(out, command.name()).toMatch(/Examples?:/);
  }
});
