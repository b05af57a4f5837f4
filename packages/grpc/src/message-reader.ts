import { CodedError } from '@sluice/base/errors';

/** How the value of a protobuf field is written. */
const wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;
const fieldNumberMax = 2 ** 29 - 1;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads the fields of a protobuf message in their order. A value that does not fit into the message throws `grpc-message-invalid` with its
 * offset. Nothing is copied.
 *
 *   while (reader.next()) {
 *     if (reader.isInteger(1)) slot = reader.integer();
 *     else if (reader.isPart(2)) hash = reader.text();
 *     else reader.skip();
 *   }
 */
export class MessageReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;
  #field = 0;
  #type = 0;

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
  }

  /** Moves to the next field. Returns false at the end of the message. */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const start = this.#at;
    const tag = this.integer();
    this.#field = Math.floor(tag / 8);
    this.#type = tag % 8;
    if (this.#field === 0 || this.#field > fieldNumberMax) {
      throw this.#invalid(`a field with the tag ${tag}`, start);
    }
    return true;
  }

  /** Returns whether the current field has this number and is an integer. */
  isInteger(field: number): boolean {
    return this.#field === field && this.#type === wire.varint;
  }

  /** Returns whether the current field has this number and is a message, a text or bytes. */
  isPart(field: number): boolean {
    return this.#field === field && this.#type === wire.bytes;
  }

  /** Reads an integer that fits into a number, as slots, counts and indexes do. */
  integer(): number {
    const start = this.#at;
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 8; count++, scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80 && value <= Number.MAX_SAFE_INTEGER) return value;
      if (byte < 0x80) break;
    }
    throw this.#invalid('an integer above 2^53', start);
  }

  bytes(): Uint8Array {
    const start = this.#at;
    const length = this.integer();
    if (length > this.#end - this.#at) {
      throw this.#invalid(
        `a length of ${length} where ${this.#end - this.#at} bytes are left`,
        start,
      );
    }
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  message(): MessageReader {
    return new MessageReader(this.bytes());
  }

  text(): string {
    const start = this.#at;
    try {
      return utf8.decode(this.bytes());
    } catch (error) {
      if (error instanceof CodedError) throw error;
      throw this.#invalid('a text that is not UTF-8', start);
    }
  }

  /** Moves over the value of the current field. */
  skip(): void {
    const start = this.#at;
    switch (this.#type) {
      case wire.varint:
        // An integer of ten bytes, such as a negative one.
        for (let count = 0; this.#byte() >= 0x80; count++) {
          if (count === 9) throw this.#invalid('an integer of more than ten bytes', start);
        }
        return;
      case wire.bytes:
        this.bytes();
        return;
      case wire.fixed64:
      case wire.fixed32:
        for (let left = this.#type === wire.fixed64 ? 8 : 4; left > 0; left--) this.#byte();
        return;
      default:
        throw this.#invalid(`a field of the wire type ${this.#type}`, start);
    }
  }

  #byte(): number {
    if (this.#at >= this.#end) throw this.#invalid('the message ends inside a value', this.#at);
    return this.#bytes[this.#at++] ?? 0;
  }

  #invalid(fault: string, offset: number): CodedError<'grpc-message-invalid'> {
    return new CodedError('grpc-message-invalid', { offset, fault });
  }
}
