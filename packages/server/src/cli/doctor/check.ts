/** What a check of `sluice doctor` found. */
export interface Finding {
  readonly area:
    | 'configuration'
    | 'data'
    | 'sources'
    | 'store'
    | 'feed'
    | 'ports'
    | 'clock'
    | 'system';
  readonly state: 'ok' | 'warning' | 'wrong';
  readonly text: string;
  /** What to do; absent where nothing is wrong. */
  readonly remedy?: string;
}
