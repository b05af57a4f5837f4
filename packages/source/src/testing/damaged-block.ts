/** A block with values in every part, and functions that damage it. */
import fc from 'fast-check';
import { frame, invoke, success } from './log-lines.ts';
import {
  address,
  at,
  call,
  program,
  type RawObject,
  rawBlock,
  rawTransaction,
  toBytes,
} from './raw-block.ts';

const { a, b, c, d } = program;

/** Returns a block with every optional part, so that each can be damaged. */
function buildWholeBlock(): RawObject {
  const token = (accountIndex: number, amount: string) => ({
    accountIndex,
    mint: address(4),
    owner: address(5),
    programId: address(6),
    uiTokenAmount: { amount, decimals: 6, uiAmount: 0.5, uiAmountString: '0.5' },
  });
  const nested = rawTransaction({
    version: 0,
    instructions: [call(a, { accounts: [0, 1], data: '3Bxs', stackHeight: 1 }), call(d)],
    message: {
      addressTableLookups: [{ accountKey: address(7), writableIndexes: [1], readonlyIndexes: [2] }],
    },
    meta: {
      fee: 2n ** 64n - 1n,
      preBalances: [5, 2n ** 60n, 7],
      postBalances: [5, 2n ** 60n + 1n, 8],
      preTokenBalances: [token(0, '5'), token(1, '6')],
      postTokenBalances: [token(1, '7'), token(2, '18446744073709551615')],
      innerInstructions: [{ index: 0, instructions: [at(2, b), at(3, c), at(2, c)] }],
      loadedAddresses: { writable: [address(30)], readonly: [address(31)] },
      logMessages: [
        invoke(a, 1),
        'Program log: one\ntwo',
        ...frame(b, 2, frame(c, 3, ['Program data: AQID'])),
        ...frame(c, 2),
        `Program ${a} consumed 12 of 100 compute units`,
        success(a),
        ...frame(d, 1),
      ],
    },
  });
  const failing = rawTransaction({
    instructions: [call(a), call(b)],
    meta: {
      err: { InstructionError: [0, { Custom: 1 }] },
      logMessages: [invoke(a, 1), `Program ${a} failed: custom program error: 0x1`],
    },
  });
  const vote = rawTransaction({ instructions: [call(program.vote)] });
  const rewards = [
    { pubkey: address(3), lamports: -5, postBalance: 10, rewardType: 'Fee', commission: null },
  ];
  return rawBlock([nested, vote, failing], { rewards });
}

const template = buildWholeBlock();
/** Returns a copy that can be damaged. */
export const wholeBlock = () => structuredClone(template);

const oddities: readonly unknown[] = [
  null,
  undefined,
  0,
  -1,
  1,
  1.5,
  255,
  256,
  2n ** 53n + 1n,
  2n ** 64n,
  -(2n ** 63n) - 1n,
  '',
  'x',
  '0',
  '__proto__',
  '1'.repeat(32),
  '\u007f1234567890123456',
  true,
  [],
  {},
  [null],
  [[]],
  { length: 3 },
];

/** Returns every position of the tree that can be replaced, as its parent and key. */
function listMembers(value: unknown, found: [RawObject, string][] = []): [RawObject, string][] {
  if (typeof value !== 'object' || value === null) return found;
  for (const [key, member] of Object.entries(value)) {
    found.push([value as RawObject, key]);
    listMembers(member, found);
  }
  return found;
}

/** Random positions and the odd values to put there. */
const valueDamage = fc.array(fc.tuple(fc.nat(), fc.nat(oddities.length - 1)), {
  minLength: 1,
  maxLength: 3,
});

function damageValues(raw: RawObject, damage: readonly (readonly [number, number])[]): void {
  for (const [position, oddity] of damage) {
    const all = listMembers(raw);
    const [parent, key] = all[position % all.length] ?? [raw, 'blockhash'];
    const value = structuredClone(oddities[oddity]);
    parent[key] = Array.isArray(parent) && value === undefined ? null : value;
  }
}

const lineForms = (index: number) => {
  const id = [a, b, c, d, address(200)][index % 5] as string;
  return [
    invoke(id, (index % 4) + 1),
    success(id),
    `Program ${id} failed: x`,
    `Program ${id} consumed 5 of 10 compute units`,
    'Program log: y',
    'Program data: y',
    'Program return: y',
    'Log truncated',
    `Program ${id} invoke [99999999999999999999999]`,
    '',
  ][index % 10] as string;
};

interface LogEdit {
  readonly kind: string;
  readonly at: number;
  readonly line: number;
}

const logEdits = fc.array(
  fc.record({
    kind: fc.constantFrom('delete', 'repeat', 'swap', 'insert', 'cut'),
    at: fc.nat(40),
    line: fc.nat(49),
  }),
  { maxLength: 6 },
);

const heightKinds = fc.constantFrom('kept', 'absent', 'odd');

/** Edits the log of the first transaction and the heights of its calls. */
function editLog(raw: RawObject, edits: readonly LogEdit[], heightKind: string): void {
  const [first] = raw['transactions'] as { meta: RawObject }[];
  const lines = first?.meta['logMessages'] as string[];
  for (const { kind, at: position, line } of edits) editLines(lines, kind, position, line);
  const groups = first?.meta['innerInstructions'] as { instructions: RawObject[] }[];
  for (const [i, entry] of (groups[0]?.instructions ?? []).entries()) {
    if (heightKind === 'absent') delete entry['stackHeight'];
    if (heightKind === 'odd') entry['stackHeight'] = ((i * 7 + lines.length) % 5) + 1;
  }
}

function editLines(lines: string[], kind: string, position: number, line: number): void {
  const index = position % Math.max(1, lines.length);
  if (kind === 'delete') lines.splice(index, 1);
  else if (kind === 'repeat') lines.splice(index, 0, lines[index] ?? '');
  else if (kind === 'insert') lines.splice(index, 0, lineForms(line));
  else if (kind === 'cut') lines.length = index;
  else lines.push(...lines.splice(index, 1));
}

export function damageBytes(
  bytes: Uint8Array,
  edits: readonly (readonly [number, number])[],
): Uint8Array {
  const damaged = bytes.slice();
  for (const [position, byte] of edits) damaged[position % damaged.length] = byte;
  return damaged;
}

export const byteEdits = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });

/** Checks blocks with damaged values. */
export function checkValueDamage(check: (raw: RawObject) => void, numRuns: number): void {
  const property = fc.property(valueDamage, (damage) => {
    const raw = wholeBlock();
    damageValues(raw, damage);
    check(raw);
  });
  fc.assert(property, { numRuns });
}

/** Checks blocks whose log does not fit their calls. */
export function checkLogEdits(check: (raw: RawObject) => void, numRuns: number): void {
  const property = fc.property(logEdits, heightKinds, (edits, heightKind) => {
    const raw = wholeBlock();
    editLog(raw, edits, heightKind);
    check(raw);
  });
  fc.assert(property, { numRuns });
}

/** Checks the bytes of a block with some of them changed. */
export function checkByteEdits(check: (bytes: Uint8Array) => void, numRuns: number): void {
  const bytes = toBytes(wholeBlock());
  fc.assert(
    fc.property(byteEdits, (edits) => {
      check(damageBytes(bytes, edits));
    }),
    { numRuns },
  );
}
