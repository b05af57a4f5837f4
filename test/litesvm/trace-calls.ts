/** Proves that a planned call tree was executed, line by line, and records the position of each line in the log. */
import assert from 'node:assert/strict';
import type { LogKind } from '@sluice/protocol/field-table';
import {
  type Call,
  isCall,
  type Line,
  type PlannedTransaction,
} from '../scenarios/planned-transaction.ts';

export interface TracedCall {
  readonly address: readonly number[];
  readonly call: Call;
  readonly ran: boolean;
  readonly units: { readonly line: number; readonly consumed: bigint } | null;
  /** The line with its success or failure; null for a call that prints nothing. */
  readonly resultLine: number | null;
}

export interface TracedLine {
  readonly line: number;
  readonly address: readonly number[];
  readonly program: string;
  readonly kind: LogKind;
  readonly message: string;
}

export interface Trace {
  /** In execution order. */
  readonly calls: readonly TracedCall[];
  readonly lines: readonly TracedLine[];
}

/** `log` is the whole log, before any truncation. */
export function traceCalls(plan: PlannedTransaction, log: readonly string[]): Trace {
  const tracer = new Tracer(log);
  let running = plan.nothingRuns !== true;
  for (const [i, call] of plan.calls.entries()) {
    if (running) tracer.trace(call, [i]);
    else tracer.skip(call, [i]);
    if (call.error !== undefined || call.stops) running = false;
  }
  tracer.end();
  return tracer;
}

class Tracer implements Trace {
  readonly calls: TracedCall[] = [];
  readonly lines: TracedLine[] = [];
  readonly #log: readonly string[];
  #cursor = 0;

  constructor(log: readonly string[]) {
    this.#log = log;
  }

  skip(call: Call, address: readonly number[]): void {
    this.calls.push({ address, call, ran: false, units: null, resultLine: null });
  }

  trace(call: Call, address: readonly number[]): void {
    const slot = this.calls.length;
    const traced: TracedCall = { address, call, ran: true, units: null, resultLine: null };
    this.calls.push(traced);
    if (call.prints === 'nothing') return;
    const program = call.instruction.programAddress;
    this.#expect(`Program ${program} invoke [${address.length}]`);
    this.#traceSteps(call, address);
    let units: TracedCall['units'] = null;
    if (call.prints === 'everything') {
      const line = this.#cursor;
      const text = this.#expectNumbered(`Program ${program} consumed # of # compute units`);
      units = { line, consumed: BigInt(/consumed (\d+)/.exec(text)?.[1] ?? '') };
    }
    if (call.returned !== undefined) {
      const message = `Program return: ${program} ${call.returned}`;
      this.#traceLine({ kind: 'other', message }, call, address);
    }
    const resultLine = this.#cursor;
    this.#expect(`Program ${program} ${call.error ? `failed: ${call.error}` : 'success'}`);
    this.calls[slot] = { ...traced, units, resultLine };
  }

  end(): void {
    assert.deepEqual(this.#log.slice(this.#cursor), [], 'every line was planned');
  }

  #traceSteps(call: Call, address: readonly number[]): void {
    let callCount = 0;
    for (const step of call.steps) {
      if (isCall(step)) this.trace(step, [...address, callCount++]);
      else this.#traceLine(step, call, address);
    }
  }

  #traceLine(step: Line, call: Call, address: readonly number[]): void {
    const line = this.#cursor;
    const prefix = { log: 'Program log: ', data: 'Program data: ', other: '' }[step.kind];
    const text = step.numbered
      ? this.#expectNumbered(prefix + step.message)
      : this.#expect(prefix + step.message);
    const message = text.slice(prefix.length);
    const program = call.instruction.programAddress;
    this.lines.push({ line, address, program, kind: step.kind, message });
  }

  #expect(text: string): string {
    assert.equal(this.#log[this.#cursor], text, `line ${this.#cursor}`);
    this.#cursor += 1;
    return text;
  }

  #expectNumbered(pattern: string): string {
    const text = this.#log[this.#cursor] ?? '';
    assert.equal(text.replace(/(?<= )\d+(?= |$)/g, '#'), pattern, `line ${this.#cursor}`);
    this.#cursor += 1;
    return text;
  }
}
