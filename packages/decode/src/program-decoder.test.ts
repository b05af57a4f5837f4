import { describe, expect, test } from 'vitest';
import { IdlRegistry } from './idl-registry.ts';
import { ProgramDecoder, rangeOf } from './program-decoder.ts';
import { type IdlType, integer, type ProgramDescription, u8, u32 } from './program-description.ts';

const address = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const quoted = (accounts: readonly string[]) => accounts.map((account) => JSON.stringify(account));

function describeProgram(
  type: IdlType,
  types: Readonly<Record<string, IdlType>> = {},
): ProgramDescription {
  const instruction = {
    name: 'set',
    discriminators: [],
    fieldsAt: 0,
    fields: [{ name: 'value', type }],
    accounts: [],
  };
  return {
    address,
    name: 'test',
    instructions: [instruction],
    events: [],
    types: new Map(Object.entries(types)),
  };
}

function decode(
  type: IdlType,
  data: readonly number[],
  types?: Readonly<Record<string, IdlType>>,
): Record<string, unknown> {
  const decoder = new ProgramDecoder(describeProgram(type, types));
  return JSON.parse(decoder.decodeInstruction(rangeOf(Uint8Array.from(data)), [], '')) as Record<
    string,
    unknown
  >;
}

const decodeValue = (type: IdlType, data: readonly number[]) =>
  (decode(type, data)['args'] as { value: unknown } | undefined)?.value;

describe('values', () => {
  test.each([
    [integer(8), [255, 255, 255, 255, 255, 255, 31, 0], 9007199254740991],
    [integer(8), [0, 0, 0, 0, 0, 0, 32, 0], '9007199254740992'],
    [integer(8, true), [1, 0, 0, 0, 0, 0, 224, 255], -9007199254740991],
    [integer(8, true), [0, 0, 0, 0, 0, 0, 224, 255], '-9007199254740992'],
    [integer(2, false, true), [1, 2], 258],
    [integer(16), [...Array<number>(15).fill(0), 128], '170141183460469231731687303715884105728'],
    [{ kind: 'float', bytes: 8 }, [0, 0, 0, 0, 0, 0, 240, 127], 'Infinity'],
    [{ kind: 'shortInteger', bytesMax: 3 }, [0x80, 0x01], 128],
  ] satisfies [IdlType, number[], unknown][])(
    'behavior: %j of %j is %j',
    (type, data, expected) => {
      expect(decodeValue(type, data)).toBe(expected);
    },
  );

  test('behavior: bytes after the last argument are kept', () => {
    expect(decode(u8, [1, 2, 3])).toMatchObject({ args: { value: 1 }, trailing: '0x0203' });
  });
});

describe('data that cannot be decoded', () => {
  test('error: data that ends early names the argument, gives the reason and keeps all bytes', () => {
    expect(decode(integer(8), [1, 2])).toEqual({
      program: 'test',
      name: 'set',
      error: 'the data is too short (at value)',
      raw: '0x0102',
    });
  });

  test('error: an unknown instruction keeps its bytes', () => {
    const [system] = ['11111111111111111111111111111111'].map((each) =>
      new IdlRegistry().find(each, 0),
    );
    const text = system?.decodeInstruction(rangeOf(Uint8Array.of(99, 0, 0, 0)), [], '') ?? '';
    expect(JSON.parse(text)).toMatchObject({ program: 'system', name: null, raw: '0x63000000' });
  });

  test('limit: a length beyond the data, an endless list of empty values and a type that contains itself end with an error', () => {
    const empty: IdlType = { kind: 'struct', fields: [] };
    const list: IdlType = { kind: 'array', count: { prefix: u32 }, item: empty };
    const bytes: IdlType = { kind: 'array', count: { prefix: u32 }, item: u8 };
    const self: IdlType = { kind: 'defined', name: 'self' };
    const pair: IdlType = { kind: 'tuple', items: [self, self] };
    const most = [255, 255, 255, 255];
    expect(decode(list, most)['error']).toBe('the decoded value is too large (at value)');
    expect(decode(bytes, most)['error']).toBe('the data is too short (at value)');
    expect(decode(self, [], { self: pair })['error']).toMatch(/nested too deeply|too large/);
    expect(decode(self, [1])['error']).toBe('the IDL does not define the type self (at value)');
  });
});

describe('accounts', () => {
  const stake = new IdlRegistry().find('Stake11111111111111111111111111111111111111', 0);
  const clock = 'SysvarC1ock11111111111111111111111111111111';
  const history = 'SysvarStakeHistory1111111111111111111111111';
  const withdraw = Uint8Array.of(4, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0);
  const decodeWithdraw = (accounts: readonly string[]) =>
    JSON.parse(stake?.decodeInstruction(rangeOf(withdraw), quoted(accounts), '') ?? '') as unknown;

  test('behavior: sysvars are recognized, absent ones are null, and further accounts remain', () => {
    expect(decodeWithdraw(['S', 'R', clock, history, 'W', 'L', 'X'])).toMatchObject({
      args: { lamports: 7 },
      accounts: {
        stake: 'S',
        recipient: 'R',
        clockSysvar: clock,
        withdrawAuthority: 'W',
        lockupAuthority: 'L',
      },
      remaining: ['X'],
    });
    expect(decodeWithdraw(['S', 'R', 'W'])).toMatchObject({
      accounts: {
        stake: 'S',
        clockSysvar: null,
        stakeHistory: null,
        withdrawAuthority: 'W',
        lockupAuthority: null,
      },
      remaining: [],
    });
  });

  test('behavior: an optional account of Anchor is null if the program is passed instead', () => {
    const idl = {
      name: 'old',
      instructions: [
        {
          name: 'doIt',
          accounts: [{ name: 'group', accounts: [{ name: 'a', isOptional: true }, { name: 'b' }] }],
          args: [],
        },
      ],
      events: [{ name: 'Done', fields: [{ name: 'by', type: 'u8' }] }],
    };
    const decoder = new IdlRegistry([
      { name: 'old.json', text: JSON.stringify(idl), programId: address },
    ]).find(address, 0);
    const data = Buffer.from('740bb2aefdd8cc2c', 'hex');
    const [found] = new IdlRegistry([
      { name: 'old.json', text: JSON.stringify(idl), programId: address },
    ]).dataStarts(address, 'doIt');
    const start = Buffer.from((found ?? '').slice(2), 'hex');
    expect(start).toHaveLength(data.length);
    const decoded: unknown = JSON.parse(
      decoder?.decodeInstruction(rangeOf(start), quoted([address, 'B']), '') ?? '',
    );
    expect(decoded).toMatchObject({ name: 'doIt', accounts: { 'group.a': null, 'group.b': 'B' } });
  });
});

describe('slots', () => {
  test('behavior: the IDL that starts last is used among those that hold for a slot, before a built-in one', () => {
    const text = (name: string) =>
      JSON.stringify({ address, metadata: { name }, instructions: [] });
    const registry = new IdlRegistry([
      { name: 'a', text: text('first'), toSlot: 99 },
      { name: 'b', text: text('second'), fromSlot: 100, toSlot: 200 },
      { name: 'c', text: text('third'), fromSlot: 150 },
      {
        name: 'd',
        text: text('system'),
        programId: '11111111111111111111111111111111',
        fromSlot: 10,
      },
    ]);
    const nameAt = (slot: number, program = address) =>
      registry.find(program, slot)?.description.name;
    expect([0, 99, 100, 149, 150, 201].map((slot) => nameAt(slot))).toEqual([
      'first',
      'first',
      'second',
      'second',
      'third',
      'third',
    ]);
    expect(registry.find('Config1111111111111111111111111111111111111', 0)).toBeUndefined();
    expect(nameAt(9, '11111111111111111111111111111111')).toBe('system');
  });

  test('behavior: Shank gives the number of an instruction', () => {
    const idl = {
      name: 'shank',
      metadata: { origin: 'shank', address },
      instructions: [
        {
          name: 'Swap',
          accounts: [],
          args: [{ name: 'amount', type: 'u64' }],
          discriminant: { type: 'u8', value: 9 },
        },
      ],
    };
    const registry = new IdlRegistry([{ name: 'shank.json', text: JSON.stringify(idl) }]);
    expect(registry.dataStarts(address, 'Swap')).toEqual(['0x09']);
    const data = Uint8Array.of(9, 5, 0, 0, 0, 0, 0, 0, 0);
    expect(
      JSON.parse(registry.find(address, 0)?.decodeInstruction(rangeOf(data), [], '') ?? ''),
    ).toMatchObject({ name: 'Swap', args: { amount: 5 } });
  });

  test.each([
    ['not JSON', '{'],
    ['no object', '[]'],
    ['no name', '{}'],
    ['an impossible address', JSON.stringify({ address: 'x', name: 'a', instructions: [] })],
    [
      'an unknown type',
      JSON.stringify({
        address,
        metadata: { name: 'a' },
        instructions: [{ name: 'b', args: [{ name: 'c', type: 'u7' }] }],
      }),
    ],
  ])('error: %s is refused', (_name, text) => {
    expect(() => new IdlRegistry([{ name: 'x', text }])).toThrow(
      expect.objectContaining({ code: 'idl-invalid' }),
    );
  });

  test('error: an IDL without an address needs one', () => {
    const text = JSON.stringify({ name: 'old', instructions: [] });
    expect(() => new IdlRegistry([{ name: 'x', text }])).toThrow(
      expect.objectContaining({ code: 'idl-address-missing' }),
    );
  });
});
