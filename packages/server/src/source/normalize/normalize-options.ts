/** What decides how raw blocks become records. Fixed for a dataset when it is made, except the limits. */
export interface NormalizeOptions {
  /** Vote transactions are most of a ledger and rarely asked for. */
  readonly votes: 'drop' | 'keep';
  /** The source may deliver transactions without `meta`, as the ledger's first months have none. */
  readonly metaOptional: boolean;
  /** Kinds that may be missing; else a block that lacks one is refused. */
  readonly allowMissing: readonly MissingKind[];
  /** Programs that are known to print no invoke line; only counters depend on it. */
  readonly excusedPrograms: readonly string[];
  readonly bytesMax: number;
  readonly depthMax: number;
}

export type MissingKind = 'logs' | 'rewards';

/** Programs without invoke line: the first three never print one, the others in some versions. */
const excusedProgramsDefault: readonly string[] = [
  'Ed25519SigVerify111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  'AddressLookupTab1e1111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'NativeLoader1111111111111111111111111111111',
  'ZkTokenProof1111111111111111111111111111111',
];

export const normalizeDefaults: NormalizeOptions = {
  votes: 'drop',
  metaOptional: false,
  allowMissing: [],
  excusedPrograms: excusedProgramsDefault,
  // The largest real blocks have a fifth of it.
  bytesMax: 64 * 1024 * 1024,
  // Real blocks nest 10 deep. Recursion over what was parsed stays shallow.
  depthMax: 64,
};
