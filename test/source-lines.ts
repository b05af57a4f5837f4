/** Changes stack traces of the build, which tests import, to lines of the sources. */
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, resolve } from 'node:path';

const builtLine = /(?:file:\/\/)?(\/[^\s():]*\/packages\/\w+\/dist\/[^\s():]*\.js):(\d+):(\d+)/g;
const maps = new Map<string, SourceMap | null>();

function mapOf(file: string): SourceMap | null {
  const known = maps.get(file);
  if (known !== undefined) return known;
  const path = `${file}.map`;
  const map = existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : null;
  maps.set(file, map);
  return map;
}

function toSourceLine(found: string, file: string, line: string, column: string): string {
  const entry = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
  if (entry === undefined || !('originalSource' in entry)) return found;
  const source = resolve(dirname(file), entry.originalSource);
  return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

const prepare = Error.prepareStackTrace;
Error.prepareStackTrace = (error, frames) => {
  const text =
    prepare?.(error, frames) ?? `${error}\n${frames.map((one) => `    at ${one}`).join('\n')}`;
  return typeof text === 'string' ? text.replaceAll(builtLine, toSourceLine) : text;
};
