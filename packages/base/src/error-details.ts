/**
 * The values of an error for each code. The constructor of `CodedError` requires them. An error with a code that is not listed has no values.
 * Messages contain the values in the order in which they are given.
 */
export interface ErrorDetails {
  // The command line.
  'cli-usage': UsageDetail;
  'cli-file-unreadable': FileDetail & { readonly reason?: string };
  'cli-file-too-large': { readonly path: string; readonly bytesMax: number };
  'cli-file-is-input': { readonly path: string };
  'cli-block-not-convertible': {
    readonly path: string;
    readonly line?: number;
    readonly slot: number;
    readonly reason: string;
  };
  'cli-file-exists': { readonly path: string };
  'cli-folder-used': { readonly path: string };
  'cli-file-unwritable': { readonly path: string; readonly reason: string };
  'cli-file-irregular': { readonly path: string; readonly found?: string };
  'cli-interrupted': { readonly path?: string };
  'cli-dataset-missing': {
    readonly where?: string;
    readonly dataset?: string;
    readonly url?: string;
    readonly folder?: string;
    readonly found?: string;
  };
  'cli-dataset-ambiguous': { readonly where: string; readonly found: string };
  'cli-out-differs': { readonly path: string };
  'cli-out-damaged': { readonly path: string; readonly fault: string };
  'cli-out-format': { readonly output: string };
  'cli-follow-folder': { readonly folder: string };
  'doctor-failed': { readonly wrong: number };
  'service-unreachable': { readonly url: string; readonly reason: string };
  'service-foreign': { readonly url: string };
  'service-refused': RefusalDetail;
  'service-key-refused': RefusalDetail;
  'service-dataset-missing': {
    readonly dataset: string;
    readonly url: string;
    readonly found: string;
  };

  // The configuration.
  'config-not-yaml': { readonly line: number; readonly column: number; readonly fault: string };
  'config-key-unknown': ConfigLocation & { readonly nearest?: string; readonly known?: string };
  'config-key-missing': ConfigLocation & { readonly expected?: string };
  'config-key-useless': ConfigLocation & { readonly needs: string };
  'config-value-invalid': ConfigLocation & {
    readonly expected: string;
    readonly found?: string;
  };
  'config-variable-unset': ConfigLocation & { readonly variable: string };
  'config-invalid': { readonly faults: number };
  'auth-undecided': ConfigLocation & { readonly host: string };
  'keys-invalid': { readonly file?: string; readonly line: number };
  'key-name-invalid': { readonly name: string };
  'open-files-too-few': { readonly openFilesMax?: number; readonly needed?: number };
  'listen-failed': { readonly host: string; readonly port: number } & (
    | { readonly code: string }
    | { readonly reason: string }
  );

  // The simulated node.
  'simulator-option-invalid': {
    readonly option: string;
    readonly found: string | number;
    readonly expected: string;
  };
  'simulator-fault-invalid': {
    readonly path: string;
    readonly found: string;
    readonly expected: string;
    readonly nearest?: string;
  };
  'simulator-fault-unknown': { readonly id: string };
  'simulator-time-invalid': { readonly found: string; readonly expected: string };

  // Tables in a database.
  'sync-tables-invalid': {
    readonly path: string;
    readonly expected: string;
    readonly found?: string;
  };
  'sync-value-unknown': {
    readonly table: string;
    readonly column: string;
    readonly found: string;
    readonly nearest?: string;
    readonly known: string;
  };
  'sync-type-unfit': {
    readonly table: string;
    readonly column: string;
    readonly type: string;
    readonly allowed: string;
  };
  'sync-idl-missing': { readonly table: string; readonly programId: string };
  'sync-name-unknown': {
    readonly table: string;
    readonly name: string;
    readonly nearest?: string;
    readonly known: string;
  };
  'sync-target-unknown': { readonly found: string };
  'sync-target-unreachable': { readonly target: string; readonly reason: string };
  'sync-target-login': { readonly target: string; readonly reason: string };
  'sync-target-permission': { readonly target: string; readonly reason: string };
  'sync-target-failed': {
    readonly target: string;
    readonly code: string;
    readonly reason: string;
    readonly hint?: string;
  };
  'sync-package-missing': { readonly package: string };
  'sync-table-foreign': { readonly table: string };
  'sync-table-busy': { readonly table: string };
  'sync-table-changed': {
    readonly table: string;
    readonly changed: string;
    readonly stored: string;
    readonly given: string;
  };

  // A block from a source.
  'block-not-utf8': { readonly slot: number };
  'block-not-json': { readonly slot: number; readonly transaction?: number };
  'block-bytes-invalid': {
    readonly slot: number;
    readonly transaction?: number;
    readonly part: string;
    readonly offset: number;
    readonly fault: string;
  };
  'block-version-unknown': {
    readonly slot: number;
    readonly transaction?: number;
    readonly version: number;
  };
  'block-lone-surrogate': { readonly slot: number };
  'block-too-deep': { readonly slot: number };
  'block-too-large': { readonly slot: number; readonly bytes: number; readonly bytesMax: number };
  'block-field-missing': Partial<BlockLocation> & {
    readonly field: string;
    readonly expected?: string;
  };
  'block-field-invalid': BlockLocation & { readonly found: string; readonly expected: string };
  'block-meta-missing': BlockLocation;
  'block-kind-missing': {
    readonly slot: number;
    readonly transaction?: number;
    readonly kind: string;
  };
  'block-counts-differ': {
    readonly slot: number;
    readonly kind: string;
    readonly found: number;
    readonly expected: number;
  };
  'block-parent-not-below': { readonly slot: number; readonly parentSlot: number };
  'block-pool-full': { readonly slot: number; readonly waiting: number };
  'block-pool-closed': { readonly slot: number };
  'block-worker-died': { readonly slot: number; readonly exitCode?: number };
  'block-file-unreadable': {
    readonly path: string;
    readonly line?: number;
    readonly reason: string;
  };
  'block-line-invalid': {
    readonly path: string;
    readonly line?: number;
    readonly found?: string;
    readonly expected: string;
  };
  'block-slots-not-ascending': {
    readonly path: string;
    readonly line?: number;
    readonly slot: number;
    readonly before: number;
  };
  'import-block-foreign': {
    readonly path: string;
    readonly line?: number;
    readonly slot: number;
    readonly hash: string;
    readonly start: number | null;
    readonly head: number;
  };
  'grpc-message-invalid': { readonly offset: number; readonly fault: string };
  'archive-invalid': { readonly path: string; readonly offset: number; readonly fault: string };
  'archive-hole': {
    readonly path: string;
    readonly from: number;
    readonly to: number;
    readonly child: number;
  };
  'import-parent-unknown': { readonly slot: number; readonly cause: string };
  'import-interrupted': { readonly dataset: string; readonly head: number | null };

  // The chain.
  'chain-ancestor-unknown': BlockDetail;
  'chain-finality-contradicted': BlockDetail & { readonly finalizedHash: string };
  'chain-finality-unknown': BlockDetail;
  'chain-fork-below-finality': { readonly slot: number; readonly finalizedSlot: number };
  'chain-hash-reused': BlockDetail;
  'chain-height-wrong': {
    readonly slot: number;
    readonly height: number | null;
    readonly expectedHeight: number | null;
  };
  'chain-segments-changed': { readonly first: number; readonly last: number };
  'chain-not-linked': { readonly slot: number } & (
    | {
        readonly hash: string;
        readonly expectedSlot: number;
        readonly expectedHash: string | null;
      }
    | {
        readonly parentSlot: number;
        readonly parentHash?: string | null;
        readonly expectedParentSlot: number | string;
        readonly expectedParentHash?: string | null;
      }
  );
  'chain-trim-too-high': { readonly keepFrom: number; readonly finalizedSlot: number | null };
  'backfill-anchor-unknown': { readonly slot: number };
  'backfill-interrupted': { readonly slot: number };
  'backfill-pruned': { readonly slot: number; readonly firstAvailable: number };
  'backfill-sources-unusable': { readonly fault: string | null };
  'backfill-stuck': { readonly slot: number; readonly fault: string };

  // Datasets and their files.
  'data-folder-locked': { readonly folder?: string };
  'data-folder-unusable': { readonly folder: string; readonly reason: string };
  'dataset-drop-unconfirmed': {
    readonly dataset: string;
    readonly blocks: number | null;
    readonly start: number | null;
    readonly head: number | null;
    readonly bytes: number | null;
  };
  'backup-differs': { readonly dataset: string; readonly slot: number; readonly hash: string };
  'backup-damaged': { readonly file: string };
  'backup-overlapped': { readonly dataset: string };
  'backup-missing': { readonly from: string; readonly dataset?: string };
  'backup-target-unknown': { readonly target: string };
  'backup-target-used': { readonly target: string } | { readonly dataset: string };
  'dataset-exists': { readonly folder: string };
  'dataset-folder-used': { readonly folder: string };
  'dataset-in-store': { readonly dataset: string };
  'dataset-folder-shared': { readonly folder: string; readonly datasets: string };
  'dataset-genesis-differs': { readonly genesisHash: string; readonly known: string };
  'dataset-manifest-damaged': { readonly fault: string };
  'dataset-missing': { readonly dataset: string; readonly folder?: string };
  'dataset-name-differs': { readonly dataset: string; readonly found: string };
  'dataset-name-invalid': { readonly name: string };
  'dataset-name-taken': { readonly dataset: string; readonly folder: string };
  'dataset-starting': { readonly dataset?: string };
  'dataset-upgrade-needed': VersionDetail;
  'dataset-version-unknown': VersionDetail;
  'dataset-write-failed': { readonly visibleVersion?: number; readonly durableVersion?: number };
  'datasets-missing': { readonly folder: string };
  'disk-floor-reached': { readonly freeBytes: number; readonly floorBytes: number };
  'file-unreadable': { readonly path: string };
  'journal-damaged': { readonly file: number; readonly offset: number };
  'journal-missing': { readonly segments: number };
  'payload-damaged': { readonly file: number; readonly offset: number };
  'segment-list-damaged': { readonly list: string };
  'segment-damaged':
    | { readonly file: string }
    | { readonly segment: string }
    | { readonly unit: string; readonly reason?: string };
  'segment-missing': { readonly path: string };
  'segment-merge-failed': { readonly exitCode?: number };
  'segment-version-unknown': { readonly version: number; readonly known: number };
  'storage-failed': StorageDetail;
  'storage-forbidden': StorageDetail;
  'storage-full': StorageDetail;
  'storage-missing': StorageDetail;
  'verify-damaged': { readonly damages: number };
  'verify-different': { readonly slot: number };
  'verify-versions-differ': { readonly here: number; readonly there: number };
  'repair-source-differs': { readonly slot: number };
  'repair-refused': { readonly slot: number; readonly reason: string };
  'repair-incomplete': { readonly damages: number };
  'engine-thread-failed': { readonly reason: string };

  // Requests.
  'body-too-large': { readonly bytesMax?: number };
  'content-encoding-wrong': { readonly found: string };
  'content-type-wrong': { readonly found?: string };
  'key-limit-reached': { readonly requestsPerSecond: number } | { readonly streamCountMax: number };
  'method-wrong': { readonly method?: string; readonly allowed?: string };
  'parameter-invalid': ValueDetail;
  'time-invalid': ValueDetail;
  'time-not-reached': { readonly path: string };
  'slot-below-start': { readonly path: string; readonly allowed: string };
  'transaction-unknown': { readonly path: string };
  'program-unknown': { readonly path: string };
  'request-malformed': { readonly missing?: string };
  'range-reversed': ValueDetail;
  'range-unavailable': ValueDetail;
  'idl-invalid': { readonly path: string; readonly expected: string; readonly name?: string };
  'idl-address-missing': { readonly name: string };
  'set-invalid': { readonly line?: number; readonly fault?: string; readonly allowed: string };
  'set-empty': { readonly name: string };
  'set-too-large': { readonly allowed: string };
  'set-unknown': { readonly name: string };
  'query-address-invalid': ValueDetail;
  'query-block-number-invalid': ValueDetail;
  'query-discriminator-invalid': ValueDetail;
  'query-items-too-many': ValueDetail;
  'query-key-duplicate': ValueDetail;
  'query-key-missing': ValueDetail;
  'query-key-unknown': ValueDetail;
  'query-log-kind-invalid': ValueDetail;
  'query-name-unknown': ValueDetail;
  'query-set-changed': ValueDetail;
  'query-set-unknown': ValueDetail & { readonly folder?: string };
  'query-not-json': ValueDetail | { readonly file: string; readonly fault: string };
  'query-not-utf8': ValueDetail;
  'query-too-deep': ValueDetail;
  'query-too-large': ValueDetail;
  'query-type-not-allowed': ValueDetail;
  'query-value-invalid': ValueDetail | { readonly file: string; readonly allowed: string };
  'query-values-too-many': ValueDetail;

  // The object store and the feed.
  'cache-failed': { readonly reason: string };
  'feed-gap': {
    readonly wanted: number;
    readonly first?: number;
    readonly last?: number;
    readonly reason?: string;
  };
  'feed-reset': { readonly manifest: number; readonly wanted: number; readonly last: number };
  'feed-message-too-large': { readonly bytes: number };
  'feed-unreachable': { readonly operation: string; readonly reason?: string };
  'replica-folder-foreign': { readonly folder: string };
  'store-credentials-missing': { readonly profile: string } | { readonly reason: string };
  'store-fenced': { readonly manifest: number };
  'store-manifest-damaged': { readonly manifest: number };
  'store-manifest-missing': { readonly dataset: string };
  'store-object-missing': { readonly operation?: string };
  'store-owned': { readonly dataset: string; readonly manifest: number };
  'store-refused': {
    readonly operation?: string;
    readonly status?: number;
    readonly reason?: string;
  };
  'store-unreachable': { readonly operation?: string; readonly reason?: string };
  'store-upload-differs': { readonly segment: string };
}

/** An option or argument of a command, and what is wrong with it. */
interface UsageDetail {
  readonly option?: string;
  readonly fault?: string;
  readonly found?: string;
  readonly nearest?: string;
  readonly allowed?: string;
}

type FileDetail = { readonly path: string } | { readonly file: string };

/** A key of the configuration. Without a key, the error concerns the whole file. */
interface ConfigLocation {
  readonly file?: string;
  readonly key?: string;
  readonly line?: number;
}

/** A value of a block. Values outside of transactions have no transaction. */
export interface BlockLocation {
  readonly slot: number;
  readonly transaction?: number;
  readonly field: string;
}

interface BlockDetail {
  readonly slot: number;
  readonly hash: string;
}

interface VersionDetail {
  readonly formatVersion: number;
  readonly known: number;
}

/** A call of the operating system, with its error code such as ENOENT. */
interface StorageDetail {
  readonly operation?: string;
  readonly errno?: string;
  readonly path?: string;
}

/** A value in a request that is not allowed. */
interface RefusalDetail {
  readonly url: string;
  readonly status: number;
  readonly code?: string;
  readonly message?: string;
}

interface ValueDetail {
  readonly path: string;
  readonly found?: string | number | bigint;
  readonly fault?: string;
  readonly nearest?: string;
  readonly allowed: string;
  readonly remedy?: string;
}
