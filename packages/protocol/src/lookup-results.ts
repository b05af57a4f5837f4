/** The JSON of `GET /activity`, `GET /coverage`, `GET /digest`, `POST /estimate` and `POST /count`, which `docs/http.md` describes. */
import type { RecordArray } from './field-table.ts';

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
  /** How many records of each kind, and blocks with a line, a response has: never fewer than `min` and never more than `max`. */
  readonly bounds: Readonly<Record<RecordArray | 'blocks', EstimateBounds>>;
}

export interface EstimateBounds {
  readonly min: number;
  /** Null if the query selects records of the kind and not all segments were examined. */
  readonly max: number | null;
}

/** The exact number of records that a query selects, by kind. */
export interface RecordCount extends Counts<RecordArray> {
  readonly fromBlock: number;
  /** The last slot that was counted. */
  readonly toBlock: number;
  /** False if the range has more than one request counts. The rest begins after `toBlock`. */
  readonly isComplete: boolean;
  /** The number of blocks with a selected record, and the slots of the first and the last of them. */
  readonly blocks: number;
  readonly firstBlock: number | null;
  readonly lastBlock: number | null;
}

/** Consecutive slots of which the same is known. */
export interface CoverageRange {
  /** Slots, both inclusive. */
  readonly from: number;
  readonly to: number;
  readonly state: 'stored' | 'skipped' | 'notFinal' | 'missing';
  readonly reason: string;
}

/** What a dataset has of a range of slots. */
export interface Coverage {
  readonly fromBlock: number;
  /** The last slot that is described. */
  readonly toBlock: number;
  /** False if the range has more slots than one request describes. The rest begins after `toBlock`. */
  readonly isComplete: boolean;
  /** The number of slots of each state. */
  readonly slots: Counts<CoverageRange['state']>;
  /** Ascending, without gaps. */
  readonly ranges: readonly CoverageRange[];
}

/** A digest of the final blocks of a range. Equal digests of equal ranges mean equal blocks and records. */
export interface RangeDigest {
  /** Digests of different versions cannot be compared. */
  readonly version: number;
  readonly fromBlock: number;
  /** The last slot that is included. */
  readonly toBlock: number;
  /** False if the range has more than one request includes, or slots that are not final. The rest begins after `toBlock`. */
  readonly isComplete: boolean;
  readonly blocks: number;
  /** The number of records of each kind. */
  readonly records: Counts<RecordArray>;
  /** 64 hexadecimal digits: the sum of the SHA-256 of the line of each block, modulo 2^256. */
  readonly digest: string;
}

/**
 * The type of a decoded value: `u64`, `i128`, `f64`, `bool`, `address`, `bytes`, `text` (also an enum whose variants have no values), `struct`
 * with its `fields`, or `json` for lists and everything else.
 */
export interface ProgramField {
  readonly name: string;
  readonly type: string;
  /** Whether the value may be null. */
  readonly isOptional?: true;
  readonly fields?: readonly ProgramField[];
}

/** The names and types by which the instructions and events of a program are decoded. */
export interface ProgramInterface {
  readonly programId: string;
  /** The name of the program in its IDL. */
  readonly program: string;
  readonly instructions: readonly {
    readonly name: string;
    readonly args: readonly ProgramField[];
    readonly accounts: readonly string[];
    /** Whether the IDLs of the program describe it in several ways. This is the first one. */
    readonly isVaried?: true;
  }[];
  readonly events: readonly {
    readonly name: string;
    readonly args: readonly ProgramField[];
    readonly isVaried?: true;
  }[];
}
