import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';

export interface GuideProgram {
  /** The page and the number of the program on it. */
  readonly name: string;
  readonly text: string;
}

const pages = join(repositoryRoot, 'docs', 'guide');
const demoUrl = 'http://127.0.0.1:8080/datasets/ledger-beta';

/** Every JavaScript program of the guide. */
export function readGuidePrograms(): GuideProgram[] {
  return readdirSync(pages)
    .filter((page) => page.endsWith('.md'))
    .flatMap((page) => {
      const text = readFileSync(join(pages, page), 'utf8');
      return [...text.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, program = ''], index) => ({
        name: `${page} ${index + 1}`,
        text: program,
      }));
    });
}

/** A program of the guide as a process, in a folder of its own inside the repository, where packages are found. */
export class RunningProgram {
  readonly #child: ReturnType<typeof spawn>;
  readonly #folder: string;
  readonly ended: Promise<unknown>;
  output = '';
  errors = '';

  constructor({ text }: GuideProgram, url: string) {
    this.#folder = mkdtempSync(join(repositoryRoot, 'node_modules', '.guide-test-'));
    const file = join(this.#folder, 'program.mjs');
    writeFileSync(file, text.replaceAll(demoUrl, url));
    this.#child = spawn(process.execPath, [file], { cwd: this.#folder, stdio: 'pipe' });
    this.#child.stdout?.on('data', (bytes) => {
      this.output += String(bytes);
    });
    this.#child.stderr?.on('data', (bytes) => {
      this.errors += String(bytes);
    });
    this.ended = once(this.#child, 'close');
  }

  get lines(): string[] {
    return this.output.split('\n').slice(0, -1);
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  /** Resolves when the condition holds or the program has ended. */
  async until(isReached: () => boolean): Promise<void> {
    let isOver = false;
    void this.ended.then(() => {
      isOver = true;
    });
    while (!isOver && !isReached()) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
