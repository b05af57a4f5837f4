import { getSystemErrorMap } from 'node:util';
import { COMMAND_ERRORS } from './command-errors.ts';
import type { ErrorDetails } from './error-details.ts';
import { REMOTE_ERRORS } from './remote-errors.ts';

/**
 * The catalogue of all errors that the environment can cause: bad input, failing sources, full disks. Codes are public,
 * documented in `docs/errors.md`, and never reused. `status` is the HTTP status of a response with this code. Codes
 * without a status do not appear in responses.
 */
export interface ErrorRow {
  /** What is wrong, and what to do about it. */
  readonly text: string;
  readonly status?: number;
  readonly retryAfterSeconds?: number;
}

export const ERRORS = {
  ...COMMAND_ERRORS,

  // A block from a source. An invalid block is rejected as a whole, never stored in part.
  'block-not-utf8': {
    text: 'the block is not valid UTF-8; use another source, or correct the file',
  },
  'block-not-json': {
    text: 'the block is not valid JSON; use another source, or correct the file',
  },
  'block-lone-surrogate': {
    text: 'the block contains an escaped lone surrogate, which is not valid text; use another source, or correct the file',
  },
  'block-bytes-invalid': {
    text: 'the binary form of the block is damaged or of an unknown kind; use another source, or copy the file again',
  },
  'block-version-unknown': {
    text: 'the block contains a transaction of a version that this release cannot read in binary form; upgrade, or use another source',
  },
  'block-too-large': {
    text: 'the block is larger than the limit; use another source',
  },
  'block-too-deep': {
    text: 'the block is nested deeper than any real block; use another source, or correct the file',
  },
  'block-field-missing': {
    text: 'the block lacks a required field; use another source, or correct the file',
  },
  'block-field-invalid': {
    text: 'a field of the block has a value that is not allowed; use another source, or correct the file',
  },
  'block-meta-missing': {
    text: 'the source does not have the transaction statuses of this block; use another source, or create the dataset with --meta-optional or --allow-missing meta',
  },
  'block-kind-missing': {
    text: 'the source does not have one of the record kinds of this block; use another source, or create the dataset with --allow-missing logs, rewards, or both separated by a comma',
  },
  'block-counts-differ': {
    text: 'the block has a different number of records of a kind than the portal reports; use another source',
  },
  'grpc-message-invalid': {
    text: 'a message of the gRPC server is damaged or of an unknown format; use another server',
  },
  'block-parent-not-below': { text: 'the parent of a block must have a lower slot' },
  'block-pool-full': { text: 'too many blocks wait to be normalized; deliver them more slowly' },
  'block-pool-closed': { text: 'the block was not normalized because the service is stopping' },
  'block-worker-died': {
    text: 'the worker thread that normalized this block exited; request the block again',
  },

  // A file of blocks.
  'block-file-unreadable': { text: 'the file of blocks cannot be read' },
  'block-line-invalid': { text: 'a line of the file is not a block; correct the file' },
  'block-slots-not-ascending': {
    text: 'the slots of the blocks must ascend across all files in the given order; sort them',
  },
  'import-block-foreign': {
    text: 'the dataset does not contain this block and its slot is not above the head; import it into another dataset',
  },
  'archive-invalid': {
    text: 'the file is not an archive of blocks, or it is damaged or incomplete; copy it again',
  },
  'archive-hole': {
    text: 'blocks are missing in the archive; load the missing slots from another source or file, then run the command again',
  },
  'import-parent-unknown': {
    text: 'the node does not return the parent of the first block; use another node, or import without --rpc',
  },
  'import-interrupted': {
    text: 'interrupted; the imported blocks are kept, run the command again to continue',
  },

  // History below the first stored block.
  'backfill-too-early': {
    text: 'the dataset has no finalized block yet to which history could be linked; serve it until it has one',
  },
  'backfill-anchor-unknown': {
    text: 'the hash of the block below the first stored one is unknown, so history cannot be linked to it; create the dataset again from an earlier slot',
  },
  'backfill-sources-unusable': {
    text: 'no source is usable: each rejected the key or serves another ledger; check the addresses',
  },
  'backfill-pruned': {
    text: 'no source has older blocks; the blocks received so far are kept, run the command again with a source that has more history',
  },
  'backfill-stuck': {
    text: 'no source delivers the next older block; the blocks received so far are kept, run the command again, or use another source',
  },
  'backfill-interrupted': {
    text: 'interrupted; the blocks received so far are kept, run the command again to continue',
  },

  // A chain. The blocks of a source are checked against the stored ones, and rejected as a whole.
  'chain-segments-changed': {
    text: 'segments were removed while they were being merged, or blocks were sealed by another commit; the work is repeated with the others',
  },
  'chain-not-linked': { text: 'the block is not a child of the block below it' },
  'chain-height-wrong': { text: "the height of the block is not one more than its parent's" },
  'chain-hash-reused': { text: 'the hash of the block already belongs to another block' },
  'chain-ancestor-unknown': { text: 'the branch does not start from a block of this chain' },
  'chain-fork-below-finality': {
    text: 'the branch leaves the chain below the finalized head; the source follows another ledger or returns wrong data',
  },
  'chain-finality-contradicted': {
    text: 'the source reports a finalized block that differs from the stored finalized block',
  },
  'chain-finality-unknown': { text: 'the block reported as finalized is not stored' },
  'chain-trim-too-high': { text: 'retention would remove blocks that are not finalized yet' },

  // A query. Every error names the path of the invalid value, the value found and the allowed values.
  'query-too-large': { status: 413, text: 'the query is too large' },
  'query-not-utf8': { status: 400, text: 'the query is not valid UTF-8' },
  'query-not-json': { status: 400, text: 'the query is not valid JSON' },
  'query-too-deep': { status: 400, text: 'the query is nested too deeply' },
  'query-key-duplicate': { status: 400, text: 'an object of the query has the same key twice' },
  'query-key-unknown': { status: 400, text: 'the query has a key that does not exist' },
  'query-key-missing': { status: 400, text: 'the query lacks a required key' },
  'query-value-invalid': { status: 400, text: 'the query has a value of the wrong type' },
  'query-block-number-invalid': {
    status: 400,
    text: 'a block number of the query is not a valid block number',
  },
  'query-address-invalid': {
    status: 400,
    text: 'an address of the query is not base58 of 32 bytes',
  },
  'query-discriminator-invalid': {
    status: 400,
    text: 'a data prefix of the query is not hexadecimal text of the right length',
  },
  'query-name-unknown': {
    status: 400,
    text: 'no IDL of the programs describes an instruction with this name; register the IDL, or filter by discriminator',
  },
  'query-log-kind-invalid': {
    status: 400,
    text: 'the query names a log kind that does not exist',
  },
  'query-type-not-allowed': {
    status: 400,
    text: 'the dataset does not allow queries of this type',
  },
  'query-items-too-many': { status: 400, text: 'the query has too many items; split it' },
  'query-values-too-many': { status: 400, text: 'the query has too many values; split it' },
  'range-reversed': { status: 400, text: 'toBlock is below fromBlock' },
  'range-unavailable': {
    status: 400,
    text: 'the range starts below start_block; start from there',
  },

  // Segments.
  'segment-not-one': {
    text: 'the file is not a segment: it does not start with the segment magic',
  },
  'segment-version-unknown': {
    text: 'the segment has a format version that this program does not support; use the version that wrote it, or a newer one',
  },
  'file-unreadable': {
    text: 'the file cannot be opened; check the path and its permissions',
  },
  'segment-damaged': {
    text: 'a part of this segment is damaged; restore the file from a backup, or fetch its blocks again',
  },
  'segment-missing': {
    text: 'the file of a segment is missing; restore it from a backup, or fetch its blocks again',
  },
  'segment-list-damaged': {
    text: 'a list of segments is damaged; restore its file in the folder lists from a backup',
  },

  // The disk.
  'storage-missing': { text: 'a file or folder does not exist' },
  'storage-full': { text: 'the disk is full; free some space, writing resumes by itself' },
  'storage-forbidden': {
    text: 'the permissions of a file or folder do not allow this; grant access to the user that runs sluice',
  },
  'storage-failed': { text: 'a disk operation failed; see the system log' },
  'data-folder-locked': {
    text: 'another process writes to this data folder; stop it, or choose another folder',
  },
  'data-folder-lock-lost': {
    text: 'the lock of the data folder was lost; the process acquires it again, unless another process holds it by then',
  },
  'data-folder-unusable': {
    text: 'the data folder cannot be created or written to; choose another folder, or correct its permissions',
  },
  'journal-damaged': {
    text: 'the journal is damaged before its end; restore the dataset from a backup, or fetch it again',
  },
  'journal-missing': {
    text: 'the journal is missing, and it alone records which segments belong to the dataset; nothing was changed: restore the dataset from a backup, or fetch it again',
  },
  'payload-gone': {
    text: 'the stored bytes of a block were removed; read again from a new snapshot',
  },
  'payload-damaged': { text: 'the stored bytes of a block do not match their checksum' },

  // A dataset.
  'dataset-version-unknown': {
    text: 'the dataset was written in a format that this program does not support; use the version that wrote it, or a newer one',
  },
  'dataset-upgrade-needed': {
    text: 'the dataset was written in an older format; convert it with "sluice dataset upgrade NAME", which keeps all blocks',
  },
  'dataset-manifest-damaged': {
    text: 'the manifest of the dataset is damaged; restore it from a backup',
  },
  'dataset-name-invalid': {
    text: 'a dataset name must have 1 to 64 characters of a-z, 0-9 and -, and must not start with -',
  },
  'dataset-missing': {
    text: 'the data folder has no dataset with this name; "sluice dataset list" lists the datasets',
  },
  'dataset-name-differs': {
    text: 'the folder contains a dataset with another name; correct the name or the folder',
  },
  'dataset-name-taken': {
    text: 'another served dataset has this name or alias; serve only one of them',
  },
  'dataset-folder-shared': {
    text: 'the folder of this dataset is a data folder with datasets of its own, such as the folder of npm start; choose another name or folder',
  },
  'dataset-drop-unconfirmed': {
    text: 'nothing was done: this command removes the dataset and all its blocks permanently; confirm with --yes',
  },
  'verify-damaged': {
    text: 'damage was found, listed above; run sluice repair to replace the damaged parts, or correct the permissions of the files',
  },
  'verify-interrupted': { text: 'interrupted; not everything was checked' },
  'dataset-genesis-differs': {
    text: 'the source serves a different ledger than the one in this dataset',
  },
  'dataset-write-failed': {
    text: 'the dataset could not be written; it keeps serving the durable blocks and opens its journal again',
  },
  'dataset-closed': { text: 'the dataset is closed' },
  'segment-merge-failed': {
    text: 'blocks could not be merged into a segment; they stay in the journal',
  },

  // A source.
  'source-address-invalid': { text: 'the address of a source must start with http:// or https://' },
  'portal-address-invalid': {
    text: 'the address of a portal must name one of its datasets: http://HOST/datasets/NAME',
  },
  'source-start-missing': {
    text: 'no source has the block to start from; choose a later start (--from earliest), or add a source with more history',
  },
  'disk-floor-reached': {
    text: 'the free disk space is below the configured minimum; writing resumes by itself when there is enough space',
  },

  // The listeners.
  'keys-invalid': { text: 'a line of the key file is not a SHA-256 in hex with an optional name' },
  'key-name-invalid': { text: 'the name of a key must be 1 to 64 characters without spaces and #' },
  'auth-undecided': {
    text: 'listening beyond loopback requires an explicit choice: --auth none (SLUICE_AUTH=none, listen.auth: none) or --keys FILE (SLUICE_KEYS=FILE, listen.keys: FILE)',
  },

  'open-files-too-few': {
    text: 'the open file limit of this process is too low; raise it: ulimit -n, LimitNOFILE of systemd, --ulimit nofile of docker',
  },
  'datasets-missing': {
    text: 'this folder has no dataset that can be served; import one, or follow a node with --rpc',
  },

  // Requests: errors other than invalid queries, by status.
  'request-malformed': { status: 400, text: 'the request is not valid HTTP' },
  'body-not-gzip': { status: 400, text: 'the body is not a complete gzip stream' },
  'parameter-invalid': {
    status: 400,
    text: 'a parameter of the request is unknown, missing or not allowed',
  },
  'time-invalid': { status: 400, text: 'the time must be a whole number of unix seconds' },
  'key-missing': {
    status: 401,
    text: 'a key is required: send it as Authorization: Bearer or X-API-Key',
  },
  'key-wrong': {
    status: 401,
    text: 'the key of the request is not valid for this service; check it, or ask the operator for a new one',
  },
  'dataset-unknown': {
    status: 404,
    text: 'no dataset has this name; GET /datasets lists them',
  },
  'path-unknown': {
    status: 404,
    text: 'this path does not exist; GET /docs describes the interface',
  },
  'slot-skipped': {
    status: 404,
    text: 'this slot was skipped: the ledger has no block there; request a neighbouring slot',
  },
  'slot-above-head': {
    status: 404,
    text: 'this slot is above the head; GET /head returns the highest block; retry later',
  },
  'slot-below-start': {
    status: 404,
    text: 'this slot is below start_block; the dataset does not store it',
  },
  'transaction-unknown': {
    status: 404,
    text: 'no stored transaction has this signature; it may not be stored yet, or the dataset does not store its kind or slot',
  },
  'sealed-segment-unknown': {
    status: 404,
    text: 'the dataset has no such segment any more; GET /segments lists those that it has',
  },
  'time-not-reached': { status: 404, text: 'no stored block has this time or a later one yet' },
  'operator-path-unknown': {
    status: 404,
    text: 'this path does not exist; the operator listener has /ready, /health, /metrics, /idls and /sets',
  },
  'operator-not-local': {
    status: 403,
    text: 'IDLs and sets are changed from the machine of the service only; send the request from there, or change the configuration',
  },
  'method-wrong': { status: 405, text: 'this path does not support this method' },
  'request-too-slow': { status: 408, text: 'the request did not arrive in time; send it faster' },
  'body-too-large': {
    status: 413,
    text: 'the body is larger than the limit, on the wire or decompressed',
  },
  'content-type-wrong': { status: 415, text: 'send Content-Type: application/json' },
  'content-encoding-wrong': {
    status: 415,
    text: 'send the body uncompressed, or with Content-Encoding: gzip',
  },
  'key-limit-reached': {
    status: 429,
    retryAfterSeconds: 1,
    text: 'this key has reached its limit; retry later',
  },
  'headers-too-large': { status: 431, text: 'the headers are larger than the limit' },
  'internal-error': {
    status: 500,
    text: 'internal error; the log of the service has details under the requestId',
  },
  'dataset-starting': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'the dataset has no block yet, so its first slot is unknown; retry later',
  },
  'queries-elsewhere': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'this process only writes (role: write); send queries to one with the role read or both',
  },
  'dataset-opening': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'the dataset is being opened; retry later',
  },
  'dataset-unavailable': {
    status: 503,
    retryAfterSeconds: 60,
    text: 'the dataset cannot be opened; the log of the service has the reason',
  },
  'service-closing': {
    status: 503,
    retryAfterSeconds: 5,
    text: 'the service is shutting down; retry later',
  },
  'storage-unreachable': {
    status: 503,
    retryAfterSeconds: 10,
    text: 'the stored blocks of this range cannot be read now; retry later, or request another range',
  },
  'readers-too-slow': {
    status: 503,
    retryAfterSeconds: 5,
    text: 'too many bytes are buffered for slow readers; retry later',
  },
  'queries-full': {
    status: 503,
    retryAfterSeconds: 5,
    text: 'the queries of all open streams together are too large; retry later, or send a shorter query',
  },
  'lookups-full': {
    status: 503,
    retryAfterSeconds: 1,
    text: 'too many lookups run now; retry later',
  },
  'streams-full': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'too many streams are open; retry later',
  },
  'waiters-full': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'too many readers wait at the head; retry later',
  },

  ...REMOTE_ERRORS,

  // The worker threads that evaluate queries.
  'engine-cancelled': { text: 'the query was cancelled' },
  'engine-run-cut': {
    text: 'the run was stopped to free its memory for others while its reader was not reading; the service resumes it by itself',
  },
  'engine-thread-failed': {
    text: 'a worker thread that evaluates queries failed; the query can be sent again',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
export type ErrorDetail = Readonly<Record<string, string | number | bigint | boolean | null>>;

type NoDetail = Readonly<Record<string, never>>;

/** The arguments of an error after its code: the detail, which can be omitted if no value is required, and the options. */
export type DetailArguments<C extends ErrorCode> = C extends keyof ErrorDetails
  ? Partial<ErrorDetails[C]> extends ErrorDetails[C]
    ? [detail?: ErrorDetails[C], options?: ErrorOptions]
    : [detail: ErrorDetails[C], options?: ErrorOptions]
  : [detail?: NoDetail, options?: ErrorOptions];

/** An error caused by the environment, with its code and the values that distinguish this occurrence. */
export class CodedError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = 'CodedError';
  readonly code: C;
  readonly detail: ErrorDetail;

  /**
   * Recognizes an error by its name. A process can load this module twice, by its path and by the symbolic link of the workspace, and
   * an error of one copy must be recognized by the other.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof Error && value.name === 'CodedError';
  }

  constructor(code: C, ...rest: DetailArguments<C>) {
    const [detail = {}, options] = rest as unknown as [ErrorDetail?, ErrorOptions?];
    super(describe(code, detail), options);
    this.code = code;
    this.detail = detail;
  }
}

/**
 * Returns the arguments of an error whose code is known only at run time: an error that another thread sent, or a caught error to which
 * values are added.
 */
export function knownDetail(
  detail: ErrorDetail,
  options?: ErrorOptions,
): DetailArguments<ErrorCode> {
  return [detail, options] as unknown as DetailArguments<ErrorCode>;
}

/** Returns the same error with these values before its own. */
export function addDetail(cause: CodedError, detail: ErrorDetail): CodedError {
  return new CodedError(cause.code, ...knownDetail({ ...detail, ...cause.detail }, { cause }));
}

export function isCodedError<C extends ErrorCode>(
  error: unknown,
  code?: C,
): error is CodedError<C> {
  return error instanceof CodedError && (code === undefined || error.code === code);
}

/** The details that may contain an error code of the operating system, such as ENOENT. */
const systemCodeDetails: ReadonlySet<string> = new Set(['reason', 'errno']);

const systemErrorTexts: ReadonlyMap<string, string> = new Map(getSystemErrorMap().values());

/** Returns the meaning of an operating system error code, or any other text unchanged. */
function describeSystemCode(text: string, name: string): string {
  return (systemCodeDetails.has(name) ? systemErrorTexts.get(text) : undefined) ?? text;
}

/** The details that contain paths on this machine. */
const pathDetails: ReadonlySet<string> = new Set(['path', 'folder', 'file']);

/**
 * Returns the text of an error for readers who must not see the machine's folders: a path is shortened to its last
 * component.
 */
export function describeWithoutPaths({ code, detail }: CodedError): string {
  const entries = Object.entries(detail).map(([name, value]) => [
    name,
    pathDetails.has(name) ? String(value).replace(/.*[/\\](?=.)/s, '') : value,
  ]);
  return describe(code, Object.fromEntries(entries));
}

function describe(code: ErrorCode, detail: ErrorDetail): string {
  const values = Object.entries(detail).map(
    ([name, value]) => `${name} ${describeSystemCode(String(value), name)}`,
  );
  return values.length === 0 ? ERRORS[code].text : `${ERRORS[code].text} (${values.join(', ')})`;
}
