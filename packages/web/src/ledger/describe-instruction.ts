/** Determines the name and the arguments of an instruction of a well-known program from its data. */
import { decodeBase58 } from '@sluice/client';
import { formatAmount, formatInteger, formatLamports } from '../base/format.ts';
import { findIdl, mintSymbol, programName, toTitle } from './address-names.ts';
import { nativePrograms } from './native-programs.ts';

export interface DescribedInstruction {
  /** The name of the program, or `undefined` if it is not well known. */
  readonly program: string | undefined;
  readonly name: string | undefined;
  readonly details: readonly (readonly [string, string])[];
  /** The roles of the accounts, in order, as far as they are known. */
  readonly roles: readonly string[];
}

/** The first eight bytes of a call by which an Anchor program records an event. */
const anchorEvent = '0xe445a52e51cb9a1d';

/** The mint of a token account and its decimals. */
export interface Token {
  readonly mint: string;
  readonly decimals: number;
}

interface InstructionRow {
  readonly programId: string;
  readonly data: string;
  readonly accounts: readonly string[];
}

/** `findToken` returns the token of an account or a mint, as far as the transaction shows it. */
export function describeInstruction(
  { programId, data, accounts }: InstructionRow,
  findToken: (address: string) => Token | undefined,
): DescribedInstruction {
  const bytes = data === '' ? new Uint8Array(0) : decodeBase58(data);
  const program = programName(programId);
  const native = nativePrograms[programId];
  if (native !== undefined) {
    const name = native.instructions[readNumber(bytes, native.numberBytes)];
    const isToken = native.name.startsWith('Token') && tokenAmounts.test(name ?? '');
    const details = isToken
      ? readTokenAmount(bytes, name?.endsWith('Checked') === true, accounts.map(findToken))
      : readDetails(native.name, name, bytes);
    return { program, name, details, roles: rolesOf(name) };
  }
  const d8 = `0x${[...bytes.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
  if (d8 === anchorEvent) return { program, name: 'Event', details: [], roles: [] };
  const known = findIdl(programId)?.instructions.find((instruction) => instruction.d8 === d8);
  return {
    program,
    name: known === undefined ? undefined : toTitle(known.name),
    details: [],
    roles: known?.accounts.map((name) => name.replaceAll('_', ' ')) ?? [],
  };
}

/** Returns the name of an instruction for a discriminator, as in the activity of a range. */
export function describeDiscriminator(
  programId: string,
  discriminator: string,
): string | undefined {
  const native = nativePrograms[programId];
  if (native !== undefined) {
    const bytes = Uint8Array.from(discriminator.slice(2).match(/../g) ?? [], (hex) =>
      Number.parseInt(hex, 16),
    );
    return native.instructions[readNumber(bytes, native.numberBytes)];
  }
  if (discriminator === anchorEvent) return 'Event';
  const known = findIdl(programId)?.instructions.find(({ d8 }) => d8 === discriminator);
  return known === undefined ? undefined : toTitle(known.name);
}

function readNumber(bytes: Uint8Array, byteCount: 0 | 1 | 4): number {
  if (byteCount === 0 || bytes.length === 0) return 0;
  if (bytes.length < byteCount) return -1;
  return byteCount === 1 ? (bytes[0] ?? -1) : view(bytes).getUint32(0, true);
}

function view(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Parses one argument: its label and its value as text. */
type ReadArgument = (bytes: Uint8Array) => readonly [string, string] | undefined;

const readU64 = (bytes: Uint8Array, at: number): bigint | undefined =>
  bytes.length >= at + 8 ? view(bytes).getBigUint64(at, true) : undefined;

const readLamports: ReadArgument = (bytes) => {
  const lamports = readU64(bytes, 4);
  return lamports === undefined ? undefined : ['lamports', formatLamports(lamports)];
};

/** The arguments that are shown, by program and instruction. */
const argumentReaders: Readonly<Record<string, ReadArgument>> = {
  'System Transfer': readLamports,
  'System CreateAccount': readLamports,
  'Stake Withdraw': readLamports,
  'Compute Budget SetComputeUnitLimit': (bytes) =>
    bytes.length < 5 ? undefined : ['units', formatInteger(view(bytes).getUint32(1, true))],
  'Compute Budget SetComputeUnitPrice': (bytes) => {
    const price = readU64(bytes, 1);
    return price === undefined ? undefined : ['micro-lamports per unit', formatInteger(price)];
  },
  'Memo Memo': (bytes) => ['text', new TextDecoder().decode(bytes)],
};

const tokenAmounts = /^(Transfer|MintTo|Burn|Approve)(Checked)?$/;

/** The checked instructions contain the decimals. For other instructions the decimals are taken from the token balance of one of the accounts, if it is known. */
function readTokenAmount(
  bytes: Uint8Array,
  isChecked: boolean,
  tokens: readonly (Token | undefined)[],
): readonly (readonly [string, string])[] {
  const amount = readU64(bytes, 1);
  if (amount === undefined) return [];
  const token = tokens.find((candidate) => candidate !== undefined);
  const decimals = (isChecked ? bytes[9] : undefined) ?? token?.decimals;
  const text = decimals === undefined ? formatInteger(amount) : formatAmount(amount, decimals);
  const symbol = token === undefined ? undefined : mintSymbol(token.mint);
  return [['amount', symbol === undefined ? text : `${text} ${symbol}`]];
}

function readDetails(
  program: string,
  name: string | undefined,
  bytes: Uint8Array,
): readonly (readonly [string, string])[] {
  const detail = argumentReaders[`${program} ${name}`]?.(bytes);
  return detail === undefined ? [] : [detail];
}

const roles: Readonly<Record<string, readonly string[]>> = {
  Transfer: ['source', 'destination', 'authority'],
  TransferChecked: ['source', 'mint', 'destination', 'authority'],
  MintTo: ['mint', 'destination', 'authority'],
  MintToChecked: ['mint', 'destination', 'authority'],
  Burn: ['account', 'mint', 'authority'],
  BurnChecked: ['account', 'mint', 'authority'],
  CloseAccount: ['account', 'destination', 'authority'],
  CreateAccount: ['payer', 'new account'],
  InitializeAccount3: ['account', 'mint'],
  Create: ['payer', 'new account', 'owner', 'mint', 'system program', 'token program'],
  CreateIdempotent: ['payer', 'new account', 'owner', 'mint', 'system program', 'token program'],
};

function rolesOf(name: string | undefined): readonly string[] {
  return roles[name ?? ''] ?? [];
}
