/** The JSON of `GET /activity` and `POST /estimate`, which `docs/http.md` describes. */

type Counts<Name extends string> = Readonly<Record<Name, number>>;

export type ActivityListName = 'programs' | 'discriminators' | 'mints' | 'accounts';

/** The most active addresses of a range. Counts are numbers of transactions. */
export interface Activity {
  readonly fromBlock: number;
  readonly toBlock: number;
  /** False if the counted range is shorter than the requested one. */
  readonly isComplete: boolean;
  readonly blocks: number;
  readonly transactions: number;
  readonly programs: readonly { readonly programId: string; readonly transactions: number }[];
  readonly discriminators: readonly {
    readonly programId: string;
    readonly discriminator: string;
    readonly transactions: number;
  }[];
  readonly mints: readonly { readonly mint: string; readonly transactions: number }[];
  readonly accounts: readonly { readonly account: string; readonly transactions: number }[];
  /** Whether the counts of a list are exact. If not they are lower bounds. */
  readonly exact: Readonly<Record<ActivityListName, boolean>>;
}

/** The estimated cost of a query. */
export interface Estimate {
  readonly fromBlock: number;
  readonly toBlock: number;
  /** Whether the numbers are scaled up from a sample of the segments. */
  readonly isSampled: boolean;
  readonly segments: Counts<'total' | 'examined' | 'withCandidates'>;
  readonly blocks: Counts<'total' | 'withCandidates'>;
  readonly transactions: Counts<'total' | 'toExamine'>;
  readonly bytesToRead: number;
}
