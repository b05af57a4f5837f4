import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { repositoryRoot } from '../repository-files.ts';

const folder = join(repositoryRoot, 'examples');

/** Writes the examples as JavaScript like `npm run examples`, without checking types a second time. */
export function compileExamples(): void {
  mkdirSync(join(folder, 'dist'), { recursive: true });
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
    const { outputText } = ts.transpileModule(readFileSync(join(folder, file), 'utf8'), {
      compilerOptions: { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext },
    });
    writeFileSync(join(folder, 'dist', file.replace(/\.ts$/, '.js')), outputText);
  }
}

/** An example as a process that can be killed and restarted. */
export class ExampleProcess {
  readonly #args: readonly string[];
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #isKilled = false;
  output = '';
  errors = '';

  constructor(name: string, environment: Readonly<Record<string, string>>) {
    this.#args = [join(folder, 'dist', `${name}.js`)];
    this.#environment = environment;
  }

  start(): void {
    const env = { ...process.env, ...this.#environment };
    const child = spawn(process.execPath, this.#args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.#isKilled = false;
    child.stdout.on('data', (bytes) => {
      this.output += String(bytes);
    });
    child.stderr.on('data', (bytes) => {
      this.errors += String(bytes);
    });
    this.#ended = once(child, 'close');
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    this.#child?.kill('SIGKILL');
    await this.#ended;
  }

  /** Resolves when the example has ended by itself. Rejects with its output if it failed. */
  async finish(): Promise<void> {
    await this.#ended;
    if (!this.#isKilled && this.#child?.exitCode !== 0) throw new Error(this.errors);
  }
}
