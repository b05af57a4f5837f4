/** Clients of the simulated service. Each checks every response against the model. */
import { gunzipSync } from 'node:zlib';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { parseQuery } from '../../packages/server/src/query/parse-query.ts';
import type { Query } from '../../packages/server/src/query/query.ts';
import type { Ledger, LedgerBlock } from './ledger.ts';
import { type Model, must, type Request, type State } from './model.ts';
import { type Connection, type SendOptions, send } from './network.ts';
import { Life, type Scheduler } from './scheduler.ts';

export interface ReaderDependencies {
  readonly scheduler: Scheduler;
  readonly model: Model;
  /** Connects to the service; undefined if it is not running. */
  readonly connect: (client: Life) => Connection | undefined;
  /** Whether something was broken since that time, so that the service may fail. */
  readonly mayFail: (sinceMs: number) => boolean;
  /** Whether other machines may have newer states that this one could not get. */
  readonly mayLag: (sinceMs: number) => boolean;
  readonly note: (event: string) => void;
}

export interface ReadPlan {
  readonly template: QueryTemplate;
  readonly from: number;
  readonly to: number | undefined;
  readonly parentHash: string | undefined;
  readonly finalizedOnly: boolean;
  readonly isGzipped: boolean;
  /** The pause after each chunk. */
  readonly pauseMs: number;
}

export interface QueryTemplate {
  readonly body: Readonly<Record<string, unknown>>;
  readonly query: Query;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
  /** Whether the response ended properly. */
  readonly isWhole: boolean;
  readonly states: readonly State[];
  readonly startMs: number;
}

const requestCountMax = 40;
const fields = {
  block: { number: true, hash: true, parentHash: true },
  transaction: { signatures: true, fee: true },
  instruction: { programId: true, data: true },
  reward: { pubKey: true, lamports: true },
};

/** Returns queries that select everything, much, little and nearly nothing. */
export function makeQueries({ accounts }: Ledger): QueryTemplate[] {
  const bodies = [
    { fields, includeAllBlocks: true },
    { fields, rewards: [{ pubkey: accounts.slice(0, 2) }] },
    { fields, instructions: [{ programId: accounts.slice(0, 6), transaction: true }] },
    { fields, transactions: [{ feePayer: accounts.slice(3, 4) }] },
    { fields, instructions: [{ programId: accounts.slice(7, 8), d1: ['0x03'] }] },
  ];
  return bodies.map((body) => ({
    body,
    query: parseQuery({ fromBlock: 0, ...body }, { limits: QUERY_LIMITS, dialects: ['ledger'] }),
  }));
}

/** Sends one request and reads the response. Returns undefined if there was none. */
export async function call(
  options: SendOptions,
  life: Life,
  { scheduler, model, connect }: ReaderDependencies,
  pauseMs = 0,
): Promise<Answer | undefined> {
  const connection = connect(life);
  if (connection === undefined) return undefined;
  const startMs = scheduler.nowMs;
  const firstState = Math.max(0, model.states.length - 1);
  const { response } = send(connection.client, options);
  try {
    const incoming = await response;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of incoming) {
        chunks.push(chunk as Buffer);
        if (pauseMs > 0) await scheduler.delay(pauseMs, life);
      }
    } catch {
      // The connection broke: `complete` is false.
    }
    return {
      status: incoming.statusCode ?? 0,
      headers: incoming.headers,
      body: Buffer.concat(chunks),
      isWhole: incoming.complete,
      states: model.states.slice(firstState),
      startMs,
    };
  } catch {
    return undefined;
  } finally {
    connection.client.destroy();
  }
}

/** Reads a range by as many requests as it takes. */
export class Reader {
  readonly life = new Life();
  readonly #plan: ReadPlan;
  readonly #dependencies: ReaderDependencies;
  /** The last covered block. */
  last: LedgerBlock | undefined;
  isDone = false;

  constructor(plan: ReadPlan, dependencies: ReaderDependencies) {
    this.#plan = plan;
    this.#dependencies = dependencies;
  }

  async run(): Promise<void> {
    for (let i = 0; i < requestCountMax && !this.isDone; i++) await this.#request();
    this.isDone = true;
  }

  async #request(): Promise<void> {
    const { template, to, finalizedOnly, isGzipped, pauseMs } = this.#plan;
    const { model, note, scheduler } = this.#dependencies;
    const from = this.last === undefined ? this.#plan.from : this.last.slot + 1;
    const parentHash = this.last?.hash ?? this.#plan.parentHash;
    const range = {
      fromBlock: from,
      ...(to === undefined ? {} : { toBlock: to }),
      ...(parentHash === undefined ? {} : { parentBlockHash: parentHash }),
    };
    const answer = await call(
      {
        method: 'POST',
        path: `/datasets/ledger/${finalizedOnly ? 'finalized-stream' : 'stream'}`,
        headers: {
          'content-type': 'application/json',
          'accept-encoding': isGzipped ? 'gzip' : 'identity',
        },
        body: JSON.stringify({ ...template.body, ...range }),
      },
      this.life,
      this.#dependencies,
      pauseMs,
    );
    note(`${answer?.status} ${from} ${answer?.body.length}`);
    if (answer === undefined) {
      this.isDone = true;
      return;
    }
    const { states, startMs } = answer;
    const durationMs = scheduler.nowMs - startMs;
    const { query } = template;
    const request = { query, from, to, parentHash, finalizedOnly, states, durationMs };
    if (answer.status === 200) this.#takeLines(request, answer);
    else {
      this.#takeOther(request, answer);
      this.isDone = true;
    }
    if (model.current === undefined) this.isDone = true;
  }

  #takeLines(request: Request, { body, isWhole, headers }: Answer): void {
    const isGzipped = headers['content-encoding'] === 'gzip';
    // The end of a broken gzip stream cannot be checked.
    if (isGzipped && !isWhole) {
      this.isDone = true;
      return;
    }
    const text = (isGzipped ? gunzipSync(body) : body).toString();
    must(!isWhole || text === '' || text.endsWith('\n'), 'a response ends with a whole line');
    const lines = text.split(/(?<=\n)/).filter((line) => line.endsWith('\n'));
    checkHeads(headers, request.states);
    const last = this.#dependencies.model.checkLines(request, lines, isWhole);
    this.last = last ?? this.last;
    const { to } = this.#plan;
    this.isDone = last === undefined || last.slot === to || !isWhole;
  }

  #takeOther(request: Request, { status, body, startMs }: Answer): void {
    const { model, mayFail, mayLag } = this.#dependencies;
    // Without the newest state a conflict is not certain, so the request waits as if its parent were above the data.
    const isUncertain = request.parentHash !== undefined && mayLag(startMs);
    if (status === 204 && isUncertain) model.checkWait(request);
    else if (status === 204) model.checkNone(request);
    else if (status === 409)
      model.checkConflict(request, JSON.parse(body.toString()).previousBlocks);
    else if (status === 400) model.checkBelowStart(request);
    else must(status === 503 && mayFail(startMs), `the status is ${status}: ${body.toString()}`);
  }
}

/** The headers name the heads of one visible state. */
export function checkHeads(headers: Answer['headers'], states: readonly State[]): void {
  const number = headers['x-ledger-finalized-head-number'];
  const hash = headers['x-ledger-finalized-head-hash'];
  const isShown = ({ finalized }: State) =>
    finalized === null
      ? number === undefined && hash === undefined
      : number === String(finalized.slot) && hash === finalized.hash;
  must(states.some(isShown), 'the headers name the finalized head of a visible state');
}
