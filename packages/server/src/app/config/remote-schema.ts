/** The configuration of remote storage: segments in an object store, the head in a feed. */
import Type, { type Static } from 'typebox';

const gigabyte = 1_000_000_000;

export const storeSchema = Type.Object(
  {
    kind: Type.Literal('s3', { description: 'an object store with the interface of S3' }),
    bucket: Type.String({
      pattern: '^[a-z0-9][a-z0-9.-]{1,62}$',
      expected: 'the name of a bucket',
      description: 'the bucket, which must exist',
    }),
    prefix: Type.String({
      pattern: '^([\\w.-]+(/[\\w.-]+)*)?$',
      expected: 'a path without a slash at either end, or an empty text',
      default: '',
      description: 'the start of all keys, before the name of the dataset',
    }),
    endpoint: Type.Optional(
      Type.String({
        pattern: '^https?://[^/?#@]+$',
        expected: 'an address such as https://minio.example.org:9000, without a path',
        description: 'its address; the AWS address of the region if absent',
      }),
    ),
    region: Type.String({ minLength: 1, default: 'us-east-1', description: 'its region' }),
    pathStyle: Type.Optional(
      Type.Boolean({
        description:
          'whether the bucket is in the path of addresses instead of the host name; if absent, true with an `endpoint`',
      }),
    ),
    accessKeyId: Type.Optional(
      Type.String({
        minLength: 1,
        secret: 'value',
        description:
          'the key; if absent AWS_ACCESS_KEY_ID, the profile AWS_PROFILE of the shared credentials file, or the role of the pod, container or machine',
      }),
    ),
    secretAccessKey: Type.Optional(
      Type.String({
        minLength: 1,
        secret: 'value',
        description: 'its secret, from the same origin; preferably a variable',
      }),
    ),
    cacheBytesMax: Type.Integer({
      minimum: 64 << 20,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 20 * gigabyte,
      description: 'the maximum size of the cache of each dataset on the local disk',
    }),
    segmentBlockCount: Type.Integer({
      minimum: 8,
      maximum: 16_384,
      default: 1_024,
      description:
        'the number of finalized blocks of a segment; fewer if they have 32 MiB. Smaller segments leave the journal sooner and need more requests',
    }),
    requestMsMax: Type.Integer({
      minimum: 100,
      maximum: 600_000,
      default: 10_000,
      description:
        'how long a request may make no progress, in ms; a failed one is repeated up to 5 times',
    }),
    requestCountMax: Type.Integer({
      minimum: 1,
      maximum: 256,
      default: 32,
      description: 'requests at the same time',
    }),
  },
  {
    description:
      'The location of sealed segments; the data folder if absent. See [scale.md](scale.md).',
  },
);

export const feedSchema = Type.Object(
  {
    kind: Type.Literal('jetstream', { description: 'a stream of NATS JetStream' }),
    servers: Type.Array(Type.String({ minLength: 1, secret: 'url' }), {
      minItems: 1,
      maxItems: 16,
      description: 'addresses of NATS servers, such as nats://nats-1:4222',
    }),
    user: Type.Optional(Type.String({ minLength: 1, description: 'the user, if one is required' })),
    password: Type.Optional(
      Type.String({ minLength: 1, secret: 'value', description: 'its password' }),
    ),
    token: Type.Optional(
      Type.String({ minLength: 1, secret: 'value', description: 'a token instead of a user' }),
    ),
    replicas: Type.Integer({
      minimum: 1,
      maximum: 5,
      default: 3,
      description: 'servers that store each message',
    }),
    bytesMax: Type.Integer({
      minimum: 16 << 20,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 8 * gigabyte,
      description:
        'the maximum size of the stream of a dataset, which has the blocks that are not sealed yet; a full stream stops the writer',
    }),
    leaseMs: Type.Integer({
      minimum: 1_000,
      maximum: 60_000,
      default: 4_000,
      description:
        'the time after which a writer that does not renew its lease is replaced, in ms; only effective for the first dataset on the NATS servers',
    }),
  },
  {
    description:
      'The stream to which changes of the chain are published, so that several services share a dataset. Requires `store`. See [scale.md](scale.md).',
  },
);

export type StoreConfig = Static<typeof storeSchema>;
export type FeedConfig = Static<typeof feedSchema>;
