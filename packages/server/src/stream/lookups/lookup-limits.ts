/** How much one lookup may read. `docs/http.md` lists the same numbers. */
export const LOOKUP_LIMITS = {
  /** Segments whose indexes one request for an account, or for activity, looks into. */
  segmentCountMax: 64,
  /** Unsealed blocks, each a small segment in memory, that such a request looks into. */
  hotBlockCountMax: 512,
  /** Segments whose plans an estimate adds up; of more it takes evenly spread ones. */
  estimateSegmentCountMax: 256,
  /** Segments that the engine's threads have open for one lookup at a time. */
  batchCountMax: 64,
  /** The first batch of a search that may end early. Each further batch is twice as large. */
  batchCountFirst: 4,
} as const;
