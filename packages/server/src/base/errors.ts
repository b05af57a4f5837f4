import { getSystemErrorMap } from 'node:util';

/**
 * The one catalogue of what can go wrong in the world around us. A code is public, documented in `docs/errors.md`, and
 * never reused. `status` is the HTTP status where a client can meet the code; codes without one stay inside the process.
 */
export interface ErrorRow {
  /** What is wrong and what to do about it. */
  readonly text: string;
  readonly status?: number;
  readonly retryAfterSeconds?: number;
}

export const ERRORS = {
  // The command line.
  'cli-usage': { text: 'the command line is wrong' },
  'cli-file-unreadable': { text: 'the file cannot be read' },
  'cli-file-too-large': { text: 'the file is longer than one of its kind can be' },
  'cli-file-is-input': {
    text: 'the file to write is one of those to read; name another',
  },
  'cli-file-exists': { text: 'the file exists already; name another, or use --force' },
  'cli-file-unwritable': { text: 'the file cannot be written' },
  'cli-file-irregular': {
    text: 'what is at this path is no regular file and is not replaced; name another',
  },
  'cli-interrupted': { text: 'interrupted; nothing was written' },
  'cli-dataset-missing': {
    text: 'there is no such dataset; name one that the service has or the data folder holds, or give an address: http://HOST:PORT/datasets/NAME',
  },
  'cli-dataset-ambiguous': { text: 'there are several datasets; name one of them' },
  'cli-out-differs': {
    text: 'the output file was written by another query; name another file, or use --force to begin it again',
  },
  'cli-out-damaged': {
    text: 'the output file cannot be resumed; name another file, or use --force to begin it again',
  },
  'cli-out-format': {
    text: 'a file that can be resumed holds lines or rows; use --output jsonl or --output csv',
  },
  'cli-follow-folder': {
    text: 'a data folder does not grow under this command; start sluice serve and name its address to follow',
  },
  'query-interrupted': {
    text: 'interrupted; with --out the same command goes on where it stopped',
  },
  'doctor-failed': { text: 'something is wrong, named above with what to do' },

  // A running service that a command asks.
  'service-unreachable': {
    text: 'no service answers at this address; start one with sluice serve, or name another address (SLUICE_URL)',
  },
  'service-foreign': { text: 'what answers at this address is no Sluice; check the address' },
  'service-refused': {
    text: 'the service refused the request; a key that it wants comes from SLUICE_KEY',
  },
  'service-dataset-missing': {
    text: 'the service of SLUICE_URL does not answer, or has no such dataset; sluice status lists what it has',
  },

  // The configuration: every refusal names the key and the line, and shows no secret.
  'config-not-yaml': { text: 'the configuration is not valid YAML' },
  'config-key-unknown': { text: 'the configuration has a key that does not exist' },
  'config-key-missing': { text: 'the configuration lacks a key that it needs' },
  'config-key-useless': {
    text: 'the configuration has a key that would have no effect; remove it, or add what it needs',
  },
  'config-value-invalid': { text: 'the configuration has a value that it cannot have' },
  'config-variable-unset': {
    text: 'the configuration names an environment variable that is not set or empty; set it, or write $${ for a plain ${',
  },
  'config-invalid': { text: 'there are faults in the configuration, named above; mend them' },

  // The simulated node.
  'simulator-option-invalid': {
    text: 'an option of the simulated ledger has a value it cannot have',
  },
  'simulator-fault-invalid': { text: 'a fault cannot be set like that', status: 400 },
  'simulator-fault-unknown': { text: 'no fault has this id; GET /faults lists them', status: 404 },
  'simulator-time-invalid': { text: 'the time cannot be changed like that', status: 400 },
  'listen-failed': { text: 'the address cannot be listened on; choose another port or host' },

  // A block as a source delivered it: refused whole, never stored in part.
  'block-not-utf8': { text: 'the block is not valid UTF-8; ask another source, or mend the file' },
  'block-not-json': { text: 'the block is not valid JSON; ask another source, or mend the file' },
  'block-lone-surrogate': {
    text: 'the block escapes half of a surrogate pair, which is no text; ask another source, or mend the file',
  },
  'block-too-large': {
    text: 'the block is larger than the limit; raise it, or ask another source',
  },
  'block-too-deep': {
    text: 'the block nests deeper than any real block; ask another source, or mend the file',
  },
  'block-field-missing': {
    text: 'the block lacks a field that every block has; ask another source, or mend the file',
  },
  'block-field-invalid': {
    text: 'a field of the block has a value it cannot have; ask another source, or mend the file',
  },
  'block-meta-missing': {
    text: 'the source lacks the statuses of this block; ask another source, or make the dataset so that it may lack them: --meta-optional, or --allow-missing meta',
  },
  'block-kind-missing': {
    text: 'the source lacks a kind of records of this block; ask another source, or make the dataset so that it may lack it: --allow-missing logs, rewards, or both with a comma',
  },
  'block-counts-differ': {
    text: 'the block does not hold as many records of a kind as the portal says it has; ask another source',
  },
  'block-parent-not-below': { text: 'the parent of a block must have a lower slot' },
  'block-pool-full': { text: 'too many blocks wait to be normalized; deliver them more slowly' },
  'block-pool-closed': { text: 'the block was not normalized because the service is stopping' },
  'block-worker-died': {
    text: 'the thread that normalized this block ended; ask for the block again',
  },

  // A file of blocks.
  'block-file-unreadable': { text: 'the file of blocks cannot be read' },
  'block-line-invalid': { text: 'a line of the file is no block; correct the file' },
  'block-slots-not-ascending': {
    text: 'the slots of the blocks must ascend, over all files in their order; sort them',
  },
  'import-block-foreign': {
    text: 'the dataset does not hold this block, and its slot is not above the head; import it into another dataset',
  },
  'import-interrupted': { text: 'interrupted; what was imported stays, run it again to go on' },

  // History below the first stored block.
  'backfill-too-early': {
    text: 'the dataset has no finalized block yet that history could be linked to; serve it until it has one',
  },
  'backfill-anchor-unknown': {
    text: 'the hash of the block below the first stored one is not known, so no history can be linked to it; make the dataset again from an earlier slot',
  },
  'backfill-sources-unusable': {
    text: 'no source can be used: the key was refused, or it serves another ledger; check the addresses',
  },
  'backfill-pruned': {
    text: 'no source has older blocks; what came so far stays, run it again with a source that has more history',
  },
  'backfill-stuck': {
    text: 'no source delivers the next older block; what came so far stays, run it again or with another source',
  },
  'backfill-interrupted': { text: 'interrupted; what came so far stays, run it again to go on' },

  // A chain: what a source offers is checked against what is stored, and refused whole.
  'chain-not-linked': { text: 'the block is no child of the block below it' },
  'chain-height-wrong': { text: "the height of the block is not one more than its parent's" },
  'chain-hash-reused': { text: 'the hash of the block belongs to another block already' },
  'chain-ancestor-unknown': { text: 'the branch does not grow from a block of this chain' },
  'chain-fork-below-finality': {
    text: 'the branch leaves the chain below its finalized head; the source is on another ledger or lies',
  },
  'chain-finality-contradicted': {
    text: 'the source reports another finalized block than the one stored as finalized',
  },
  'chain-finality-unknown': { text: 'the block reported as finalized is not stored' },
  'chain-trim-too-high': { text: 'retention would drop blocks that are not finalized yet' },

  // A query: every one names the path of the offending value, what was found and what is allowed.
  'query-too-large': { status: 413, text: 'the query is too large' },
  'query-not-utf8': { status: 400, text: 'the query is not valid UTF-8' },
  'query-not-json': { status: 400, text: 'the query is not valid JSON' },
  'query-too-deep': { status: 400, text: 'the query nests too deep' },
  'query-key-duplicate': { status: 400, text: 'an object of the query has a key twice' },
  'query-key-unknown': { status: 400, text: 'the query has a key that does not exist' },
  'query-key-missing': { status: 400, text: 'the query lacks a key that it needs' },
  'query-value-invalid': { status: 400, text: 'the query has a value of the wrong type' },
  'query-block-number-invalid': {
    status: 400,
    text: 'a block number of the query is no number of a block',
  },
  'query-address-invalid': {
    status: 400,
    text: 'an address of the query is not base58 of 32 bytes',
  },
  'query-discriminator-invalid': {
    status: 400,
    text: 'the start of data in the query is no hex text of the right length',
  },
  'query-log-kind-invalid': {
    status: 400,
    text: 'the query asks for a kind of log that does not exist',
  },
  'query-type-not-allowed': {
    status: 400,
    text: 'the dataset does not answer queries of this type',
  },
  'query-items-too-many': { status: 400, text: 'the query has too many items; split it' },
  'query-values-too-many': { status: 400, text: 'the query has too many values; split it' },
  'range-reversed': { status: 400, text: 'toBlock is below fromBlock' },
  'range-unavailable': { status: 400, text: 'fromBlock is below start_block; ask from there' },

  // Segments.
  'segment-not-one': { text: 'this is not a segment: it does not begin as one' },
  'segment-version-unknown': {
    text: 'this segment has a format version that this program does not know; use the one that wrote it, or a newer one',
  },
  'file-unreadable': {
    text: 'the file cannot be opened; check the path and its permissions',
  },
  'segment-damaged': {
    text: 'a part of this segment is damaged; restore the file from a copy or fetch its blocks again',
  },

  // The disk.
  'storage-missing': { text: 'a file or folder is not there' },
  'storage-full': { text: 'the disk is full; make room, writing goes on by itself' },
  'storage-forbidden': {
    text: 'the rights of a file or folder do not allow this; give them to the user that runs sluice',
  },
  'storage-failed': { text: 'the disk refused an operation; see the log of the machine' },
  'data-folder-locked': {
    text: 'another process writes to this data folder; stop it, or choose another folder',
  },
  'data-folder-lock-lost': {
    text: 'the lock of the data folder was taken away; it is taken again, unless another process has it by then',
  },
  'data-folder-unusable': {
    text: 'the data folder cannot be made or written to; choose another, or mend its rights',
  },
  'journal-damaged': {
    text: 'the journal is damaged in its middle; restore the dataset from a copy, or fetch it again',
  },
  'journal-missing': {
    text: 'the journal is gone, without which nobody knows which of the segments count; nothing was touched: restore the dataset from a copy, or fetch it again',
  },
  'payload-gone': { text: 'the stored bytes of a block are gone; read again from a new snapshot' },
  'payload-damaged': { text: 'the stored bytes of a block do not match their checksum' },

  // A dataset.
  'dataset-version-unknown': {
    text: 'the dataset was written in a format that this program does not know; use the program that wrote it, or a newer one',
  },
  'dataset-upgrade-needed': {
    text: 'the dataset was written in an older format; convert it with "sluice dataset upgrade NAME", which keeps all blocks',
  },
  'dataset-manifest-damaged': {
    text: 'the manifest of the dataset is damaged; restore it from a copy',
  },
  'dataset-name-invalid': {
    text: 'the name of a dataset must be 1 to 64 of a-z, 0-9 and -, not beginning with -',
  },
  'dataset-missing': {
    text: 'there is no dataset of this name in the data folder; sluice dataset list shows those there are',
  },
  'dataset-name-differs': {
    text: 'the folder holds a dataset of another name; correct the name or the folder',
  },
  'dataset-name-taken': {
    text: 'another dataset that is served has this name or alias; serve one of them',
  },
  'dataset-folder-shared': {
    text: 'the folder of this dataset is a data folder with datasets of its own, as that of npm start is; choose another name or folder',
  },
  'dataset-drop-unconfirmed': {
    text: 'nothing was done: this removes the dataset and all its blocks for good; say --yes to do it',
  },
  'verify-damaged': {
    text: 'there is damage, named above; restore the files from a copy, or mend their rights',
  },
  'verify-interrupted': { text: 'interrupted; not everything was looked at' },
  'dataset-genesis-differs': {
    text: 'the source serves another ledger than the one this dataset holds',
  },
  'dataset-write-failed': {
    text: 'the dataset could not be written; it serves what is durable and opens its journal again',
  },
  'dataset-closed': { text: 'the dataset is closed' },
  'segment-merge-failed': {
    text: 'blocks could not be merged into a segment; they stay where they are',
  },

  // A source.
  'source-address-invalid': { text: 'the address of a source must begin with http:// or https://' },
  'portal-address-invalid': {
    text: 'the address of a portal is that of one of its datasets: http://HOST/datasets/NAME',
  },
  'source-start-missing': {
    text: 'no source has the block to start from; start later (--from earliest), or add one with more history',
  },
  'disk-floor-reached': {
    text: 'too little of the disk is free; writing goes on by itself once there is room',
  },

  // The listeners.
  'keys-invalid': { text: 'a line of the key file is not a SHA-256 in hex with an optional name' },
  'key-name-invalid': { text: 'the name of a key must be 1 to 64 characters without spaces and #' },
  'auth-undecided': {
    text: 'an address beyond loopback needs a decision: --auth none (SLUICE_AUTH=none, listen.auth: none) or --keys FILE (SLUICE_KEYS=FILE, listen.keys: FILE)',
  },

  'open-files-too-few': {
    text: 'the system lets this process open too few files; raise the limit: ulimit -n, LimitNOFILE of systemd, --ulimit nofile of docker',
  },
  'datasets-missing': {
    text: 'there is no dataset in this folder that can be served; import one, or follow a node with --rpc',
  },

  // Requests: what a client can meet beside a refused query, by status.
  'request-malformed': { status: 400, text: 'the request is not valid HTTP' },
  'body-not-gzip': { status: 400, text: 'the body is not a whole gzip stream' },
  'time-invalid': { status: 400, text: 'a time is a whole number of unix seconds' },
  'key-missing': {
    status: 401,
    text: 'a key is needed: send it as Authorization: Bearer or X-API-Key',
  },
  'key-wrong': {
    status: 401,
    text: 'the key that was sent is not one that this service accepts; check it, or ask the operator for a new one',
  },
  'dataset-unknown': {
    status: 404,
    text: 'there is no dataset of this name; GET /datasets lists them',
  },
  'path-unknown': {
    status: 404,
    text: 'there is nothing at this path; GET /docs describes the interface',
  },
  'time-not-reached': { status: 404, text: 'no stored block has this time or a later one yet' },
  'operator-path-unknown': {
    status: 404,
    text: 'there is nothing at this path; the operator has /ready, /health and /metrics',
  },
  'method-wrong': { status: 405, text: 'this path does not take that method' },
  'request-too-slow': { status: 408, text: 'the request did not arrive in time; send it faster' },
  'body-too-large': {
    status: 413,
    text: 'the body is larger than the limit, on the wire or decompressed',
  },
  'content-type-wrong': { status: 415, text: 'send Content-Type: application/json' },
  'content-encoding-wrong': {
    status: 415,
    text: 'send the body as it is, or with Content-Encoding: gzip',
  },
  'key-limit-reached': {
    status: 429,
    retryAfterSeconds: 1,
    text: 'this key is over its limit; come back later',
  },
  'headers-too-large': { status: 431, text: 'the headers are larger than the limit' },
  'internal-error': {
    status: 500,
    text: 'a fault of the service; its log has more under the requestId',
  },
  'dataset-starting': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'the dataset has no block yet, so it does not know where it starts; come back when it has one',
  },
  'dataset-opening': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'the dataset is being opened; come back in a moment',
  },
  'dataset-unavailable': {
    status: 503,
    retryAfterSeconds: 60,
    text: "the dataset cannot be opened; the service's log says why",
  },
  'service-closing': {
    status: 503,
    retryAfterSeconds: 5,
    text: 'the service is shutting down; come back in a moment',
  },
  'storage-unreachable': {
    status: 503,
    retryAfterSeconds: 10,
    text: 'the stored blocks of this range cannot be read now; come back later, or ask for another range',
  },
  'readers-too-slow': {
    status: 503,
    retryAfterSeconds: 5,
    text: 'too many bytes wait for slow readers; come back in a moment',
  },
  'queries-full': {
    status: 503,
    retryAfterSeconds: 5,
    text: 'the queries of the open streams are too large together; come back in a moment, or with a shorter one',
  },
  'streams-full': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'too many streams are open; come back in a moment',
  },
  'waiters-full': {
    status: 503,
    retryAfterSeconds: 2,
    text: 'too many readers wait at the head; come back in a moment',
  },

  // The threads that answer queries.
  'engine-cancelled': { text: 'the query was cancelled' },
  'engine-run-cut': { text: 'the query made room for others while its reader was elsewhere' },
  'engine-thread-failed': {
    text: 'a thread that answers queries failed; the query can be asked again',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
export type ErrorDetail = Readonly<Record<string, string | number | bigint | boolean | null>>;

/** A fault of the world with its code and the values that tell one occurrence from another. */
export class CodedError extends Error {
  override readonly name = 'CodedError';
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;

  constructor(code: ErrorCode, detail: ErrorDetail = {}, options?: ErrorOptions) {
    super(describe(code, detail), options);
    this.code = code;
    this.detail = detail;
  }
}

export function isCodedError(error: unknown, code?: ErrorCode): error is CodedError {
  return error instanceof CodedError && (code === undefined || error.code === code);
}

/** Details that may hold a code of the operating system, such as ENOENT. */
const systemCodeNames: ReadonlySet<string> = new Set(['reason', 'errno']);

const systemErrorTexts: ReadonlyMap<string, string> = new Map(getSystemErrorMap().values());

/** Returns what a code of the operating system means, and other texts as they are. */
function inWords(text: string, name: string): string {
  return (systemCodeNames.has(name) ? systemErrorTexts.get(text) : undefined) ?? text;
}

/** Details that say where something is on this machine. */
const placeNames: ReadonlySet<string> = new Set(['path', 'folder', 'file']);

/** The text of an error for those who may not see where things are: of a path it has the last name only. */
export function describeWithoutPlaces({ code, detail }: CodedError): string {
  const entries = Object.entries(detail).map(([name, value]) => [
    name,
    placeNames.has(name) ? String(value).replace(/.*[/\\](?=.)/s, '') : value,
  ]);
  return describe(code, Object.fromEntries(entries));
}

function describe(code: ErrorCode, detail: ErrorDetail): string {
  const values = Object.entries(detail).map(
    ([name, value]) => `${name} ${inWords(String(value), name)}`,
  );
  return values.length === 0 ? ERRORS[code].text : `${ERRORS[code].text} (${values.join(', ')})`;
}
