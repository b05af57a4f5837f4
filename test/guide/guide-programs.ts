import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';

export type Language = 'js' | 'python' | 'sh' | 'json' | 'console' | 'sql' | 'r';

export interface GuideProgram {
  /** The page and the index of the program on it. */
  readonly name: string;
  readonly language: Language;
  readonly text: string;
}

const guide = join(repositoryRoot, 'docs', 'guide');
const demoUrl = 'http://127.0.0.1:8080/datasets/ledger-beta';
const nodeUrl = 'http://127.0.0.1:8899';

/** Returns the code blocks of a page in a language. */
export function readCode(page: string, language: Language): GuideProgram[] {
  const text = readFileSync(join(repositoryRoot, page), 'utf8');
  const blocks = text.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, 'gm'));
  return [...blocks].map(([, code = ''], index) => ({
    name: `${page} ${index + 1}`,
    language,
    text: code,
  }));
}

/** Returns the code blocks of all pages of the guide in a language. */
export function readGuideCode(language: Language): GuideProgram[] {
  const pages = readdirSync(guide).filter((page) => page.endsWith('.md'));
  return pages.flatMap((page) => readCode(join('docs', 'guide', page), language));
}

/** Runs a program of the guide as a process, in its own folder inside the repository, so that packages are found. */
export class RunningProgram {
  readonly #child: ReturnType<typeof spawn>;
  readonly #folder: string;
  readonly ended: Promise<unknown>;
  output = '';
  errors = '';

  /** `rpcUrl` is the address of a node, for the programs that read one. */
  constructor({ text, language }: GuideProgram, url: string, rpcUrl = nodeUrl) {
    this.#folder = mkdtempSync(join(repositoryRoot, 'node_modules', '.guide-test-'));
    const file = join(this.#folder, language === 'python' ? 'program.py' : 'program.mjs');
    writeFileSync(file, text.replaceAll(demoUrl, url).replaceAll(nodeUrl, rpcUrl));
    const interpreter = language === 'python' ? 'python3' : process.execPath;
    this.#child = spawn(interpreter, [file], { cwd: this.#folder, stdio: 'pipe' });
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
