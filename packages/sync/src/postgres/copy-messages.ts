/**
 * Rows in the binary form of COPY, already divided into the messages of the protocol, so that the connection sends the bytes unchanged.
 * Messages are short, because the server takes in a whole message before it reads its first row.
 *
 *   'd' length | header | rows …    'd' length | rows …    'd' length | rows … | -1
 */
const startBytes = 1 << 20;
const messageType = 0x64;
const prefixBytes = 5;
const header = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const end = Buffer.from([0xff, 0xff]);

export class CopyMessages {
  rowCount = 0;
  #bytes = Buffer.allocUnsafeSlow(startBytes);
  #at = 0;

  get byteCount(): number {
    return this.#at;
  }

  /** Adds rows as one message. */
  add(rows: Uint8Array, rowCount: number): void {
    this.#add(this.#at === 0 ? [header, rows] : [rows]);
    this.rowCount += rowCount;
  }

  /** Returns all messages, and starts again. The bytes are overwritten when further rows are added. */
  take(): { readonly rowCount: number; readonly bytes: Uint8Array } {
    this.#add(this.#at === 0 ? [header, end] : [end]);
    const taken = { rowCount: this.rowCount, bytes: this.#bytes.subarray(0, this.#at) };
    this.rowCount = 0;
    this.#at = 0;
    return taken;
  }

  #add(parts: readonly Uint8Array[]): void {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    this.#reserve(prefixBytes + length);
    this.#bytes[this.#at] = messageType;
    // The length counts itself.
    this.#bytes.writeInt32BE(length + 4, this.#at + 1);
    this.#at += prefixBytes;
    for (const part of parts) {
      this.#bytes.set(part, this.#at);
      this.#at += part.length;
    }
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#at + count));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
