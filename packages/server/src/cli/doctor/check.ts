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
  /** What to do; absent if there is no problem. */
  readonly remedy?: string;
}
