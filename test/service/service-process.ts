import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const command = fileURLToPath(new URL('../../packages/server/bin/sluice.js', import.meta.url));

/** Loaded into a process before its program: says at its end what it took of the processor, in microseconds. */
const tellCost = `data:text/javascript,process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  process.stderr.write(String(user + system));
});`;

/** What the command takes for something that ends at once: milliseconds, and seconds of the processor. */
export async function runCost(args: readonly string[]): Promise<{ ms: number; seconds: number }> {
  const startMs = performance.now();
  const child = spawn(process.execPath, ['--import', tellCost, command, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  for await (const bytes of child.stderr) told += String(bytes);
  return { ms: performance.now() - startMs, seconds: Number(/\d+$/.exec(told)?.[0]) / 1e6 };
}

/** A command that serves, as a process of its own, on ports that nobody else has. */
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

  /** `program` is the command's file, of this repository unless told otherwise. */
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

  /** As `startServe`, with no more files open than this. */
  static startServeWithin(openFilesMax: number, args: readonly string[]): Promise<ServiceProcess> {
    return ServiceProcess.#start(['serve', ...args], {}, command, [
      'bash',
      ['-c', `ulimit -n ${openFilesMax} && exec "$0" "$@"`],
    ]);
  }

  /** Resolves once the command has said where it is, and that everything is open. */
  static async #start(
    args: readonly string[],
    variables: Readonly<Record<string, string>> = {},
    program = command,
    [shell, before]: readonly [string, readonly string[]] = ['env', []],
  ): Promise<ServiceProcess> {
    const ports = ['--port', '0', '--admin-port', '0'];
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
      // What it logged before it said so is there as well, and read in the same round of the loop, maybe later.
      await new Promise((resolve) => setImmediate(resolve));
      return new ServiceProcess(child, text, errors);
    }
    throw new Error(`it ended before it began: ${errors.join('')}`);
  }

  /** What it logged, as lines of JSON. */
  get log(): readonly string[] {
    return this.#errors.join('').split('\n').slice(0, -1);
  }

  /** Sends SIGHUP and resolves with the lines that the service logs about it, the last being `last`. */
  reload(last: string): Promise<readonly string[]> {
    return this.signal('SIGHUP', last);
  }

  /** Sends a signal and resolves with the lines that come after it, up to one that has `last` in it. */
  async signal(signal: 'SIGHUP' | 'SIGUSR2', last: string): Promise<readonly string[]> {
    const before = this.log.length;
    this.#child.kill(signal);
    for (;;) {
      const lines = this.log.slice(before);
      if (lines.some((line) => line.includes(last))) return lines;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Resolves with the exit code, or with the signal that ended it. */
  async end(signal: 'SIGTERM' | 'SIGKILL' | 'SIGUSR2'): Promise<number | string | null> {
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

  /** As `query`, of a text that is made already. */
  post(path: string, body: string): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    return fetch(`${this.url}${path}`, { method: 'POST', headers, body });
  }
}
