import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { encodeBase58 } from '@sluice/base/base58';
import { anchorIdlAddress } from '@sluice/decode/ledger-idls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Portal, startPortal } from '../../app/testing/start-portal.ts';
import { StoredReader } from '../../dataset/stored/stored-reader.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { runMain } from '../testing/run-main.ts';

const hash = (name: string) => encodeBase58(createHash('sha256').update(name).digest());
const [payer, program, buffer] = [hash('payer'), hash('program'), hash('buffer')];
const idlAccount = anchorIdlAddress(program);
/** The keys of every transaction. Instructions refer to them by position. */
const keys = [payer, idlAccount, buffer, program];

const idl = (argument: string) =>
  JSON.stringify({
    ...{ address: program, metadata: { name: 'market', version: '0.1.0', spec: '0.1.0' } },
    instructions: [
      {
        ...{ name: 'trade', discriminator: [9, 9, 9, 9, 9, 9, 9, 9], accounts: [] },
        args: [{ name: argument, type: 'u64' }],
      },
    ],
  });

/** An instruction of the program, by the positions of its accounts. */
type Call = { readonly accounts: readonly number[]; readonly data: Buffer; readonly fails?: true };
const trade: Call = { accounts: [0], data: Buffer.from('09090909090909092a00000000000000', 'hex') };
function write(account: number, bytes: Uint8Array, fails?: true): Call {
  const head = Buffer.from('40f4bc78a7e9690a0200000000', 'hex');
  head.writeUInt32LE(bytes.length, 9);
  const data = Buffer.concat([head, bytes]);
  return { accounts: [account, 0], data, ...(fails === undefined ? {} : { fails }) };
}
const anchor = (kind: string, ...accounts: number[]): Call => ({
  accounts,
  data: Buffer.from(`40f4bc78a7e9690a${kind}`, 'hex'),
});

function nodeTransaction({ accounts, data, fails }: Call, signature: string) {
  const zeros = keys.map(() => 0);
  const header = {
    ...{ numRequiredSignatures: 1, numReadonlySignedAccounts: 0, numReadonlyUnsignedAccounts: 1 },
  };
  const instructions = [{ programIdIndex: 3, accounts, data: encodeBase58(data), stackHeight: 1 }];
  return {
    transaction: {
      signatures: [encodeBase58(createHash('sha512').update(signature).digest())],
      message: { header, accountKeys: keys, recentBlockhash: payer, instructions },
    },
    meta: {
      ...{ err: fails === true ? { InstructionError: [0, { Custom: 1 }] } : null, fee: 5000 },
      ...{ preBalances: zeros, postBalances: zeros, innerInstructions: [], logMessages: [] },
      ...{ preTokenBalances: [], postTokenBalances: [], rewards: [], computeUnitsConsumed: 1 },
      loadedAddresses: { readonly: [], writable: [] },
    },
    version: 'legacy',
  };
}

function nodeBlock(slot: number, calls: readonly Call[]) {
  return {
    ...{ blockhash: hash(`block ${slot}`), previousBlockhash: hash(`block ${slot - 1}`) },
    ...{ parentSlot: slot - 1, blockHeight: slot, blockTime: 1_760_000_000 + slot, rewards: [] },
    transactions: calls.map((call, i) => nodeTransaction(call, `${slot} ${i}`)),
  };
}

const first = deflateSync(idl('amount'));
const blocks: readonly (readonly Call[])[] = [
  [trade],
  [anchor('000000000000000000', 0, 1, 2, 3, 3)],
  // A failed write changes nothing.
  [write(1, first.subarray(0, 50)), write(1, Buffer.from('wrong'), true)],
  [write(1, first.subarray(50)), trade],
  [anchor('01', 2, 0), write(2, deflateSync(idl('quantity'))), trade],
  [anchor('03', 2, 1, 0), trade],
];

let folder: string;
let reader: StoredReader;
let portal: Portal;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-idls-'));
  const lines = blocks.map((calls, i) =>
    JSON.stringify({ slot: 100 + i, block: nodeBlock(100 + i, calls) }),
  );
  writeFileSync(join(folder, 'blocks.jsonl'), `${lines.join('\n')}\n`);
  const to = ['--data', join(folder, 'data'), '--dataset', 'mine'];
  const imported = await runMain(['import', ...to, join(folder, 'blocks.jsonl')]);
  expect(imported.code, imported.err).toBe(0);
  reader = await StoredReader.open(join(folder, 'data', 'mine'), nodeFs);
  portal = await startPortal(reader, join(folder, 'data'));
});
afterAll(async () => {
  await portal.close();
  reader.close();
  rmSync(folder, { recursive: true });
});

const idls = (...args: string[]) => runMain(['idls', ...args, '--admin', portal.adminUrl]);
const fields = { instruction: { decoded: true } };

test('default: a query over history decodes each instruction by the IDL of its slot, after a scan', async () => {
  const scanned = await idls('scan', portal.url, '--program', program);
  expect(scanned).toEqual({
    code: 0,
    out: [103, 105]
      .map((slot) => `registered ${program} slot ${slot} (anchor) as ${program}.${slot}\n`)
      .join(''),
    err: 'read the finalized blocks of slots 100 to 105\n',
  });
  const response = await fetch(`${portal.url}/finalized-stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ fromBlock: 100, toBlock: 105, fields },
      instructions: [{ programId: [program], d8: ['0x0909090909090909'] }],
    }),
  });
  const decoded = (await response.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).instructions?.[0]?.decoded)
    .filter((each) => each !== undefined);
  expect(decoded.map(({ name, args }) => [name, args])).toEqual([
    [null, undefined],
    ['trade', { amount: 42 }],
    ['trade', { amount: 42 }],
    ['trade', { quantity: 42 }],
  ]);
  const listed = await idls('list');
  expect(listed.out).toMatch(
    new RegExp(`^IDL .*\n${program}.103 +market +${program} +operator +103 *\n`),
  );
  expect(JSON.parse((await idls('list', '--json')).out)).toHaveLength(2);
  expect((await idls('remove', `${program}.103`)).out).toBe(`removed IDL ${program}.103\n`);
  expect(JSON.parse((await idls('list', '--json')).out)).toHaveLength(1);
});

test('behavior: a scan that finds no IDL of a program prints so, and its usage has the required option', async () => {
  const scanned = await idls('scan', portal.url, '--program', payer);
  expect(scanned).toEqual({
    ...{ code: 0, out: '' },
    err: `read the finalized blocks of slots 100 to 105\nno IDL of program ${payer} was found in these slots\n`,
  });
  const help = await idls('scan', '--help');
  expect(help.out).toContain('Usage: sluice idls scan --program <ids> [options] [dataset]');
});

test('behavior: with --out the IDLs are files, and the output has their entries for the configuration', async () => {
  const out = join(folder, 'idl');
  const { code, out: printed } = await idls('scan', portal.url, '--program', program, '--out', out);
  expect(code).toBe(0);
  const path = (slot: number) => join(out, `${program}.${slot}.json`);
  expect(printed).toBe(
    [103, 105]
      .map((slot) => `- { path: ${path(slot)}, programId: ${program}, fromSlot: ${slot} }\n`)
      .join(''),
  );
  expect(readFileSync(path(105), 'utf8')).toBe(idl('quantity'));
});

test('error: an address that is none, and a service that is not there', async () => {
  expect((await idls('scan', portal.url, '--program', 'wrong')).err).toContain('cli-usage');
  expect((await idls('remove', 'absent')).err).toContain('operator-path-unknown');
  const nowhere = await runMain(['idls', 'list', '--admin', 'http://127.0.0.1:1']);
  expect(nowhere.err).toContain('service-unreachable');
});
