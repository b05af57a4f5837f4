import { type CodedError, type ErrorCode, isCodedError } from '@sluice/base/errors';
import type { Dialect } from '@sluice/protocol/dialect';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { buildQuerySchema } from '@sluice/protocol/query-schema';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { parseQueryBody } from './parse-query.ts';

const A = 'So11111111111111111111111111111111111111112';

function parse(body: Uint8Array | string, dialects: readonly Dialect[] = ['ledger']) {
  return parseQueryBody(body, { limits: QUERY_LIMITS, dialects });
}

function refusal(body: Uint8Array | string, dialects?: readonly Dialect[]): CodedError {
  try {
    parse(body, dialects);
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
  return expect.unreachable('the query was accepted');
}

type Row = readonly [
  about: string,
  body: string,
  code: ErrorCode,
  path: string,
  more?: { readonly found?: string } & Readonly<
    Partial<Record<'nearest' | 'allowed' | 'fault' | 'remedy', string>>
  >,
];

const refusals: readonly Row[] = [
  ['an empty body', '', 'query-not-json', '$'],
  ['a cut body', '{"fromBlock":1', 'query-not-json', '$'],
  ['a byte order mark', '\ufeff{"fromBlock":1}', 'query-not-json', '$'],
  ['an array', '[]', 'query-value-invalid', '$', { found: 'an array of 0', allowed: 'an object' }],
  ['null', 'null', 'query-value-invalid', '$', { found: 'null' }],
  ['a string', '"x"', 'query-value-invalid', '$', { found: '"x"' }],
  ['no fromBlock', '{}', 'query-key-missing', 'fromBlock', { found: 'nothing' }],
  [
    'fromBlock null',
    '{"fromBlock":null}',
    'query-block-number-invalid',
    'fromBlock',
    { found: 'null' },
  ],
  [
    'fromBlock as text',
    '{"fromBlock":"1"}',
    'query-block-number-invalid',
    'fromBlock',
    { found: '"1"' },
  ],
  [
    'fromBlock negative',
    '{"fromBlock":-1}',
    'query-block-number-invalid',
    'fromBlock',
    { found: '-1' },
  ],
  ['a fractional fromBlock', '{"fromBlock":1.5}', 'query-block-number-invalid', 'fromBlock'],
  ['fromBlock rounded to 0', '{"fromBlock":1e-400}', 'query-block-number-invalid', 'fromBlock'],
  [
    'a fromBlock that rounds to 1',
    '{"fromBlock":1.00000000000000000001}',
    'query-block-number-invalid',
    'fromBlock',
  ],
  ['an infinite fromBlock', '{"fromBlock":1e999}', 'query-block-number-invalid', 'fromBlock'],
  [
    'fromBlock with a huge exponent',
    '{"fromBlock":1e99999999999999999999}',
    'query-block-number-invalid',
    'fromBlock',
  ],
  ['fromBlock as array', '{"fromBlock":[1]}', 'query-block-number-invalid', 'fromBlock'],
  ['toBlock as text', '{"fromBlock":1,"toBlock":"2"}', 'query-block-number-invalid', 'toBlock'],
  ['toBlock negative', '{"fromBlock":1,"toBlock":-2}', 'query-block-number-invalid', 'toBlock'],
  [
    'a toBlock below fromBlock',
    '{"fromBlock":5,"toBlock":4}',
    'range-reversed',
    'toBlock',
    { found: '4', allowed: '5 or more' },
  ],
  [
    'a toBlock one below a fromBlock above 2^53',
    '{"fromBlock":9007199254740993,"toBlock":9007199254740992}',
    'range-reversed',
    'toBlock',
  ],
  [
    'an unknown key',
    '{"fromBlock":1,"toBlok":2}',
    'query-key-unknown',
    'toBlok',
    { nearest: 'toBlock' },
  ],
  [
    'a key with different capitals',
    '{"fromBlock":1,"fromblock":2}',
    'query-key-unknown',
    'fromblock',
    { nearest: 'fromBlock' },
  ],
  ['__proto__', '{"fromBlock":1,"__proto__":{}}', 'query-key-unknown', '__proto__'],
  ['constructor', '{"fromBlock":1,"constructor":{}}', 'query-key-unknown', 'constructor'],
  [
    '__proto__ in an item',
    '{"fromBlock":1,"logs":[{"__proto__":[]}]}',
    'query-key-unknown',
    'logs[0].__proto__',
  ],
  [
    'toString as a field',
    '{"fromBlock":1,"fields":{"log":{"toString":true}}}',
    'query-key-unknown',
    'fields.log.toString',
  ],
  [
    'hasOwnProperty as a kind',
    '{"fromBlock":1,"fields":{"hasOwnProperty":{}}}',
    'query-key-unknown',
    'fields.hasOwnProperty',
  ],
  [
    'constructor as an account',
    `{"fromBlock":1,"balances":[{"account":"constructor"}]}`,
    'query-address-invalid',
    'balances[0].account',
    { fault: 'it decodes to 8 bytes' },
  ],
  [
    'an address with a character outside base58, by its position',
    `{"fromBlock":1,"balances":[{"account":"${A.slice(0, 5)}0${A.slice(6)}"}]}`,
    'query-address-invalid',
    'balances[0].account',
    { fault: 'character "0" at position 6 is not base58' },
  ],
  ['a key with a space', '{"fromBlock":1,"a b":1}', 'query-key-unknown', '$["a b"]'],
  ['a key twice', '{"fromBlock":1,"fromBlock":1}', 'query-key-duplicate', 'fromBlock'],
  [
    'a key twice, once escaped',
    '{"fromBlock":1,"from\\u0042lock":1}',
    'query-key-duplicate',
    'fromBlock',
  ],
  [
    'a filter twice',
    `{"fromBlock":1,"logs":[{},{"kind":"log","kind":"data"}]}`,
    'query-key-duplicate',
    'logs[1].kind',
  ],
  [
    'type null',
    '{"fromBlock":1,"type":null}',
    'query-type-not-allowed',
    'type',
    { found: 'null', allowed: 'ledger' },
  ],
  [
    'an unknown type',
    '{"fromBlock":1,"type":"evm"}',
    'query-type-not-allowed',
    'type',
    { found: '"evm"' },
  ],
  [
    'a type that the dataset does not support',
    '{"fromBlock":1,"type":"solana"}',
    'query-type-not-allowed',
    'type',
    { remedy: expect.stringContaining('--dialect solana') },
  ],
  [
    'parentBlockHash as number',
    '{"fromBlock":1,"parentBlockHash":1}',
    'query-value-invalid',
    'parentBlockHash',
  ],
  [
    'includeAllBlocks null',
    '{"fromBlock":1,"includeAllBlocks":null}',
    'query-value-invalid',
    'includeAllBlocks',
  ],
  [
    'includeAllBlocks as number',
    '{"fromBlock":1,"includeAllBlocks":1}',
    'query-value-invalid',
    'includeAllBlocks',
    { allowed: 'true or false' },
  ],
  ['fields null', '{"fromBlock":1,"fields":null}', 'query-value-invalid', 'fields'],
  ['fields as list', '{"fromBlock":1,"fields":["hash"]}', 'query-value-invalid', 'fields'],
  [
    'a kind as true',
    '{"fromBlock":1,"fields":{"block":true}}',
    'query-value-invalid',
    'fields.block',
  ],
  ['a kind null', '{"fromBlock":1,"fields":{"block":null}}', 'query-value-invalid', 'fields.block'],
  [
    'a kind in the plural',
    '{"fromBlock":1,"fields":{"logs":{}}}',
    'query-key-unknown',
    'fields.logs',
    { nearest: 'log' },
  ],
  [
    'a field as number',
    '{"fromBlock":1,"fields":{"block":{"hash":1}}}',
    'query-value-invalid',
    'fields.block.hash',
  ],
  [
    'a field null',
    '{"fromBlock":1,"fields":{"block":{"hash":null}}}',
    'query-value-invalid',
    'fields.block.hash',
  ],
  [
    'a field of another kind',
    '{"fromBlock":1,"fields":{"log":{"data":true}}}',
    'query-key-unknown',
    'fields.log.data',
  ],
  [
    'a field d3',
    '{"fromBlock":1,"fields":{"instruction":{"d3":true}}}',
    'query-key-unknown',
    'fields.instruction.d3',
  ],
  [
    'items null',
    '{"fromBlock":1,"logs":null}',
    'query-value-invalid',
    'logs',
    { allowed: 'an array' },
  ],
  ['items as object', '{"fromBlock":1,"logs":{}}', 'query-value-invalid', 'logs'],
  ['an item null', '{"fromBlock":1,"logs":[{},null]}', 'query-value-invalid', 'logs[1]'],
  ['an item as text', `{"fromBlock":1,"logs":["${A}"]}`, 'query-value-invalid', 'logs[0]'],
  [
    'a filter of another kind',
    `{"fromBlock":1,"logs":[{"account":"${A}"}]}`,
    'query-key-unknown',
    'logs[0].account',
  ],
  [
    'a misspelt filter',
    `{"fromBlock":1,"instructions":[{"programid":"${A}"}]}`,
    'query-key-unknown',
    'instructions[0].programid',
    { nearest: 'programId' },
  ],
  [
    'a relation of another kind',
    '{"fromBlock":1,"transactions":[{"transaction":true}]}',
    'query-key-unknown',
    'transactions[0].transaction',
  ],
  ['d0', '{"fromBlock":1,"instructions":[{"d0":"0x"}]}', 'query-key-unknown', 'instructions[0].d0'],
  ['d9', '{"fromBlock":1,"instructions":[{"d9":"0x"}]}', 'query-key-unknown', 'instructions[0].d9'],
  [
    'a16',
    `{"fromBlock":1,"instructions":[{"a16":"${A}"}]}`,
    'query-key-unknown',
    'instructions[0].a16',
  ],
  [
    'pubKey as filter',
    `{"fromBlock":1,"rewards":[{"pubKey":"${A}"}]}`,
    'query-key-unknown',
    'rewards[0].pubKey',
    { nearest: 'pubkey' },
  ],
  [
    'a relation null',
    '{"fromBlock":1,"instructions":[{"logs":null}]}',
    'query-value-invalid',
    'instructions[0].logs',
  ],
  [
    'a relation as text',
    '{"fromBlock":1,"instructions":[{"logs":"true"}]}',
    'query-value-invalid',
    'instructions[0].logs',
  ],
  [
    'a filter as number',
    '{"fromBlock":1,"instructions":[{"programId":1}]}',
    'query-value-invalid',
    'instructions[0].programId',
  ],
  [
    'a filter as object',
    '{"fromBlock":1,"instructions":[{"d1":{}}]}',
    'query-value-invalid',
    'instructions[0].d1',
  ],
  [
    'a list within a list',
    `{"fromBlock":1,"instructions":[{"programId":[["${A}"]]}]}`,
    'query-value-invalid',
    'instructions[0].programId[0]',
  ],
  [
    'null within a list',
    `{"fromBlock":1,"instructions":[{"programId":["${A}",null]}]}`,
    'query-value-invalid',
    'instructions[0].programId[1]',
  ],
  [
    'an address of 31 bytes',
    `{"fromBlock":1,"balances":[{"account":["${'1'.repeat(31)}"]}]}`,
    'query-address-invalid',
    'balances[0].account[0]',
  ],
  [
    'an address of 33 bytes',
    `{"fromBlock":1,"balances":[{"account":["${'1'.repeat(33)}"]}]}`,
    'query-address-invalid',
    'balances[0].account[0]',
  ],
  [
    'an address above 2^256',
    `{"fromBlock":1,"balances":[{"account":["${'z'.repeat(44)}"]}]}`,
    'query-address-invalid',
    'balances[0].account[0]',
  ],
  [
    'an address with a letter outside base58',
    `{"fromBlock":1,"balances":[{"account":["0${A.slice(1)}"]}]}`,
    'query-address-invalid',
    'balances[0].account[0]',
  ],
  [
    'an address with a space',
    `{"fromBlock":1,"balances":[{"account":["${A} "]}]}`,
    'query-address-invalid',
    'balances[0].account[0]',
  ],
  [
    'an address with a character outside ASCII',
    `{"fromBlock":1,"balances":[{"account":["${'é'.repeat(40)}"]}]}`,
    'query-address-invalid',
    'balances[0].account[0]',
  ],
  [
    'an empty address',
    '{"fromBlock":1,"balances":[{"account":""}]}',
    'query-address-invalid',
    'balances[0].account',
  ],
  [
    'd8 of 7 bytes',
    '{"fromBlock":1,"instructions":[{},{},{"d8":["0x00112233445566"]}]}',
    'query-discriminator-invalid',
    'instructions[2].d8[0]',
    { allowed: '0x and 16 hex digits' },
  ],
  [
    'd1 of 2 bytes',
    '{"fromBlock":1,"instructions":[{"d1":"0x0011"}]}',
    'query-discriminator-invalid',
    'instructions[0].d1',
  ],
  [
    'd1 without 0x',
    '{"fromBlock":1,"instructions":[{"d1":"0011"}]}',
    'query-discriminator-invalid',
    'instructions[0].d1',
  ],
  [
    'd1 with 0X',
    '{"fromBlock":1,"instructions":[{"d1":"0X11"}]}',
    'query-discriminator-invalid',
    'instructions[0].d1',
  ],
  [
    'd1 that is not hex',
    '{"fromBlock":1,"instructions":[{"d1":"0xg1"}]}',
    'query-discriminator-invalid',
    'instructions[0].d1',
  ],
  [
    'd1 with a line feed',
    '{"fromBlock":1,"instructions":[{"d1":"0x1\\n"}]}',
    'query-discriminator-invalid',
    'instructions[0].d1',
  ],
  [
    'd1 as number',
    '{"fromBlock":1,"instructions":[{"d1":9}]}',
    'query-value-invalid',
    'instructions[0].d1',
  ],
  [
    'a prefix of half a byte',
    '{"fromBlock":1,"instructions":[{"discriminator":"0x1"}]}',
    'query-discriminator-invalid',
    'instructions[0].discriminator',
  ],
  [
    'a prefix of 17 bytes',
    `{"fromBlock":1,"instructions":[{"discriminator":"0x${'00'.repeat(17)}"}]}`,
    'query-discriminator-invalid',
    'instructions[0].discriminator',
  ],
  [
    'an empty prefix',
    '{"fromBlock":1,"instructions":[{"discriminator":""}]}',
    'query-discriminator-invalid',
    'instructions[0].discriminator',
  ],
  [
    'an unknown kind of log',
    '{"fromBlock":1,"logs":[{"kind":["log","return"]}]}',
    'query-log-kind-invalid',
    'logs[0].kind[1]',
    { allowed: 'log, data, other' },
  ],
  [
    'isCommitted as list',
    '{"fromBlock":1,"instructions":[{"isCommitted":[true]}]}',
    'query-value-invalid',
    'instructions[0].isCommitted',
  ],
  [
    'isCommitted as text',
    '{"fromBlock":1,"instructions":[{"isCommitted":"true"}]}',
    'query-value-invalid',
    'instructions[0].isCommitted',
  ],
];

const schema = Compile(buildQuerySchema(['ledger'], QUERY_LIMITS));

/** Errors that a JSON schema cannot express, or whose cause `JSON.parse` hides. */
const beyondSchema = new Set([
  'fromBlock rounded to 0',
  'a fromBlock that rounds to 1',
  'a toBlock below fromBlock',
  'a toBlock one below a fromBlock above 2^53',
  'a key twice',
  'a key twice, once escaped',
  'a filter twice',
  'an address of 33 bytes',
  'an address above 2^256',
]);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('errors: nothing is dropped and nothing is coerced (trap: default Ajv)', () => {
  for (const [about, body, code, path, more = {}] of refusals) {
    test(`error: ${code} for ${about}`, () => {
      const error = refusal(body);
      expect(error.code).toBe(code);
      const { found, ...rest } = more;
      expect(error.detail).toMatchObject({ path, ...rest });
      if (found !== undefined) expect(String(error.detail['found'])).toBe(found);
      expect(error.message).toContain(path);
      if (isJson(body) && !beyondSchema.has(about))
        expect(schema.Check(JSON.parse(body))).toBe(false);
    });
  }

  test('error: query-not-utf8 for a byte that is not valid text', () => {
    expect(refusal(Uint8Array.of(0x7b, 0x22, 0xff, 0x22)).code).toBe('query-not-utf8');
  });

  test('error: query-key-unknown for pubKey in the dialect that has only pubkey', () => {
    const body = '{"fromBlock":1,"type":"solana","fields":{"reward":{"pubKey":true}}}';
    const error = refusal(body, ['ledger', 'solana']);
    expect(error.code).toBe('query-key-unknown');
    expect(error.detail).toMatchObject({ path: 'fields.reward.pubKey', nearest: 'pubkey' });
  });

  test('error: a long value is truncated in the error', () => {
    const error = refusal(
      JSON.stringify({ fromBlock: 1, balances: [{ account: 'x'.repeat(5000) }] }),
    );
    expect(String(error.detail['found']).length).toBeLessThan(80);
    const long = refusal(JSON.stringify({ fromBlock: 1, ['x'.repeat(5000)]: 1 }));
    expect(long.message.length).toBeLessThan(500);
  });
});
