import { expect, test } from 'vitest';
import { writeSync } from './write-programs.ts';

test('behavior: the command for a database has a table for each kind, with filters and without relations', () => {
  const query = {
    fromBlock: 5,
    fields: {},
    instructions: [{ programId: ['p'], name: ['swap'], innerInstructions: true }],
    tokenBalances: [{}],
  };
  const text = writeSync(query, { url: 'http://a/datasets/b', hasKey: false });
  const [, file = '', command] = /<<'END'\n(.*)\nEND\n(.*)\n$/s.exec(text) ?? [];
  expect(JSON.parse(file)).toEqual({
    tables: {
      instructions: { fromBlock: 5, instructions: [{ programId: ['p'], name: ['swap'] }] },
      token_balances: { fromBlock: 5, tokenBalances: [{}] },
    },
  });
  expect(command).toBe(
    'npx sluice sync http://a/datasets/b --to postgres://127.0.0.1/mine --tables tables.yaml',
  );
});
