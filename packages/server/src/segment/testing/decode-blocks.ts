import { assert } from '@sluice/base/assert';
import { encodeBase58 } from '@sluice/base/base58';
import { elementAt } from '@sluice/base/element-at';
import {
  INS_FLAGS_DROPPED_LOGS,
  INS_FLAGS_OUTCOME_MASK,
  OUTCOME_COMMITTED,
  OUTCOME_UNKNOWN,
} from '@sluice/kernels/layout/columns';
import type {
  Balance,
  Block,
  Instruction,
  Log,
  Reward,
  TokenBalance,
  Transaction,
} from '@sluice/ledger/block';
import { type Address, toAddress, toSignature } from '@sluice/ledger/primitives';
import { type FieldRow, fieldRows, type RecordKind } from '@sluice/protocol/field-table';
import { keysOf } from '@sluice/protocol/typed-keys';
import { unzigzag } from '../encoding/varint.ts';
import {
  type ColumnField,
  type ColumnName,
  FIELD_COLUMNS,
  type FieldColumn,
  LOG_KIND_CODES,
} from '../layout/columns.ts';
import { keyBytes } from '../layout/dictionary.ts';
import type { GroupRows } from '../layout/row-buffer.ts';
import type { Segment } from '../read/open-segment.ts';

/** The log kinds by their code. */
const kinds = keysOf(LOG_KIND_CODES);
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the blocks of a segment as objects, for tools, tests and the reference engine. Queries do not use it. */
export function decodeBlocks(segment: Segment): Block[] {
  return segment.directory.groups.flatMap(({ firstBlock, blockCount }, group) => {
    const rows = new GroupDecoder(segment, segment.readGroup(group));
    return Array.from({ length: blockCount }, (_, i) => rows.nextBlock(firstBlock + i));
  });
}

/** A block whose records are being added. */
type OpenBlock = {
  [Key in keyof Block]: Block[Key] extends readonly (infer One)[] ? One[] : Block[Key];
};

interface Records {
  transaction: Transaction;
  instruction: Instruction;
  log: Log;
  balance: Balance;
  tokenBalance: TokenBalance;
  reward: Reward;
}

type IntName = {
  [Name in keyof GroupRows]: GroupRows[Name] extends { push(value: number): void } ? Name : never;
}[keyof GroupRows];
type LongName = {
  [Name in keyof GroupRows]: GroupRows[Name] extends { push(value: bigint): void } ? Name : never;
}[keyof GroupRows];

/** Reads a group's columns from start to end, with one cursor per column. */
class GroupDecoder {
  readonly #segment: Segment;
  readonly #rows: GroupRows;
  readonly #cursors = new Map<string, number>();
  readonly #texts: string[] = [];
  #allKeys: Uint8Array | undefined;
  #keys: Address[] = [];

  constructor(segment: Segment, rows: GroupRows) {
    this.#segment = segment;
    this.#rows = rows;
    let at = 0;
    for (const length of rows.textLength.values) {
      this.#texts.push(decoder.decode(rows.textBytes.values.subarray(at, at + length)));
      at += length;
    }
  }

  nextBlock(number: number): Block {
    const counts = this.#segment.countsAt(number);
    const block: OpenBlock = {
      header: this.#segment.headers.at(number),
      transactions: [],
      instructions: [],
      logs: [],
      balances: [],
      tokenBalances: [],
      rewards: [],
    };
    for (let i = 0; i < counts.transactions; i++) {
      const transactionIndex = this.#int('txIndex');
      block.transactions.push(this.#transaction(transactionIndex));
      const instructions = this.#instructions(transactionIndex);
      block.instructions.push(...instructions);
      this.#logs(transactionIndex, instructions, block.logs);
      this.#balances(transactionIndex, block.balances);
      for (let n = this.#int('txTokenBalanceCount'); n > 0; n--) {
        block.tokenBalances.push(this.#tokenBalance(transactionIndex));
      }
    }
    for (let i = 0; i < counts.rewards; i++) block.rewards.push(this.#reward());
    return block;
  }

  #transaction(transactionIndex: number): Transaction {
    const [staticCount, writableCount] = [this.#int('txStaticCount'), this.#int('txWritableCount')];
    const [readonlyCount, otherCount] = [this.#int('txReadonlyCount'), this.#int('txOtherCount')];
    const loadedEnd = staticCount + writableCount + readonlyCount;
    this.#keys = this.#many(loadedEnd + otherCount, () => this.#address(this.#int('txKeys')));
    return {
      ...this.#fields('transaction'),
      transactionIndex,
      version: this.#int('txVersion') - 1,
      accountKeys: this.#keys.slice(0, staticCount),
      addressTableLookups: this.#many(this.#int('txLookupCount'), () => this.#lookup()),
      signatures: this.#many(this.#int('txSignatureCount'), () =>
        toSignature(this.#bytes('txSignatures', 64)),
      ),
      loadedAddresses: {
        readonly: this.#keys.slice(staticCount + writableCount, loadedEnd),
        writable: this.#keys.slice(staticCount, staticCount + writableCount),
      },
    };
  }

  #lookup(): Transaction['addressTableLookups'][number] {
    const accountKey = this.#key('lookupKey');
    const [readonlyCount, writableCount] = [
      this.#int('lookupReadonlyCount'),
      this.#int('lookupWritableCount'),
    ];
    const readonlyIndexes = this.#many(readonlyCount, () => this.#int('lookupIndexes'));
    return {
      accountKey,
      readonlyIndexes,
      writableIndexes: this.#many(writableCount, () => this.#int('lookupIndexes')),
    };
  }

  #instructions(transactionIndex: number): Instruction[] {
    let address: readonly number[] = [];
    return this.#many(this.#int('txInstructionCount'), () => {
      const depth = this.#int('insDepth');
      address =
        this.#int('insOdd') > 0
          ? this.#many(depth, () => this.#int('insOddSteps'))
          : nextAddress(address, depth);
      const accounts = this.#many(this.#int('insAccountCount'), () => this.#key('insAccounts'));
      const data = encodeBase58(this.#bytes('insData', this.#int('insDataLength')));
      const flags = this.#int('insFlags');
      const outcome = flags & INS_FLAGS_OUTCOME_MASK;
      return {
        ...this.#fields('instruction'),
        transactionIndex,
        instructionAddress: address,
        accounts,
        data,
        isCommitted: outcome === OUTCOME_UNKNOWN ? null : outcome === OUTCOME_COMMITTED,
        hasDroppedLogMessages: (flags & INS_FLAGS_DROPPED_LOGS) !== 0,
      };
    });
  }

  #logs(transactionIndex: number, instructions: readonly Instruction[], out: Log[]): void {
    let logIndex = 0;
    for (let n = this.#int('txLogCount'); n > 0; n--) {
      logIndex += this.#int('logIndex');
      const instruction = elementAt(instructions, this.#int('logInstruction'));
      out.push({
        ...this.#fields('log'),
        transactionIndex,
        logIndex,
        instructionAddress: instruction.instructionAddress,
        message: parseText(`"${decoder.decode(this.#bytes('logText', this.#int('logLength')))}"`),
      });
    }
  }

  #balances(transactionIndex: number, out: Balance[]): void {
    for (let n = this.#int('txBalanceCount'); n > 0; n--) {
      const fields = this.#fields('balance');
      const post = BigInt.asUintN(64, fields.pre + unzigzag(this.#long('balChange')));
      out.push({ ...fields, transactionIndex, post });
    }
  }

  #tokenBalance(transactionIndex: number): TokenBalance {
    const key = (position: number | null): Address | null =>
      position === null ? null : elementAt(this.#keys, position);
    const [preMint, postMint] = this.#sides('tokPreMint', 'tokPostMint');
    const [preDecimals, postDecimals] = this.#sides('tokPreDecimals', 'tokPostDecimals');
    const [preProgram, postProgram] = this.#sides('tokPreProgram', 'tokPostProgram');
    const [preOwner, postOwner] = this.#sides('tokPreOwner', 'tokPostOwner');
    const nulls = this.#int('tokAmountNull');
    const pre = this.#long('tokPreAmount');
    const post = BigInt.asUintN(64, pre + unzigzag(this.#long('tokChange')));
    return {
      ...this.#fields('tokenBalance'),
      transactionIndex,
      preMint: key(preMint),
      postMint: key(postMint),
      preDecimals,
      postDecimals,
      preProgramId: key(preProgram),
      postProgramId: key(postProgram),
      preOwner: key(preOwner),
      postOwner: key(postOwner),
      preAmount: (nulls & 1) === 1 ? null : pre,
      postAmount: (nulls & 2) === 2 ? null : post,
    };
  }

  #sides(preName: IntName, postName: IntName): [number | null, number | null] {
    const preCode = this.#int(preName);
    const pre = preCode === 0 ? null : preCode - 1;
    const postCode = this.#int(postName);
    return [pre, postCode === 0 ? null : postCode === 1 ? pre : postCode - 2];
  }

  #reward(): Reward {
    return {
      ...this.#fields('reward'),
      pubKey: this.#address(this.#int('rewKey')),
      lamports: BigInt.asIntN(64, unzigzag(this.#long('rewLamports'))),
    };
  }

  /** Reads the fields of `FIELD_COLUMNS` of the next record of a kind. */
  #fields<K extends RecordKind>(kind: K): Pick<Records[K], ColumnField<K> & keyof Records[K]> {
    const columns: Readonly<Partial<Record<string, FieldColumn>>> = FIELD_COLUMNS[kind];
    const fields: Record<string, unknown> = {};
    for (const [name, row] of fieldRows(kind)) {
      const column = columns[name];
      if (column !== undefined) fields[name] = this.#value(row, column);
    }
    return fields as Pick<Records[K], ColumnField<K> & keyof Records[K]>;
  }

  /** Reads the next value of a field that has a column of its own, by its type on the wire. */
  #value({ wire, nullable }: FieldRow, { column, nulls }: FieldColumn): unknown {
    const value = this.#number(column);
    if (nulls !== undefined && this.#number(nulls) === 1) return null;
    if (wire === 'quantity' || typeof value === 'bigint') return value;
    if (wire === 'text' || wire === 'errorObject') {
      const json = elementAt(this.#texts, value);
      if (json === 'null') return null;
      return wire === 'text' ? parseText(json) : json;
    }
    if (wire === 'boolean') return value === 1;
    if (wire === 'logKind') return elementAt(kinds, value);
    if (nullable === true && value === 0) return null;
    const known = nullable === true ? value - 1 : value;
    return wire === 'integer' ? known : elementAt(this.#keys, known);
  }

  #many<Value>(count: number, next: () => Value): Value[] {
    return Array.from({ length: count }, next);
  }

  #advance(name: string, count: number): number {
    const at = this.#cursors.get(name) ?? 0;
    this.#cursors.set(name, at + count);
    return at;
  }

  #number(name: ColumnName): number | bigint {
    return elementAt<number | bigint>(this.#rows[name].values, this.#advance(name, 1));
  }

  #int(name: IntName): number {
    return elementAt(this.#rows[name].values, this.#advance(name, 1));
  }

  #long(name: LongName): bigint {
    return elementAt(this.#rows[name].values, this.#advance(name, 1));
  }

  #bytes(name: 'txSignatures' | 'insData' | 'logText', count: number): Uint8Array {
    const at = this.#advance(name, count);
    return this.#rows[name].values.subarray(at, at + count);
  }

  #key(name: IntName): Address {
    return elementAt(this.#keys, this.#int(name));
  }

  #address(id: number): Address {
    this.#allKeys ??= this.#segment.readKeys(0, this.#segment.directory.addressCount);
    const at = id * keyBytes;
    return toAddress(this.#allKeys.subarray(at, at + keyBytes));
  }
}

/** Texts of the ledger are stored as JSON. */
function parseText(json: string): string {
  const text: unknown = JSON.parse(json);
  assert(typeof text === 'string', 'a stored text is a JSON string');
  return text;
}

/** Pre-order: truncates the previous address to the depth and increments its last step. A deeper address starts at 0. */
function nextAddress(before: readonly number[], depth: number): readonly number[] {
  if (depth > before.length) return [...before, 0];
  const address = before.slice(0, depth);
  address[depth - 1] = elementAt(address, depth - 1) + 1;
  return address;
}
