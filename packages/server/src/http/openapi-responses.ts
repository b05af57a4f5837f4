/** The responses and headers that operations of the description share. */
import Type, { type TSchema } from 'typebox';

export function reference(kind: string, name: string): object {
  return { $ref: `#/components/${kind}/${name}` };
}

function header(schema: TSchema, description: string): object {
  return { description, schema };
}

/** Headers of all responses, errors included. */
export const everyResponse = {
  'X-Request-Id': header(
    Type.String(),
    'The id that the client sent, if it has an allowed form; otherwise a new one.',
  ),
};

/** The state from which a response was made. */
export const headHeaders = {
  ...everyResponse,
  'X-Ledger-Finalized-Head-Number': header(
    Type.Integer(),
    'The finalized head of the state that the response began with. In the dialect solana the name begins with X-Sqd- instead.',
  ),
  'X-Ledger-Finalized-Head-Hash': header(
    Type.String(),
    'The hash of the finalized head. A response has both headers or neither.',
  ),
  'X-Ledger-Head-Number': header(
    Type.Integer(),
    'The highest block of that state; on a finalized stream in the dialect solana, the finalized head.',
  ),
};

/** In the dialect solana the names begin with X-Sqd- instead of X-Ledger-. */
export const streamHeaders = {
  ...headHeaders,
  'X-Sqd-Data-Source': header(Type.String(), 'Always real_time; only in the dialect solana.'),
  'Sluice-Sets': header(
    Type.String(),
    'The versions of the sets of addresses that the query refers to, NAME=VERSION; only if there are any.',
  ),
};

export const encodingHeaders = {
  'Content-Encoding': header(Type.String(), 'gzip or zstd, where Accept-Encoding allows it.'),
  Vary: header(Type.String(), 'Accept-Encoding.'),
};

export const FAILURE = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    path: Type.Optional(Type.String({ description: 'The path of the invalid value.' })),
    requestId: Type.String(),
  }),
});

export const failureResponse = {
  description: 'Rejected; see the table of errors.',
  headers: everyResponse,
  content: { 'application/json': { schema: reference('schemas', 'Error') } },
};

interface RefusalRow {
  readonly description: string;
  readonly headers?: object;
}

const retryAfter = { 'Retry-After': header(Type.Integer(), 'Seconds to wait.') };

const REFUSALS: Readonly<Record<number, RefusalRow>> = {
  400: {
    description: 'The query or a parameter is malformed, or the range begins below start_block.',
  },
  401: {
    description: 'Keys are configured, and none or a wrong one was sent.',
    headers: { 'WWW-Authenticate': header(Type.String(), 'Bearer.') },
  },
  404: { description: 'There is no such dataset, path, block, transaction or time.' },
  408: { description: 'The request did not arrive in time.' },
  413: { description: 'The body is too large, on the wire or decompressed.' },
  415: { description: 'The type or the encoding of the body is not supported.' },
  429: { description: 'The key is over its limit.', headers: retryAfter },
  500: { description: 'A fault of the service.' },
  503: {
    description: 'Overloaded, starting, shutting down, or the storage cannot be read now.',
    headers: retryAfter,
  },
};

export function describeRefusals(statuses: readonly number[]): object {
  const entries = statuses.map((status) => [
    status,
    {
      ...failureResponse,
      ...REFUSALS[status],
      headers: { ...everyResponse, ...REFUSALS[status]?.headers },
    },
  ]);
  return Object.fromEntries(entries);
}
