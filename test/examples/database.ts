/** A PostgreSQL server that a test started. */
export interface Database {
  readonly name: string;
  readonly url: string;
  query(text: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}
