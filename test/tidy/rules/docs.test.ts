import { expect, test } from 'vitest';
import {
  findBrokenLinks,
  findBrokenReferences,
  findCommandFaults,
  findErrorFaults,
} from './docs.ts';

const errors = { 'cli-usage': { text: 'wrong' }, 'waiters-full': { text: 'busy', status: 503 } };

function judgeErrors(...rows: string[]): string[] {
  const page = { path: 'docs/errors.md', text: `# Errors\n\n${rows.join('\n')}\n` };
  return findErrorFaults(page, errors).map(({ message }) => message);
}

test('default: a page with a row and status for each code is complete', () => {
  expect(judgeErrors('| `cli-usage` | – | why |', '| `waiters-full` | 503 | why |')).toEqual([]);
});

test('error: a code without a row, a wrong status and a row without a code are found', () => {
  expect(judgeErrors('| `cli-usage` | – | why |')).toEqual([
    'lacks waiters-full: add the row | `waiters-full` | 503 | busy |',
  ]);
  expect(judgeErrors('| `cli-usage` | – | a |', '| `waiters-full` | 500 | a |')).toEqual([
    'waiters-full has the status 503 in the catalogue',
  ]);
  const all = ['| `cli-usage` | – | a |', '| `waiters-full` | 503 | a |', '| `gone` | – | a |'];
  expect(judgeErrors(...all)).toEqual(['gone is not in the catalogue: remove its row']);
});

function judgeCommands(text: string): string[] {
  const commands = [{ name: 'simulate', options: ['--seed'] }];
  return findCommandFaults({ path: 'docs/cli.md', text }, commands).map(({ message }) => message);
}

test('error: a command or option that is not documented, or does not exist, is found', () => {
  expect(judgeCommands('# x\n\n## sluice simulate\n\n`--seed N`\n')).toEqual([]);
  expect(judgeCommands('# x\n')).toHaveLength(1);
  expect(judgeCommands('## sluice simulate\n\n`--seeds N`\n')).toEqual([
    'sluice simulate lacks its option --seed',
  ]);
  expect(judgeCommands('## sluice simulate\n--seed\n## sluice fly\n')).toEqual([
    'there is no command sluice fly',
  ]);
});

test('error: a link or path to a missing file is found', () => {
  const target = { path: 'docs/cli.md', text: '' };
  const judge = (text: string) => findBrokenLinks([{ path: 'docs/a.md', text }, target]);
  expect(judge('[a](cli.md#x) [b](https://example.org) [c](#here) `docs/cli.md` `docs`')).toEqual(
    [],
  );
  expect(judge('[a](../cli.md)')).toEqual([
    { path: 'docs/a.md', message: 'refers to cli.md, which does not exist' },
  ]);
  expect(judge('see `packages/server/src/gone.ts`')).toHaveLength(1);
});

test('error: a source that refers to a missing page is found', () => {
  const page = { path: 'docs/errors.md', text: '' };
  const source = { path: 'packages/server/src/base/a.ts', text: '// docs/errors.md, docs/gone.md' };
  expect(findBrokenReferences([page, source])).toEqual([
    { path: source.path, message: 'refers to docs/gone.md, which does not exist' },
  ]);
});
