/**
 * The schema of the configuration. The TypeScript type, the validation of files and the tables of `docs/configuration.md` derive from
 * it. A key with a default is always present after parsing; a key without one is required, unless it is optional.
 */
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import { DIALECTS } from '@sluice/protocol/dialect';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { ADDRESS_PATTERN } from '@sluice/protocol/query-schema';
import Type, { type Static, type TSchema } from 'typebox';
import { ENGINE_LIMITS } from '../../engine/threads/engine-limits.ts';
import { HTTP_LIMITS } from '../../http/http-limits.ts';
import { KEY_LIMITS } from '../../http/keys/key-budgets.ts';
import { STREAM_LIMITS } from '../../stream/stream-limits.ts';
import { retentionPattern } from './parse-retention.ts';
import { feedSchema, storeSchema } from './remote-schema.ts';
import { choice, count } from './schema-parts.ts';
import { sourceSchema } from './source-schemas.ts';

const listItemCountMax = 1_000;

function milliseconds(description: string, value: number, max = 86_400_000) {
  return count(`${description}, in ms`, value, { min: 10, max });
}

function bytes(description: string, value: number, min: number) {
  return count(description, value, { min, max: Number.MAX_SAFE_INTEGER });
}

function section<Properties extends Record<string, TSchema>>(
  description: string,
  properties: Properties,
) {
  return Type.Object(properties, { default: {}, description });
}

/** The options with which a new dataset is created if the configuration does not set them. */
export const MADE_AS = { from: 'latest', votes: 'drop', allowMissing: [] } as const;

/** Shows a default in the documentation only. The parsed configuration has none, because it must be known whether the key is set. */
function documentedDefault(value: unknown): { readonly defaultText: string } {
  return { defaultText: `\`${JSON.stringify(value)}\`` };
}

function list<Item extends TSchema>(item: Item, description: string) {
  return Type.Array(item, { default: [], maxItems: listItemCountMax, description });
}

export const ORIGIN_EXPECTED = 'an exact origin such as https://example.org';

const port = { minimum: 0, maximum: 65_535 };

const dialects = (description: string) =>
  Type.Array(choice(DIALECTS, {}), { minItems: 1, maxItems: DIALECTS.length, description });

const datasetName = (description: string) =>
  Type.String({
    pattern: datasetNamePattern.source,
    expected: '1 to 64 characters of a-z, 0-9 and -, not starting with -',
    description,
  });

const dataset = Type.Object(
  {
    name: datasetName('its name in addresses'),
    aliases: Type.Optional(
      Type.Array(datasetName(''), {
        maxItems: 64,
        description:
          'further names; if absent, the stored ones stay. A change is stored in the data folder',
      }),
    ),
    folder: Type.Optional(
      Type.String({
        minLength: 1,
        path: true,
        description: 'its folder; if absent, the folder with its name in `data`',
      }),
    ),
    sources: list(
      sourceSchema,
      'the sources of its blocks; a dataset without sources is served but does not grow',
    ),
    from: Type.Optional(
      Type.Union(
        [
          choice(['latest', 'earliest', 'genesis'], {}),
          Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
        ],
        {
          ...documentedDefault(MADE_AS.from),
          expected: 'latest, earliest, genesis or a slot',
          description:
            'the first block: `latest` (the finalized head), `earliest` (the first block that the source has), `genesis` or a slot. Only effective for a new dataset',
        },
      ),
    ),
    keep: Type.Union(
      [
        choice(['all'], {}),
        Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
        Type.String({ pattern: retentionPattern.source }),
      ],
      {
        default: 'all',
        expected: 'all, or a number of blocks (100000), days (7d) or bytes (50GB), 1 or more',
        description:
          "how much history is kept: `all`, blocks (`100000`), days of the ledger's time (`7d`) or bytes of segments (`50GB`, powers of 1000). Only whole segments are removed, so slightly more is kept",
      },
    ),
    backfillTo: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description:
          'the slot down to which history is loaded while following; cannot be combined with `keep`',
      }),
    ),
    agreement: count(
      'how many sources must have a block before it is stored, unless it is final: with 2, a single wrong source has no effect, but each block waits for the second source',
      1,
      { max: 16 },
    ),
    votes: Type.Optional(
      choice(['drop', 'keep'], {
        ...documentedDefault(MADE_AS.votes),
        description: 'whether vote transactions are stored. Only effective for a new dataset',
      }),
    ),
    allowMissing: Type.Optional(
      Type.Array(choice(['logs', 'rewards', 'meta'], {}), {
        ...documentedDefault(MADE_AS.allowMissing),
        maxItems: 3,
        description:
          'the kinds of records that blocks may lack: `logs`, `rewards`, `meta` (the statuses of transactions). Only effective for a new dataset',
      }),
    ),
    dialects: Type.Optional(
      dialects('the types of queries that it accepts; if absent, the global `dialects`'),
    ),
  },
  { description: 'A dataset.' },
);

const limits = section(
  'The limits of clients. A service applies changes when it receives SIGHUP.',
  {
    query: section('The limits of a query.', {
      bodyBytesMax: count('a body, on the wire and decoded', QUERY_LIMITS.bodyBytesMax, {
        min: 1_024,
        max: 64 << 20,
      }),
      depthMax: count('nesting of objects and arrays', QUERY_LIMITS.depthMax, { min: 4, max: 64 }),
      itemCountMax: count('items of all arrays together', QUERY_LIMITS.itemCountMax),
      listValueCountMax: count('values of one list', QUERY_LIMITS.listValueCountMax),
      valueCountMax: count('values of all lists together', QUERY_LIMITS.valueCountMax),
    }),
    http: section('Connections.', {
      connectionCountMax: count(
        'connections; further ones are closed immediately',
        HTTP_LIMITS.connectionCountMax,
      ),
      streamCountMax: count('open streams', HTTP_LIMITS.streamCountMax),
      unsentBytesMax: bytes(
        'bytes that wait for slow readers, over all streams; above the limit new streams are refused',
        HTTP_LIMITS.unsentBytesMax,
        1 << 20,
      ),
      queryBytesMax: bytes(
        'bytes of the bodies that are being read and of those of open streams; above the limit new queries are refused',
        HTTP_LIMITS.queryBytesMax,
        1 << 20,
      ),
      headersMsMax: milliseconds(
        'the time in which the headers of a request must arrive',
        HTTP_LIMITS.headersMsMax,
      ),
      requestMsMax: milliseconds(
        'the time in which a whole request must arrive',
        HTTP_LIMITS.requestMsMax,
      ),
      keepAliveMs: milliseconds(
        'the time after which an idle connection is closed',
        HTTP_LIMITS.keepAliveMs,
      ),
      stallMsMax: milliseconds(
        'the time after which a reader that took no byte is disconnected',
        HTTP_LIMITS.stallMsMax,
      ),
      closeMsMax: milliseconds(
        'the time that responses have to end when the service stops',
        HTTP_LIMITS.closeMsMax,
      ),
      closeGraceMs: count(
        'the time after a stop signal in which the service is not ready but still serves, so that load balancers can react, in ms',
        HTTP_LIMITS.closeGraceMs,
        { min: 0, max: 600_000 },
      ),
    }),
    stream: section('Streams.', {
      waitMsMax: milliseconds(
        'the time that a request above the head waits for a block',
        STREAM_LIMITS.waitMsMax,
      ),
      followMsMax: milliseconds(
        'the time after which a followed response ends',
        STREAM_LIMITS.followMsMax,
      ),
      solanaResponseMsMax: milliseconds(
        'the time after which every response in the dialect `solana` ends, whose clients learn the finalized head from the next response',
        STREAM_LIMITS.solanaResponseMsMax,
      ),
      quietMsMax: milliseconds(
        'the time without a new block after which a followed response ends',
        STREAM_LIMITS.quietMsMax,
      ),
      markMs: milliseconds(
        'the time without a line after which a header-only line marks the progress',
        STREAM_LIMITS.markMs,
      ),
      waiterCountMax: count(
        'readers of a dataset that wait for a block',
        STREAM_LIMITS.waiterCountMax,
        { max: 20_000 },
      ),
    }),
    key: section('The limits of each key, if keys are configured.', {
      requestsPerSecond: Type.Number({
        minimum: 0.01,
        maximum: 1_000_000,
        default: KEY_LIMITS.requestsPerSecond,
        description: 'requests, on average',
      }),
      requestBurst: count(
        'the number of requests that may be sent at once after a pause',
        KEY_LIMITS.requestBurst,
      ),
      streamCountMax: count('open streams, including waiting ones', KEY_LIMITS.streamCountMax),
      bytesPerSecond: Type.Optional(
        Type.Integer({
          minimum: 1_000,
          maximum: Number.MAX_SAFE_INTEGER,
          description:
            'the rate of bytes sent on all streams of the key, which are slowed down to it; unlimited if absent',
        }),
      ),
    }),
  },
);

const slot = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description }));

const idl = Type.Object(
  {
    path: Type.String({
      minLength: 1,
      path: true,
      description: 'a file with an IDL, or a folder whose `.json` files are IDLs',
    }),
    programId: Type.Optional(
      Type.String({
        pattern: ADDRESS_PATTERN,
        expected: 'base58 of 32 bytes',
        description: 'the address of the program; needed if the IDL does not contain it',
      }),
    ),
    fromSlot: slot('the first slot for which it holds'),
    toSlot: slot('the last slot for which it holds'),
  },
  { description: 'IDLs for decoding.' },
);

export const configSchema = Type.Object({
  data: Type.String({
    minLength: 1,
    path: true,
    default: './data',
    description: 'the data folder, in which each dataset has a folder with its name',
  }),
  serveUnlisted: Type.Boolean({
    default: true,
    description:
      'whether datasets of the data folder that are not listed are served too, without growing',
  }),
  dialects: Type.Array(choice(DIALECTS, {}), {
    minItems: 1,
    maxItems: DIALECTS.length,
    default: ['ledger'],
    description: 'the types of queries that datasets accept, unless they have their own `dialects`',
  }),
  role: choice(['both', 'write', 'read'], {
    default: 'both',
    description:
      'with a `feed`: `write` follows the sources while it holds the lease and refuses queries; `read` only serves queries; `both` does both',
  }),
  store: Type.Optional(storeSchema),
  feed: Type.Optional(feedSchema),
  listen: section('The public listener. Beyond loopback one of `auth` and `keys` is required.', {
    host: Type.String({
      minLength: 1,
      default: '127.0.0.1',
      description: 'the address to listen on',
    }),
    port: Type.Integer({ ...port, default: 8080, description: 'its port; 0 for any free port' }),
    auth: Type.Optional(
      choice(['none'], {
        description: '`none`: anyone who can reach the address may send requests',
      }),
    ),
    keys: Type.Optional(
      Type.String({
        minLength: 1,
        path: true,
        description:
          'a file with the hashes of accepted keys (`sluice keys create`), read again on SIGHUP',
      }),
    ),
    corsOrigins: list(
      Type.String({ expected: ORIGIN_EXPECTED }),
      'the origins of pages that may read responses; each must match exactly',
    ),
  }),
  admin: section('The listener for `/ready`, `/health` and `/metrics`. They need no key.', {
    host: Type.String({
      minLength: 1,
      default: '127.0.0.1',
      description: 'the address to listen on',
    }),
    port: Type.Optional(
      Type.Integer({
        ...port,
        description: 'its port; if absent, the next port after `listen.port`',
      }),
    ),
    headLagSecondsMax: Type.Integer({
      minimum: 0,
      maximum: 86_400,
      default: 120,
      description:
        '`/ready` responds with 503 if the newest block of a followed dataset is older, unless a source that responds has no newer one; 0 for no limit',
    }),
  }),
  log: section('The log, on standard error.', {
    level: choice(['debug', 'info', 'warn', 'error', 'silent'], {
      default: 'info',
      description: 'the lowest level that is logged; read again on SIGHUP',
    }),
  }),
  engine: section('The threads that evaluate queries.', {
    threadCount: Type.Integer({
      minimum: 1,
      maximum: 256,
      default: ENGINE_LIMITS.threadCount,
      defaultText: 'one per core',
      description: 'threads',
    }),
    cacheBytesMax: Type.Integer({
      minimum: 1 << 20,
      maximum: Number.MAX_SAFE_INTEGER,
      default: ENGINE_LIMITS.cacheBytesMax,
      defaultText: 'a 32nd of the memory, from 64 MiB to 1 GiB',
      description:
        'the maximum size of the cache over all threads: three quarters for indexes, dictionaries and keys, one quarter for answers',
    }),
  }),
  limits,
  datasets: list(dataset, 'the datasets'),
  idl: list(idl, 'the IDLs by which instructions and events are decoded; read again on SIGHUP'),
});

export type Config = Static<typeof configSchema>;
export type DatasetConfig = Config['datasets'][number];
export type ConfigLimits = Config['limits'];
