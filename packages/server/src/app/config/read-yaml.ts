import type { ErrorDetails } from '@sluice/base/error-details';
import { CodedError } from '@sluice/base/errors';
import { memberOf } from '@sluice/protocol/unknown-value';
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type Document as YamlDocument,
} from 'yaml';
import { type ConfigOrigin, type ConfigTree, keyOf, pathBelow } from './config-tree.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The maximum number of values with all aliases expanded: nested aliases can grow exponentially. */
const valueCountMax = 100_000;
const depthMax = 16;

/**
 * Reads the values of a file with their lines. `${NAME}` in a text is replaced by the environment variable after parsing, so that a
 * variable cannot change the structure; `$${` is a plain `${`. Errors contain no text of the file, because it may be a secret.
 */
export function readYaml(text: string, environment: Environment): ConfigTree {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    const { line, col } = lines.linePos(problem.pos[0]);
    const fault = problem.code.toLowerCase().replaceAll('_', ' ');
    throw new CodedError('config-not-yaml', { line, column: col, fault });
  }
  return new YamlReader(document, lines, environment).read();
}

class YamlReader {
  readonly #document: YamlDocument;
  readonly #lines: LineCounter;
  readonly #environment: Environment;
  readonly #origins = new Map<string, ConfigOrigin>();
  readonly #unset: CodedError[] = [];

  constructor(document: YamlDocument, lines: LineCounter, environment: Environment) {
    this.#document = document;
    this.#lines = lines;
    this.#environment = environment;
  }

  read(): ConfigTree {
    const { contents } = this.#document;
    const value = contents === null ? {} : this.#value(contents, '', 0);
    // A file with only comments, or with only `null`, is read as an empty object.
    return { value: value ?? {}, origins: this.#origins, unset: this.#unset };
  }

  #value(node: unknown, path: string, depth: number): unknown {
    const line = this.#note(node, path);
    if (depth > depthMax)
      throw invalid({ key: path, line, expected: `at most ${depthMax} levels` });
    if (isAlias(node)) {
      const meant = node.resolve(this.#document);
      if (meant !== undefined) return this.#value(meant, path, depth + 1);
      // The error does not contain the name, which may be a secret that begins with `*`.
      const expected =
        'an anchor that is defined above (&name), or quotes around a text that begins with *';
      this.#unset.push(invalid({ ...keyOf(path), line, expected }));
      return undefined;
    }
    if (isSeq(node)) {
      return node.items.map((item, i) => this.#value(item, pathBelow(path, i), depth + 1));
    }
    if (isMap(node)) {
      // The object has no prototype, so that every key is data.
      const object: Record<string, unknown> = Object.create(null);
      for (const pair of node.items) this.#readPair(pair, { path, depth, object });
      return object;
    }
    if (!isScalar(node)) return null;
    return typeof node.value === 'string' ? this.#substitute(node.value, path, line) : node.value;
  }

  #readPair(
    { key, value }: Pair,
    into: { path: string; depth: number; object: Record<string, unknown> },
  ): void {
    const name = isScalar(key) ? key.value : undefined;
    const line = this.#lineOf(key);
    if (typeof name !== 'string') {
      throw invalid({ ...keyOf(into.path), line, expected: 'keys that are text' });
    }
    const path = pathBelow(into.path, name);
    into.object[name] = this.#value(value, path, into.depth + 1);
    // If key and value are on different lines, the error names the line of the key.
    this.#origins.set(path, { ...this.#origins.get(path), line });
  }

  #note(node: unknown, path: string): number {
    const line = this.#lineOf(node);
    if (this.#origins.size >= valueCountMax) {
      throw invalid({ key: path, line, expected: `at most ${valueCountMax} values` });
    }
    if (!this.#origins.has(path)) this.#origins.set(path, { line });
    return line;
  }

  #lineOf(node: unknown): number {
    const start = memberOf(memberOf(node, 'range'), '0');
    return this.#lines.linePos(typeof start === 'number' ? start : 0).line;
  }

  #substitute(text: string, path: string, line: number): string {
    if (!text.includes('${')) return text;
    this.#origins.set(path, { line, template: text });
    return text.replace(/\$?\$\{([^}]*)(\}?)/g, (found, variable: string, end: string) => {
      if (found.startsWith('$$')) return found.slice(1);
      if (end === '' || !/^[A-Za-z_]\w*$/.test(variable)) {
        throw invalid({
          key: path,
          line,
          expected: 'a name in braces after $, or $$ for a plain $',
        });
      }
      const value = this.#environment[variable] ?? '';
      if (value === '') {
        this.#unset.push(new CodedError('config-variable-unset', { variable, key: path, line }));
      }
      return value;
    });
  }
}

function invalid(detail: ErrorDetails['config-value-invalid']): CodedError {
  return new CodedError('config-value-invalid', detail);
}
