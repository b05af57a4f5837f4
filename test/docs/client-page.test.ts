import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLIENT_ERRORS } from '../../packages/client/src/base/sluice-error.ts';
import { repositoryRoot } from '../repository-files.ts';

test('behavior: docs/client.md lists every error of the client with the texts of the catalogue', () => {
  const page = readFileSync(join(repositoryRoot, 'docs/client.md'), 'utf8');
  const rows = Object.entries(CLIENT_ERRORS).map(
    ([code, { text, remedy, retryable }]) =>
      `| \`${code}\` | ${retryable ? 'yes' : 'no'} | ${text} | ${remedy} |\n`,
  );
  const head = '| Code | Can a retry help | What happened | What to do |\n|---|---|---|---|\n';
  const [, listed] = /<!-- errors:start -->\n([\s\S]*)<!-- errors:end -->/.exec(page) ?? [];
  expect(listed).toBe(`${head}${rows.join('')}`);
});
