/** One connection to PostgreSQL, with transactions and COPY. */
import pg from 'pg';

type Connection = {
  readonly stream: { write(bytes: Uint8Array): void };
  query(text: string): void;
  sendCopyFromChunk(chunk: Uint8Array): void;
  endCopyFrom(): void;
};

/** What is copied: rows, or messages of the protocol that contain them, which are sent without a copy of the bytes. */
export type CopyContent = { readonly rows: Uint8Array } | { readonly messages: Uint8Array };

/** A COPY of bytes that are in memory, as the library runs it between other statements. */
class CopyIn implements pg.Submittable {
  readonly done: Promise<void>;
  readonly #text: string;
  readonly #content: CopyContent;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor(text: string, content: CopyContent) {
    this.#text = text;
    this.#content = content;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  submit(connection: Pick<Connection, 'query'>): void {
    connection.query(this.#text);
  }

  handleCopyInResponse(connection: Connection): void {
    if ('messages' in this.#content) connection.stream.write(this.#content.messages);
    else connection.sendCopyFromChunk(this.#content.rows);
    connection.endCopyFrom();
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#resolve();
  }

  handleError(error: Error): void {
    this.#reject(error);
  }
}

const connectMsMax = 10_000;

export class Session {
  readonly #client: pg.Client;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  static async open(connectionString: string): Promise<Session> {
    const client = new pg.Client({
      connectionString,
      application_name: 'sluice sync',
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
    });
    // A lost connection fails the statements that use it. Without a listener it would end the process.
    client.on('error', () => undefined);
    await client.connect();
    return new Session(client);
  }

  async query<Result extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Result[]> {
    const { rows } = await this.#client.query<Result>(text, [...values]);
    return rows;
  }

  /** Runs statements without parameters, separated by semicolons. */
  async run(text: string): Promise<void> {
    await this.#client.query(text);
  }

  async copy(text: string, content: CopyContent): Promise<void> {
    await this.#client.query(new CopyIn(text, content)).done;
  }

  async transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.run('begin');
    try {
      const result = await work();
      await this.run('commit');
      return result;
    } catch (error) {
      // If the connection is lost, the server rolls back by itself.
      await this.run('rollback').catch(() => undefined);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }
}
