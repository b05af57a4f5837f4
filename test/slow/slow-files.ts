/** Tests next to the sources that take longest. `npm run test:service` runs them, so that `npm test` takes less than five minutes. */
export const slowFiles = [
  'packages/server/src/app/portal.test.ts',
  'packages/server/src/app/remote/bucket-indexes.test.ts',
  'packages/server/src/cli/commands/export.test.ts',
  'packages/server/src/cli/commands/import.test.ts',
  'packages/server/src/engine/large-segments.test.ts',
  'packages/server/src/ingest/alarms.test.ts',
  'packages/server/src/ingest/backfill/backfill.test.ts',
  'packages/server/src/ingest/grpc-follow.test.ts',
  'packages/server/src/ingest/prepare/prepared-block.test.ts',
  'packages/server/src/stream/skipping-evaluator.test.ts',
  'packages/simulator/src/content/recipe.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/simulation/damage.test.ts',
  'test/simulation/kill-matrix.test.ts',
];
