import { CodedError } from '@sluice/base/errors';
import { findNearestName } from '@sluice/base/find-nearest-name';
import type { Random } from '@sluice/base/random';
import { GRPC_METHOD, RPC_METHODS, SUBSCRIBE_METHOD } from '../node/method-names.ts';
import {
  FAULT_KINDS,
  type FaultKind,
  type FaultSpec,
  type ParameterSpec,
  SCOPE,
  scopeOf,
} from './fault-kinds.ts';

/** Bounds the memory that a script can fill with faults. */
const faultCountMax = 100;
const methodCountMax = 50;

export interface FaultScope {
  readonly fromSlot?: number;
  readonly toSlot?: number;
  /** Names of JSON-RPC methods; for notifications the subscribe method's. */
  readonly methods?: readonly string[];
  /** The number of effects after which the fault ends. */
  readonly times?: number;
  /** The probability of an effect each time it could have one, drawn from the chain's seed. */
  readonly probability?: number;
}

/** A request for a fault: a kind, its parameters, its scope. */
export type FaultRequest = { readonly kind: FaultKind } & FaultScope &
  Readonly<Record<string, unknown>>;

export interface Fault {
  readonly id: number;
  readonly kind: FaultKind;
  readonly parameters: Readonly<Record<string, number | string>>;
  readonly scope: FaultScope;
  /** The ledger time at which it was set. */
  readonly sinceMs: number;
  /** The number of its effects. */
  hits: number;
  /** The number of times it could have had an effect. */
  chances: number;
}

/** The call, block or notification to which a fault may apply. */
export interface FaultSubject {
  readonly method?: string | undefined;
  readonly slot?: number | undefined;
}

/** The faults of one node. */
export class Faults {
  readonly #random: Random;
  readonly #nowMs: () => number;
  readonly #faults = new Map<number, Fault>();
  readonly #listeners = new Set<() => void>();
  #nextId = 1;

  constructor(dependencies: { random: Random; nowMs: () => number }) {
    this.#random = dependencies.random;
    this.#nowMs = dependencies.nowMs;
  }

  /** Starts a fault, given as a `FaultRequest`. Rejects anything else with the values that are allowed. */
  set(request: unknown): Fault {
    const parsed = parseFault(request);
    if (this.#faults.size >= faultCountMax) {
      throw refuse('', `${this.#faults.size} faults`, `at most ${faultCountMax} at a time`);
    }
    const counts = { sinceMs: this.#nowMs(), hits: 0, chances: 0 };
    const fault: Fault = { id: this.#nextId++, ...parsed, ...counts };
    this.#faults.set(fault.id, fault);
    this.#notify();
    return fault;
  }

  list(): Fault[] {
    return [...this.#faults.values()];
  }

  /** Clears all faults, those of a kind, or one. Returns their number. */
  clear(which: { kind?: FaultKind; id?: number } = {}): number {
    const ended = this.list().filter(
      (fault) =>
        (which.kind === undefined || fault.kind === which.kind) &&
        (which.id === undefined || fault.id === which.id),
    );
    for (const fault of ended) this.#faults.delete(fault.id);
    this.#notify();
    return ended.length;
  }

  /** Returns the oldest active fault of the kind that applies to the subject, and counts it as an effect. */
  take(kind: FaultKind, subject: FaultSubject = {}): Fault | undefined {
    for (const fault of this.#faults.values()) {
      if (fault.kind === kind && this.#applies(fault, subject)) {
        fault.hits += 1;
        return fault;
      }
    }
    return undefined;
  }

  /** Like `take`, without counting: for faults that describe a state and not an event. */
  find(kind: FaultKind, subject: FaultSubject = {}): Fault | undefined {
    for (const fault of this.#faults.values()) {
      if (fault.kind === kind && !isOver(fault) && isInScope(fault.scope, subject)) return fault;
    }
    return undefined;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #applies(fault: Fault, subject: FaultSubject): boolean {
    if (isOver(fault) || !isInScope(fault.scope, subject)) return false;
    fault.chances += 1;
    const { probability } = fault.scope;
    if (probability === undefined) return true;
    return this.#random.fork('fault', fault.id, fault.chances).chance(probability);
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

export function numberOf(fault: Fault, name: string): number {
  return fault.parameters[name] as number;
}

export function textOf(fault: Fault, name: string): string | undefined {
  return fault.parameters[name] as string | undefined;
}

function isOver({ hits, scope }: Fault): boolean {
  return scope.times !== undefined && hits >= scope.times;
}

function isInScope(scope: FaultScope, { method, slot }: FaultSubject): boolean {
  if (scope.methods !== undefined && (method === undefined || !scope.methods.includes(method))) {
    return false;
  }
  if (scope.fromSlot !== undefined && (slot === undefined || slot < scope.fromSlot)) return false;
  return scope.toSlot === undefined || (slot !== undefined && slot <= scope.toSlot);
}

function parseFault(request: unknown): Pick<Fault, 'kind' | 'parameters' | 'scope'> {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    throw refuse('', request, 'an object such as {"kind":"lag","bySlots":10}');
  }
  const entries = new Map<string, unknown>(Object.entries(request));
  const kind = entries.get('kind');
  checkKind(kind);
  entries.delete('kind');
  const scope = takeScope(entries, kind);
  const spec: FaultSpec = FAULT_KINDS[kind];
  const parameters: Record<string, number | string> = {};
  for (const [name, parameter] of Object.entries(spec.parameters)) {
    const value = entries.get(name) ?? parameter.default;
    entries.delete(name);
    if (value === undefined && parameter.isOptional) continue;
    parameters[name] = parseParameter(name, value, parameter);
  }
  for (const name of entries.keys()) {
    const allowed = ['kind', ...Object.keys(spec.parameters), ...scopeOf(kind)];
    throw refuse(name, entries.get(name), `only ${allowed.join(', ')}`);
  }
  return { kind, parameters, scope };
}

export function checkKind(kind: unknown): asserts kind is FaultKind {
  const kinds = Object.keys(FAULT_KINDS);
  if (typeof kind !== 'string' || !kinds.includes(kind)) throw refuseName('kind', kind, kinds);
}

function takeScope(entries: Map<string, unknown>, kind: FaultKind): FaultScope {
  const taken: Record<string, unknown> = {};
  for (const key of scopeOf(kind)) {
    const value = entries.get(key);
    if (value === undefined) continue;
    taken[key] = key === 'methods' ? parseMethods(value) : parseParameter(key, value, SCOPE[key]);
    entries.delete(key);
  }
  const scope: FaultScope = taken;
  const { fromSlot = 0, toSlot = fromSlot } = scope;
  if (toSlot < fromSlot) throw refuse('toSlot', toSlot, `fromSlot, ${fromSlot}, or above`);
  return scope;
}

/** A fault limited to another method would have no effect. Some kinds affect both responses and notifications. */
const knownMethods: readonly string[] = [...RPC_METHODS, SUBSCRIBE_METHOD, GRPC_METHOD];

function parseMethods(value: unknown): string[] {
  const isList = Array.isArray(value) && value.length > 0 && value.length <= methodCountMax;
  if (!isList) throw refuse('methods', value, `a list of 1 to ${methodCountMax} method names`);
  for (const [i, name] of value.entries()) {
    if (!knownMethods.includes(name)) throw refuseName(`methods[${i}]`, name, knownMethods);
  }
  return value as string[];
}

function parseParameter(name: string, value: unknown, spec: ParameterSpec): number | string {
  switch (spec.type) {
    case 'integer':
      if (Number.isSafeInteger(value) && Number(value) >= spec.min && Number(value) <= spec.max) {
        return Number(value);
      }
      throw refuse(name, value, `an integer from ${spec.min} to ${spec.max}`);
    case 'share':
      if (typeof value === 'number' && value >= 0 && value <= 1) return value;
      throw refuse(name, value, 'a number from 0 to 1');
    case 'choice':
      if (typeof value === 'string' && spec.values.includes(value)) return value;
      throw refuse(name, value, `one of ${spec.values.join(', ')}`);
    default:
      if (typeof value === 'string' && value.length <= spec.lengthMax) return value;
      throw refuse(name, value, `a text of at most ${spec.lengthMax} characters`);
  }
}

const foundLengthMax = 100;

function refuseName(path: string, found: unknown, known: readonly string[]): CodedError {
  const nearest = typeof found === 'string' ? findNearestName(found, known) : undefined;
  return refuse(path, found, `one of ${known.join(', ')}`, nearest);
}

function refuse(path: string, found: unknown, expected: string, nearest?: string): CodedError {
  const text = found === undefined ? 'nothing' : (JSON.stringify(found) ?? typeof found);
  return new CodedError('simulator-fault-invalid', {
    path: path === '' ? 'request' : path,
    found: text.slice(0, foundLengthMax),
    expected,
    ...(nearest === undefined ? {} : { nearest }),
  });
}
