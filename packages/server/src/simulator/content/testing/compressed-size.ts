import { deflateSync } from 'node:zlib';
import type { Block } from '../../../ledger/block.ts';

/** The raw sizes of what cannot be compressed. */
const ADDRESS_BYTES = 32;
const SIGNATURE_BYTES = 64;

/**
 * What the records of some blocks take in columns with one dictionary of addresses: each column deflated at level 6 (a
 * stand-in for zstd at level 1, which not every runtime has), each address once as its bytes, each signature as its bytes.
 */
export class CompressedSize {
  readonly #ids = new Map<string, number>();
  readonly #columns = new Map<string, unknown[]>();
  #signatureCount = 0;

  add(block: Block): void {
    for (const row of block.transactions) {
      this.#signatureCount += row.signatures.length;
      const { writable, readonly } = row.loadedAddresses;
      this.#put('keys', row.accountKeys.map((key) => this.#id(key)).join());
      this.#put('loaded', [...writable, ...readonly].map((key) => this.#id(key)).join());
      const lookups = row.addressTableLookups.map((lookup) => {
        return [this.#id(lookup.accountKey), lookup.readonlyIndexes, lookup.writableIndexes];
      });
      this.#put('lookups', JSON.stringify(lookups));
      this.#putAll('transaction', [row.fee, row.computeUnitsConsumed, row.err, row.version]);
    }
    for (const row of block.instructions) {
      this.#put('accounts', row.accounts.map((key) => this.#id(key)).join());
      const address = row.instructionAddress.join('.');
      const { data, error, computeUnitsConsumed } = row;
      this.#putAll('instruction', [
        address,
        this.#id(row.programId),
        data,
        error,
        computeUnitsConsumed,
      ]);
    }
    for (const row of block.logs) {
      this.#putAll('log', [row.logIndex, this.#id(row.programId), row.message]);
    }
    for (const row of block.balances)
      this.#putAll('balance', [this.#id(row.account), row.pre, row.post]);
    for (const row of block.tokenBalances) {
      const post = row.postMint === row.preMint ? '' : this.#id(row.postMint);
      const held = [this.#id(row.account), this.#id(row.preMint), post, this.#id(row.preOwner)];
      this.#putAll('token', [...held, row.preAmount, row.postAmount]);
    }
  }

  finish(): number {
    let count = this.#ids.size * ADDRESS_BYTES + this.#signatureCount * SIGNATURE_BYTES;
    for (const values of this.#columns.values()) {
      count += deflateSync(values.join('\n'), { level: 6 }).length;
    }
    return count;
  }

  #putAll(name: string, values: readonly unknown[]): void {
    values.forEach((value, index) => {
      this.#put(`${name}-${index}`, value);
    });
  }

  #put(column: string, value: unknown): void {
    const values = this.#columns.get(column);
    if (values === undefined) this.#columns.set(column, [value]);
    else values.push(value);
  }

  #id(address: string | null): number | string {
    if (address === null) return '';
    let id = this.#ids.get(address);
    if (id === undefined) {
      id = this.#ids.size;
      this.#ids.set(address, id);
    }
    return id;
  }
}
