/** The limits of one lookup. `docs/http.md` lists the same numbers. */
export const LOOKUP_LIMITS = {
  /** How many segments one request for an account, for activity or for a count may search. */
  segmentCountMax: 64,
  /** How many bytes of segments one request for a count may read. It reads at least one segment. */
  countByteCountMax: 1 << 30,
  /** How many slots one request for coverage describes. */
  coverageSlotCountMax: 100_000,
  /** How many windows of stored digests one request for a digest reads, apart from those in memory. */
  digestReadCountMax: 4_096,
  /** After so many blocks, a request for a digest computes no further window of digests that are not stored. */
  digestBlockCountMax: 1_024,
  /** How many hot blocks, each a small segment in memory, a request for activity may count. */
  hotBlockCountMax: 512,
  /** How many segments an estimate includes. If there are more, it takes an evenly distributed sample. */
  estimateSegmentCountMax: 256,
  /** The same for hot blocks. There are more only if the ledger finalizes no blocks for a long time: 1,024 final ones are sealed. */
  estimateHotBlockCountMax: 2_048,
  /** How many segments the engine's threads open for one lookup at a time. */
  batchCountMax: 64,
  /** How many segments are asked at a time whether they can have a signature, and how many in the first batch. */
  probeCountMax: 1_024,
  probeCountFirst: 64,
  /** Segments of an object store whose index is fetched at the same time. The cache limits the requests. */
  probeFetchCountMax: 64,
  /** The first batch of a search that may end early. Each further batch is twice as large. */
  batchCountFirst: 4,
} as const;
