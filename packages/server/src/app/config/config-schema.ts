/**
 * The schema of the configuration. The TypeScript type, the validation of files and the tables of `docs/configuration.md` derive from
 * it. A key with a default is always present after parsing; a key without one is required, unless it is optional.
 */
import { DIALECTS } from '@sluice/protocol/dialect';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import Type, { type Static, type TSchema } from 'typebox';
import { datasetNamePattern } from '../../dataset/manifest.ts';
import { ENGINE_LIMITS } from '../../engine/engine-limits.ts';
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

/** The options of a new dataset that the configuration does not set. */
export const MADE_AS = { from: 'latest', votes: 'drop', allowMissing: [] } as const;

/** Shows a default in the documentation only. The parsed configuration has none, because it must be known whether the key is set. */
function whenMade(value: unknown): { readonly defaultText: string } {
  return { defaultText: `\`${JSON.stringify(value)}\`` };
}

function list<Item extends TSchema>(item: Item, description: string) {
  return Type.Array(item, { default: [], maxItems: listItemCountMax, description });
}

/** The expected form of an origin. */
export const ORIGIN_EXPECTED = 'an exact origin such as https://example.org';

const port = { minimum: 0, maximum: 65_535 };

const dialects = (description: string) =>
  Type.Array(choice(DIALECTS, {}), { minItems: 1, maxItems: DIALECTS.length, description });

const datasetName = (description: string) =>
  Type.String({
    pattern: datasetNamePattern.source,
    expected: '1 to 64 of a-z, 0-9 and -, not beginning with -',
    description,
  });

const dataset = Type.Object(
  {
    name: datasetName('its name in addresses'),
    aliases: Type.Optional(
      Type.Array(datasetName(''), {
        maxItems: 64,
        description:
          'further names of it; if absent those it has stay. A change is kept in the data folder',
      }),
    ),
    folder: Type.Optional(
      Type.String({
        minLength: 1,
        path: true,
        description: 'its folder; if absent the one of its name in `data`',
      }),
    ),
    sources: list(
      sourceSchema,
      'where its blocks come from; without any it is served as it is and does not grow',
    ),
    from: Type.Optional(
      Type.Union(
        [
          choice(['latest', 'earliest', 'genesis'], {}),
          Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
        ],
        {
          ...whenMade(MADE_AS.from),
          expected: 'latest, earliest, genesis or a slot',
          description:
            'where it begins: `latest` (the finalized head), `earliest` (the first block that the source has), `genesis` or a slot. Counts when the dataset is made',
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
        expected: 'all, blocks (100000), days (7d) or bytes (50GB) of 1 and more',
        description:
          "how much of the past stays: `all`, blocks (`100000`), days by the ledger's time (`7d`) or bytes of segments (`50GB`, powers of 1000). Whole segments go, so a little more stays",
      },
    ),
    backfillTo: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description:
          'history is brought down to this slot beside following; not together with `keep`',
      }),
    ),
    agreement: count(
      'how many sources must show a block before it is stored, while it is not final: with 2 one that lies is never believed, and no block comes before the second source has it',
      1,
      { max: 16 },
    ),
    votes: Type.Optional(
      choice(['drop', 'keep'], {
        ...whenMade(MADE_AS.votes),
        description: 'vote transactions. Counts when the dataset is made',
      }),
    ),
    allowMissing: Type.Optional(
      Type.Array(choice(['logs', 'rewards', 'meta'], {}), {
        ...whenMade(MADE_AS.allowMissing),
        maxItems: 3,
        description:
          'what blocks may lack: `logs`, `rewards`, `meta` (the statuses of transactions). Counts when the dataset is made',
      }),
    ),
    dialects: Type.Optional(dialects('types of queries it answers; the ones above if absent')),
  },
  { description: 'A dataset.' },
);

const limits = section(
  'What clients may cost. A service takes new ones over when it gets SIGHUP.',
  {
    query: section('How large a query may be.', {
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
        'connections; further ones are closed unanswered',
        HTTP_LIMITS.connectionCountMax,
      ),
      streamCountMax: count('open streams', HTTP_LIMITS.streamCountMax),
      unsentBytesMax: bytes(
        'bytes that wait for slow readers, over all streams; past it no new stream is let in',
        HTTP_LIMITS.unsentBytesMax,
        1 << 20,
      ),
      queryBytesMax: bytes(
        'bytes of the bodies that are read and of those of open streams; past it no new one is let in',
        HTTP_LIMITS.queryBytesMax,
        1 << 20,
      ),
      headersMsMax: milliseconds(
        'time for the headers of a request to come',
        HTTP_LIMITS.headersMsMax,
      ),
      requestMsMax: milliseconds('time for a whole request to come', HTTP_LIMITS.requestMsMax),
      keepAliveMs: milliseconds(
        'time for which an idle connection stays open',
        HTTP_LIMITS.keepAliveMs,
      ),
      stallMsMax: milliseconds(
        'after this a reader that took no byte is cut',
        HTTP_LIMITS.stallMsMax,
      ),
      closeMsMax: milliseconds(
        'time for responses to end when the service stops',
        HTTP_LIMITS.closeMsMax,
      ),
      closeGraceMs: count(
        'time after a stop signal in which the service is not ready but still serves, so that load balancers notice, in ms',
        HTTP_LIMITS.closeGraceMs,
        { min: 0, max: 600_000 },
      ),
    }),
    stream: section('Streams.', {
      waitMsMax: milliseconds(
        'time for which a request above the data waits for a block',
        STREAM_LIMITS.waitMsMax,
      ),
      followMsMax: milliseconds('after this a followed response ends', STREAM_LIMITS.followMsMax),
      solanaFollowMsMax: milliseconds(
        'the same in the dialect `solana`, whose clients learn the finalized head from the next response',
        STREAM_LIMITS.solanaFollowMsMax,
      ),
      quietMsMax: milliseconds(
        'after this a followed response without news ends',
        STREAM_LIMITS.quietMsMax,
      ),
      markMs: milliseconds(
        'after this without a line a header-only one marks the progress',
        STREAM_LIMITS.markMs,
      ),
      waiterCountMax: count(
        'readers of a dataset that wait for a block',
        STREAM_LIMITS.waiterCountMax,
        { max: 20_000 },
      ),
    }),
    key: section('Each key, where keys are configured.', {
      requestsPerSecond: Type.Number({
        minimum: 0.01,
        maximum: 1_000_000,
        default: KEY_LIMITS.requestsPerSecond,
        description: 'requests, on average',
      }),
      requestBurst: count('requests at once after a pause', KEY_LIMITS.requestBurst),
      streamCountMax: count('open streams, those that wait included', KEY_LIMITS.streamCountMax),
      bytesPerSecond: Type.Optional(
        Type.Integer({
          minimum: 1_000,
          maximum: Number.MAX_SAFE_INTEGER,
          description:
            "bytes of streams as they go out, over all of the key's streams, which are slowed down to it; unlimited if absent",
        }),
      ),
    }),
  },
);

export const configSchema = Type.Object({
  data: Type.String({
    minLength: 1,
    path: true,
    default: './data',
    description: 'the data folder: each dataset has a folder of its name in it',
  }),
  serveUnlisted: Type.Boolean({
    default: true,
    description: 'datasets of the data folder that are not listed are served too, without growing',
  }),
  dialects: Type.Array(choice(DIALECTS, {}), {
    minItems: 1,
    maxItems: DIALECTS.length,
    default: ['ledger'],
    description: 'types of queries that datasets answer which do not say otherwise',
  }),
  role: choice(['both', 'write', 'read'], {
    default: 'both',
    description:
      'with a `feed`: `write` follows the sources when it holds the lease and answers no queries; `read` only answers queries; `both` does both',
  }),
  store: Type.Optional(storeSchema),
  feed: Type.Optional(feedSchema),
  listen: section('The interface. Beyond loopback one of `auth` and `keys` is needed.', {
    host: Type.String({ minLength: 1, default: '127.0.0.1', description: 'where to listen' }),
    port: Type.Integer({ ...port, default: 8080, description: 'its port; 0 for any' }),
    auth: Type.Optional(
      choice(['none'], { description: '`none`: anyone who reaches the address may ask' }),
    ),
    keys: Type.Optional(
      Type.String({
        minLength: 1,
        path: true,
        description:
          'file of the hashes of the keys that may ask (`sluice keys create`), read again on SIGHUP',
      }),
    ),
    corsOrigins: list(
      Type.String({ expected: ORIGIN_EXPECTED }),
      'origins of pages that may read answers, each exactly',
    ),
  }),
  admin: section('`/ready`, `/health` and `/metrics`, for the operator. They take no key.', {
    host: Type.String({ minLength: 1, default: '127.0.0.1', description: 'where to listen' }),
    port: Type.Optional(
      Type.Integer({ ...port, description: 'its port; one above the other if absent' }),
    ),
  }),
  log: section('The log, on standard error.', {
    level: choice(['debug', 'info', 'warn', 'error', 'silent'], {
      default: 'info',
      description: 'lines below it are left out; read again on SIGHUP',
    }),
  }),
  engine: section('The threads that answer queries.', {
    threadCount: Type.Integer({
      minimum: 1,
      maximum: 256,
      default: ENGINE_LIMITS.threadCount,
      defaultText: 'one a core',
      description: 'threads',
    }),
    cacheBytesMax: Type.Integer({
      minimum: 1 << 20,
      maximum: Number.MAX_SAFE_INTEGER,
      default: ENGINE_LIMITS.cacheBytesMax,
      defaultText: 'a 32nd of the memory, from 64 MiB to 1 GiB',
      description: 'what all of them together keep of segments: indexes, dictionaries, keys',
    }),
  }),
  limits,
  datasets: list(dataset, 'the datasets'),
});

export type Config = Static<typeof configSchema>;
export type DatasetConfig = Config['datasets'][number];
export type ConfigLimits = Config['limits'];
