/**
 * All alarm codes. They are public: metrics and `/status` show them, alert rules refer to them, and `docs/operating.md`
 * says what to do about each. An alarm with the code of an error was raised by that error.
 */

/**
 * Alarms about wrong data from a source. They are cleared when the chain grows, regardless of which source provided the
 * blocks.
 */
export const GROWTH_ALARMS = [
  'block-bytes-invalid',
  'block-counts-differ',
  'block-field-invalid',
  'block-field-missing',
  'block-kind-missing',
  'block-lone-surrogate',
  'block-meta-missing',
  'block-not-json',
  'block-not-utf8',
  'block-parent-not-below',
  'block-too-deep',
  'block-too-large',
  'block-version-unknown',
  'chain-ancestor-unknown',
  'chain-fork-below-finality',
  'chain-hash-reused',
  'chain-height-wrong',
  'chain-not-linked',
  'ingest-stalled',
  'source-disagrees',
  'source-hole',
  'source-unlinked',
] as const;

/** All alarms that ingestion raises. They are cleared when it ends. */
export const INGEST_ALARMS = [
  ...GROWTH_ALARMS,
  'backfill-stalled',
  'dataset-genesis-differs',
  'dataset-maintenance-failed',
  'finality-stalled',
  'portal-content-differs',
  'source-contradicts-finality',
  'source-key-rejected',
  'source-start-missing',
  'sources-down',
] as const;

export const ALARM_CODES = [
  ...INGEST_ALARMS,
  'dataset-unavailable',
  'dataset-unfed',
  'dataset-upkeep-failed',
  'dataset-write-failed',
  'disk-floor-reached',
  'feed-full',
  'feed-unreachable',
  'files-unread',
  'open-files-exhausted',
  'segment-damaged',
  'store-unreachable',
] as const;

export type AlarmCode = (typeof ALARM_CODES)[number];

export function isAlarmCode(code: string): code is AlarmCode {
  return ALARM_CODES.some((known) => known === code);
}
