import { expect, test } from 'vitest';
import { errorOf, HttpFixture } from '../testing/http-fixture.ts';

test('error: program-unknown without an IDL, and parameter-invalid for what is not an address', async () => {
  const fixture = await HttpFixture.start({});
  try {
    const codeOf = async (programId: string) => {
      const answer = await fixture.get(`/datasets/ledger-test/programs/${programId}`);
      return [answer.status, errorOf(answer).code];
    };
    expect(await codeOf('So11111111111111111111111111111111111111112')).toEqual([
      404,
      'program-unknown',
    ]);
    expect(await codeOf('amm')).toEqual([400, 'parameter-invalid']);
  } finally {
    await fixture.close();
  }
});
