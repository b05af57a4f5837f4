/** A `fetch` that responds from a list, without sockets. */
export type StubReply =
  | { readonly status: number; readonly body?: string; readonly headers?: Record<string, string> }
  | 'refused'
  | 'silent';

export interface StubCall {
  readonly url: string;
  readonly init: RequestInit;
}

export class StubFetch {
  readonly calls: StubCall[] = [];
  readonly #reply: (call: StubCall, index: number) => StubReply;

  constructor(reply: (call: StubCall, index: number) => StubReply) {
    this.#reply = reply;
  }

  readonly fetch: typeof fetch = async (input, init = {}) => {
    const call = { url: String(input), init };
    this.calls.push(call);
    const reply = this.#reply(call, this.calls.length - 1);
    if (reply === 'refused')
      throw new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } });
    if (reply === 'silent') return await new Promise<never>(() => undefined);
    const { status, body = '', headers = {} } = reply;
    return new Response(status === 204 ? null : body, { status, headers });
  };
}
