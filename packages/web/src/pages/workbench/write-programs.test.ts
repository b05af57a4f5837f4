import { expect, test } from 'vitest';
import { writeSync } from './write-programs.ts';

test('behavior: the command for a database has a table for each kind, with filters and without relations', () => {
  const query = {
    fromBlock: 5,
    fields: {},
    instructions: [{ programId: ['p'], name: ['swap'], innerInstructions: true }],
    tokenBalances: [{}],
  };
  const text = writeSync(query, { url: 'http://a/datasets/b', hasKey: false }, 'PostgreSQL');
  const [, file = '', command] = /<<'END'\n(.*)\nEND\n(.*)\n$/s.exec(text ?? '') ?? [];
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

test('behavior: the command ends where the query ends, and a query without records has no command', () => {
  const target = { url: 'http://a/datasets/b', hasKey: true };
  expect(writeSync({ fromBlock: 5, toBlock: 9, logs: [{}] }, target, 'Parquet')).toMatch(
    /^SLUICE_KEY=\$SLUICE_KEY npx sluice sync http:\/\/a\/datasets\/b --to parquet:\.\/tables --tables tables\.yaml --to-block 9$/m,
  );
  expect(writeSync({ fromBlock: 5, fields: {} }, target, 'PostgreSQL')).toBeUndefined();
});
