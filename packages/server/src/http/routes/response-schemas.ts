/** The schemas of responses that several routes and the description share. */
import Type, { type TSchema } from 'typebox';

export function orNull(schema: TSchema): TSchema {
  return Type.Union([schema, Type.Null()]);
}

export const blockRef = Type.Object({ number: Type.Integer(), hash: Type.String() });

/** The result of `buildMetadata`. */
export const METADATA = Type.Object({
  dataset: Type.String(),
  aliases: Type.Array(Type.String()),
  real_time: Type.Boolean({ description: 'Whether a live source feeds it.' }),
  start_block: Type.Integer({ description: 'The lowest slot that can be requested.' }),
});

/** The result of `buildStatus`. */
export const STATUS = Type.Object({
  dataset: Type.String(),
  aliases: Type.Array(Type.String()),
  real_time: Type.Boolean(),
  dialects: Type.Array(Type.String(), {
    description: 'The values of `type` that queries may have.',
  }),
  votes: Type.Union([Type.Literal('drop'), Type.Literal('keep')]),
  allow_missing: Type.Array(Type.String(), { description: 'Kinds that its blocks may lack.' }),
  genesis_hash: orNull(Type.String()),
  start_block: orNull(Type.Integer()),
  head: orNull(blockRef),
  finalized_head: orNull(blockRef),
  block_count: Type.Integer(),
  sealed_bytes: Type.Integer(),
  head_lag_seconds: orNull(Type.Integer()),
  behind_slots: orNull(Type.Integer({ description: 'How many slots its sources are ahead.' })),
  storage: Type.Object({ kind: Type.String() }),
  sources: Type.Array(
    Type.Object({
      name: Type.String(),
      state: Type.String(),
      fault: orNull(Type.String()),
      failures: Type.Integer(),
      strikes: Type.Integer(),
      kind: Type.String({ description: 'rpc, grpc or portal.' }),
      slotsBehind: orNull(
        Type.Integer({ description: 'How many slots it is behind the most advanced source.' }),
      ),
      activity: orNull(Type.String({ description: 'What a source that pushes blocks is doing.' })),
    }),
  ),
  backfill: orNull(
    Type.Object({
      to: Type.Integer(),
      slot: orNull(Type.Integer()),
      blocks: Type.Integer(),
      blocks_per_second: Type.Number(),
      seconds_left: orNull(Type.Number()),
    }),
  ),
  alarms: Type.Array(
    Type.Object({ code: Type.String(), message: Type.String(), sinceUnixMs: Type.Number() }),
  ),
  counters: Type.Record(Type.String(), Type.Number()),
});
