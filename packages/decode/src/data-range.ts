/** Bytes in a memory: of a buffer, or of a WebAssembly module. `view` covers the same bytes. */
export interface DataRange {
  readonly memory: Buffer;
  readonly view: DataView;
  readonly at: number;
  readonly end: number;
}
