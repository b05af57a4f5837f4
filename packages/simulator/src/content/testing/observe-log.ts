/**
 * The facts that a reader can derive from the log of a transaction: which calls started and ended, the errors, units and messages. Lines
 * from the truncation mark on are ignored. In eras without inner calls or logs fewer facts can be derived.
 */
import type { LogKind } from '@sluice/protocol/field-table';
import type { EraRules } from '../eras.ts';
import type { Call, SimulatedBlock, SimulatedTransaction } from '../simulated-block.ts';
import { KNOWN } from '../world/known-addresses.ts';
import { type LogLine, readLog } from './read-log.ts';

/** Programs that may run without a line in the log, in some versions of the node or in all. */
const WITHOUT_LINES: ReadonlySet<string> = new Set([
  KNOWN.signatureCheck,
  KNOWN.budget,
  'KeccakSecp256k11111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
  'AddressLookupTab1e1111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'NativeLoader1111111111111111111111111111111',
  'ZkTokenProof1111111111111111111111111111111',
]);

export interface Observed {
  readonly errors: ReadonlyMap<Call, string>;
  readonly units: ReadonlyMap<Call, bigint>;
  /** Calls that ran, or may have run, without lines for both their start and their end. */
  readonly dropped: ReadonlySet<Call>;
  /** Calls whose start is in the log. */
  readonly started: ReadonlySet<Call>;
  /** Calls whose end is in the log. */
  readonly ended: ReadonlySet<Call>;
  readonly logs: readonly ObservedLog[];
  /** Whether the log lacks any line. */
  readonly isIncomplete: boolean;
}

export interface ObservedLog {
  readonly logIndex: number;
  readonly call: Call;
  readonly kind: LogKind;
  readonly message: string;
}

export function observeLog(
  transaction: SimulatedTransaction,
  keys: readonly string[],
  { era, texts }: Pick<SimulatedBlock, 'era' | 'texts'>,
): Observed {
  const recorded = listRecorded(transaction.calls, era);
  const ran = recorded.filter((call) => isTakenAsRun(call, transaction, era));
  const { log } = transaction;
  const lines = readLog(texts, log);
  const callers = flattenCalls(transaction.calls);
  const isReadable =
    era.hasMeta && log.isStored && !contradicts(lines.slice(0, log.markIndex), callers, era);
  const { lineCount } = log;
  const programOf = ({ programIndex }: Call): string => keys[programIndex] as string;
  const seen = readLines(isReadable ? lines.slice(0, log.markIndex) : [], callers, programOf);
  const dropped = new Set(ran.filter((call) => !(seen.started.has(call) && seen.ended.has(call))));
  const isCut = isReadable && log.markIndex < lineCount;
  const isUnread = !isReadable && lineCount > 0;
  const isMute = lineCount === 0 && ran.some((call) => !WITHOUT_LINES.has(programOf(call)));
  return { ...seen, dropped, isIncomplete: !era.hasMeta || isCut || isUnread || isMute };
}

/** Returns all calls in execution order. */
function flattenCalls(calls: readonly Call[]): Call[] {
  return calls.flatMap((call) => [call, ...flattenCalls(call.calls)]);
}

/** Returns the calls that are in the block's JSON. */
function listRecorded(calls: readonly Call[], era: EraRules): Call[] {
  if (!era.hasMeta || !era.hasInner) return [...calls];
  return calls.flatMap((call) => [call, ...listRecorded(call.calls, era)]);
}

/**
 * Without a `meta` every call may have run. An error that names no instruction, with no line and no inner call, counts as an error before
 * execution.
 */
function isTakenAsRun(call: Call, transaction: SimulatedTransaction, era: EraRules): boolean {
  if (!era.hasMeta) return true;
  const { error, log, calls } = transaction;
  if (error === null || error.variant === 'InstructionError') return call.ran;
  const hasInner = era.hasInner && calls.some((top) => top.calls.length > 0);
  return log.lineCount > 0 || hasInner;
}

/** Returns whether the log has calls that were not recorded, so that it cannot be matched with the instructions. */
function contradicts(lines: readonly LogLine[], callers: readonly Call[], era: EraRules): boolean {
  if (era.hasInner) return false;
  return lines.some(({ role, caller }) => role === 'invoke' && (callers[caller] as Call).depth > 1);
}

function readLines(
  lines: readonly LogLine[],
  callers: readonly Call[],
  programOf: (call: Call) => string,
) {
  const errors = new Map<Call, string>();
  const units = new Map<Call, bigint>();
  const started = new Set<Call>();
  const ended = new Set<Call>();
  const logs: ObservedLog[] = [];
  lines.forEach(({ role, text, caller }, logIndex) => {
    const call = callers[caller] as Call;
    if (role === 'invoke') started.add(call);
    else if (role === 'consumed') units.set(call, readUnits(text));
    else if (role === 'log') logs.push({ logIndex, call, kind: role, message: text.slice(13) });
    else if (role === 'data') logs.push({ logIndex, call, kind: role, message: text.slice(14) });
    else if (role === 'other') logs.push({ logIndex, call, kind: role, message: text });
    else ended.add(call);
    if (role === 'failed') {
      errors.set(call, text.slice(`Program ${programOf(call)} failed: `.length));
    }
  });
  return { errors, units, started, ended, logs };
}

/** Returns `A` of a line `Program ID consumed A of B compute units`. */
function readUnits(text: string): bigint {
  return BigInt(text.split(' ')[3] as string);
}
