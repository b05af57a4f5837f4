import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const command = fileURLToPath(new URL('../abuse/abuse.mjs', import.meta.url));

test('limit: what malicious clients send is rejected within bounded memory and time, and others are served (F-58, F-59, F-61, F-63, F-64, F-67)', async () => {
  // A failed trial is in the output, which the error of a failed command does not show.
  const { stdout } = await promisify(execFile)(process.execPath, [command, '--short']).catch(
    (error: { readonly stdout: string }) => error,
  );
  expect(stdout).not.toContain('FAILED');
  expect(stdout).not.toContain('the service ended with');
  expect(stdout.match(/^\| /gm)?.length).toBeGreaterThan(10);
}, 600_000);
