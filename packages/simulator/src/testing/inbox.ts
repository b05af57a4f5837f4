import type { WebSocket } from 'ws';

interface Message {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { code: number; message: string };
  readonly method?: string;
  readonly params?: { result: unknown; subscription: number };
}

/** The messages that a WebSocket received, which are taken one by one. */
export class Inbox {
  readonly socket: WebSocket;
  readonly closed: Promise<number>;
  readonly #messages: Message[] = [];
  readonly #readers: ((message: Message) => void)[] = [];
  readonly #replies = new Map<unknown, (message: Message) => void>();
  #nextId = 1;

  static async open(socket: WebSocket): Promise<Inbox> {
    const inbox = new Inbox(socket);
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return inbox;
  }

  constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.on('close', (code) => resolve(code)));
    socket.on('message', (data) => this.#receive(JSON.parse(String(data)) as Message));
  }

  /** Returns the next message that is not a response to a call. */
  next(): Promise<Message> {
    const message = this.#messages.shift();
    if (message !== undefined) return Promise.resolve(message);
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  async nextResult(): Promise<unknown> {
    return (await this.next()).params?.result;
  }

  async call(method: string, ...params: unknown[]): Promise<unknown> {
    const id = this.#nextId++;
    const reply = new Promise<Message>((resolve) => this.#replies.set(id, resolve));
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    const { result, error } = await reply;
    if (error) throw new Error(`${error.code} ${error.message}`);
    return result;
  }

  close(): void {
    this.socket.terminate();
  }

  #receive(message: Message): void {
    const reply = this.#replies.get(message.id);
    if (reply !== undefined) {
      this.#replies.delete(message.id);
      reply(message);
      return;
    }
    const reader = this.#readers.shift();
    if (reader) reader(message);
    else this.#messages.push(message);
  }
}
