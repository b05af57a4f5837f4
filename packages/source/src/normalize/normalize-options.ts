/** How raw blocks become records. Except for the limits, the options of a dataset are fixed when it is created. */
export interface NormalizeOptions {
  /** Most transactions of a ledger are votes, which are rarely queried. */
  readonly votes: 'drop' | 'keep';
  /** Whether transactions may lack `meta`, like those of the ledger's first months. */
  readonly metaOptional: boolean;
  /** The kinds that may be missing. A block that lacks another one is rejected. */
  readonly allowMissing: readonly MissingKind[];
  /** Programs that print no invoke line. Only counters depend on it. */
  readonly excusedPrograms: readonly string[];
  readonly bytesMax: number;
  readonly depthMax: number;
}

export type MissingKind = 'logs' | 'rewards';

/** The first three programs never print an invoke line, the others not in all versions. */
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
  // Five times the largest real block.
  bytesMax: 64 * 1024 * 1024,
  // Real blocks nest 10 deep. The limit keeps recursion over parsed values shallow.
  depthMax: 64,
};
