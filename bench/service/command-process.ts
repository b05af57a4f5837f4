import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ticksPerSecond } from './machine-load.ts';
import { ScenarioFailure } from './scenario.ts';

const command = fileURLToPath(new URL('../../../packages/server/bin/sluice.js', import.meta.url));
const startMsMax = 60_000;
const stopMsMax = 10_000;
const memorySampleMs = 200;

export interface CommandCost {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly anonymousBytesPeak: number;
}

/** Runs the command `sluice` in its own process, with its resource usage as reported by the system. */
export class CommandProcess {
  readonly #child: ChildProcess;
  #output = '';
  #errors = '';
  #anonymousBytesPeak = 0;
  #cpuSecondsSeen = 0;
  readonly #ended = new AbortController();
  readonly #sampling: Promise<void>;

  private constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, [command, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.on('data', (bytes) => {
      this.#output += bytes;
    });
    this.#child.stderr?.on('data', (bytes) => {
      this.#errors = `${this.#errors}${bytes}`.slice(-4_000);
    });
    this.#sampling = this.#sample();
  }

  /** Resolves to the groups of the pattern when the output matches it. */
  static async start(
    args: readonly string[],
    isUp: RegExp,
  ): Promise<{ process: CommandProcess; found: readonly string[] }> {
    const started = new CommandProcess(args);
    return { process: started, found: await started.#until(isUp) };
  }

  /** Runs a command until it exits. */
  static async run(args: readonly string[]): Promise<void> {
    await CommandProcess.measure(args);
  }

  /** Runs a command until it exits, and returns its output. */
  static async output(args: readonly string[]): Promise<string> {
    const started = new CommandProcess(args);
    const code = await started.#exit();
    await started.#endSampling();
    if (code !== 0) throw started.#failure(`ended with ${code}`);
    return started.#output;
  }

  /** Runs a command and returns its resource usage. The CPU time is sampled a few times per second. */
  static async measure(args: readonly string[]): Promise<CommandCost> {
    const start = performance.now();
    const started = new CommandProcess(args);
    const code = await started.#exit();
    const seconds = (performance.now() - start) / 1000;
    await started.#endSampling();
    if (code !== 0) throw started.#failure(`ended with ${code}`);
    return {
      seconds,
      cpuSeconds: started.#cpuSecondsSeen,
      anonymousBytesPeak: started.#anonymousBytesPeak,
    };
  }

  /** Samples the memory and the CPU time until the process has exited. */
  async #sample(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      this.#sampleMemory();
      try {
        this.#cpuSecondsSeen = this.cpuSeconds();
      } catch {
        // It has ended.
      }
      await sleep(memorySampleMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #endSampling(): Promise<void> {
    this.#ended.abort();
    await this.#sampling;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Returns the end of its log. */
  get lastErrors(): string {
    return this.#errors;
  }

  /** Returns the CPU time of all its threads so far. */
  cpuSeconds(): number {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'latin1');
    // The process name is in parentheses and may contain spaces; utime and stime are the 12th and 13th fields after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
  }

  /** The peak anonymous memory, sampled a few times per second. */
  get anonymousBytesPeak(): number {
    this.#sampleMemory();
    return this.#anonymousBytesPeak;
  }

  /** The most memory it ever had in RAM, mapped files included. */
  get residentBytesPeak(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'latin1');
    return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
  }

  /** Bytes that it made the system read from storage so far. */
  diskBytesRead(): number {
    const io = readFileSync(`/proc/${this.pid}/io`, 'latin1');
    return Number(/^read_bytes: (\d+)/m.exec(io)?.[1] ?? 0);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    await this.#endSampling();
    const exit = this.#exit();
    this.#child.kill(signal);
    const kill = setTimeout(() => this.#child.kill('SIGKILL'), stopMsMax);
    await exit;
    clearTimeout(kill);
  }

  async #exit(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    if (this.#child.signalCode !== null) return null;
    // Unlike exit, close comes after the last of the output.
    const [code] = (await once(this.#child, 'close')) as [number | null];
    return code;
  }

  #until(pattern: RegExp): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#child.kill('SIGKILL');
        reject(this.#failure('did not start in time'));
      }, startMsMax);
      const checkOutput = () => {
        const found = pattern.exec(this.#output);
        if (found === null) return;
        clearTimeout(late);
        resolve(found.slice(1));
      };
      this.#child.stdout?.on('data', checkOutput);
      this.#child.once('exit', (code) => {
        clearTimeout(late);
        reject(this.#failure(`ended with ${code}`));
      });
    });
  }

  #failure(what: string): ScenarioFailure {
    const [, ...args] = this.#child.spawnargs;
    return new ScenarioFailure(`${args.join(' ')} ${what}:\n${this.#errors}${this.#output}`);
  }

  #sampleMemory(): void {
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, 'latin1');
      const kilobytes = Number(/^RssAnon:\s+(\d+)/m.exec(status)?.[1] ?? 0);
      this.#anonymousBytesPeak = Math.max(this.#anonymousBytesPeak, kilobytes * 1024);
    } catch {
      // It has ended.
    }
  }
}
