import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const command = fileURLToPath(new URL('../../packages/server/bin/sluice.js', import.meta.url));

/** `sluice demo` as a process of its own, on ports that nobody else has. */
export class DemoProcess {
  readonly url: string;
  readonly adminUrl: string;
  readonly text: string;
  readonly #child: ChildProcess;
  readonly #errors: string[];

  private constructor(child: ChildProcess, text: string, errors: string[]) {
    this.#child = child;
    this.#errors = errors;
    this.text = text;
    this.url = /page\s+(http:\S+)/.exec(text)?.[1] ?? '';
    this.adminUrl = /operator\s+(http:\S+)\/ready/.exec(text)?.[1] ?? '';
  }

  static async start(dataFolder: string): Promise<DemoProcess> {
    const args = ['demo', '--port', '0', '--admin-port', '0', '--data', dataFolder];
    const env = { ...process.env, HOST: '', PORT: '' };
    const child = spawn(process.execPath, [command, ...args], {
      env: withoutEmpty(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const errors: string[] = [];
    child.stderr.on('data', (bytes: Buffer) => errors.push(bytes.toString()));
    let text = '';
    for await (const bytes of child.stdout) {
      text += String(bytes);
      if (text.includes('Stop with Ctrl-C')) return new DemoProcess(child, text, errors);
    }
    throw new Error(`the demo ended before it began: ${errors.join('')}`);
  }

  /** What it logged, as lines of JSON. */
  get log(): readonly string[] {
    return this.#errors.join('').split('\n').slice(0, -1);
  }

  /** Resolves with the exit code, or with the signal that ended it. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | string | null> {
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
    return fetch(`${this.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }
}

function withoutEmpty(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}
