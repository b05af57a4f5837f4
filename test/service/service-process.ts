import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const command = fileURLToPath(new URL('../../packages/server/bin/sluice.js', import.meta.url));

/** Preloaded into a process: prints its CPU time in microseconds when it exits. */
const printCost = `data:text/javascript,process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write(String(user + system));
});`;

/** Measures the command when it exits immediately: milliseconds, and seconds of CPU time. */
export async function runCost(args: readonly string[]): Promise<{ ms: number; seconds: number }> {
  const startMs = performance.now();
  const child = spawn(process.execPath, ['--import', printCost, command, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  for await (const bytes of child.stderr) output += String(bytes);
  return { ms: performance.now() - startMs, seconds: Number(/\d+$/.exec(output)?.[0]) / 1e6 };
}

/** Runs a serving command as a process on free ports. */
export class ServiceProcess {
  readonly url: string;
  readonly adminUrl: string;
  readonly text: string;
  readonly #child: ChildProcess;
  readonly #errors: string[];

  private constructor(child: ChildProcess, text: string, errors: string[]) {
    this.#child = child;
    this.#errors = errors;
    this.text = text;
    const urls = [...new Set(text.match(/http:\/\/127\.0\.0\.1:\d+/g))];
    this.url = urls[0] ?? '';
    this.adminUrl = urls[1] ?? '';
  }

  /** `program` is the file of the command, by default the one of this repository. */
  static startDemo(
    dataFolder: string,
    program = command,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<ServiceProcess> {
    return ServiceProcess.#start(['demo', '--data', dataFolder], variables, program);
  }

  static startServe(
    args: readonly string[],
    variables: Readonly<Record<string, string>> = {},
  ): Promise<ServiceProcess> {
    return ServiceProcess.#start(['serve', ...args], variables);
  }

  /** Like `startServe`, with a limit on open files. */
  static startServeWithin(openFilesMax: number, args: readonly string[]): Promise<ServiceProcess> {
    return ServiceProcess.#start(['serve', ...args], {}, command, [
      'bash',
      ['-c', `ulimit -n ${openFilesMax} && exec "$0" "$@"`],
    ]);
  }

  /** Resolves when the command has printed its addresses and has opened everything. */
  static async #start(
    args: readonly string[],
    variables: Readonly<Record<string, string>> = {},
    program = command,
    [shell, before]: readonly [string, readonly string[]] = ['env', []],
  ): Promise<ServiceProcess> {
    const ports = args.includes('--port') ? [] : ['--port', '0', '--admin-port', '0'];
    const { HOST: _host, PORT: _port, ...env } = process.env;
    const child = spawn(shell, [...before, process.execPath, program, ...args, ...ports], {
      env: { ...env, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const errors: string[] = [];
    child.stderr.on('data', (bytes: Buffer) => errors.push(bytes.toString()));
    let text = '';
    for await (const bytes of child.stdout) {
      text += String(bytes);
      if (!text.includes('Stop with Ctrl-C')) continue;
      // Earlier log lines may be read slightly later, in the same event loop iteration.
      await new Promise((resolve) => setImmediate(resolve));
      return new ServiceProcess(child, text, errors);
    }
    throw new Error(`the service exited during its start: ${errors.join('')}`);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Returns its log as JSON lines. */
  get log(): readonly string[] {
    return this.#errors.join('').split('\n').slice(0, -1);
  }

  /** Sends SIGHUP and resolves to the log lines about it, up to the one with `last`. */
  reload(last: string): Promise<readonly string[]> {
    return this.signal('SIGHUP', last);
  }

  /** Sends a signal and resolves to the following log lines, up to the one with `last`. */
  async signal(signal: 'SIGHUP' | 'SIGUSR2', last: string): Promise<readonly string[]> {
    const before = this.log.length;
    this.#child.kill(signal);
    for (;;) {
      const lines = this.log.slice(before);
      if (lines.some((line) => line.includes(last))) return lines;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Resolves to the exit code, or to the signal that ended the process. */
  async end(signal: 'SIGTERM' | 'SIGKILL' | 'SIGUSR2'): Promise<number | string | null> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return exitCode ?? signalCode;
    const closed = once(this.#child, 'exit');
    this.#child.kill(signal);
    const [code, endedBy] = (await closed) as [number | null, string | null];
    return code ?? endedBy;
  }

  get(path: string): Promise<Response> {
    return fetch(`${this.url}${path}`);
  }

  async getJson<Body>(path: string): Promise<Body> {
    return (await (await this.get(path)).json()) as Body;
  }

  query(path: string, body: unknown): Promise<Response> {
    return this.post(path, JSON.stringify(body));
  }

  /** Like `query`, with the body as text. */
  post(path: string, body: string): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    return fetch(`${this.url}${path}`, { method: 'POST', headers, body });
  }
}
