/** The parts of a process's memory by the kind of their mappings, as Linux lists them. */
import { readFileSync } from 'node:fs';

const mib = 2 ** 20;
/** The C library's allocator gives each arena after the first mappings of this size, at multiples of it. */
const arenaBytes = 64 * mib;
/** V8 divides its heaps into pages of this size, at multiples of it. */
const heapPageBytes = 2 ** 18;
/** A memory of WebAssembly reserves at least this much address space behind what it uses. */
const reservedBytes = 2 ** 30;

/** Returns the resident megabytes of a process by part, or undefined where the system does not list them. */
export function readMemoryParts(pid) {
  if (process.platform !== 'linux') return undefined;
  const mappings = parseMappings(readFileSync(`/proc/${pid}/smaps`, 'utf8'));
  const parts = { 'heaps MB': 0, 'malloc MB': 0, 'kernels MB': 0, 'files MB': 0, 'rest MB': 0 };
  for (const [i, mapping] of mappings.entries())
    parts[partOf(mapping, mappings[i + 1])] += mapping.residentBytes / mib;
  return parts;
}

function parseMappings(text) {
  const mappings = [];
  for (const line of text.split('\n')) {
    const [, start, end, rights, path] =
      /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+\s*(.*)$/.exec(line) ?? [];
    if (start !== undefined)
      mappings.push({
        start: Number.parseInt(start, 16),
        end: Number.parseInt(end, 16),
        rights,
        path,
        residentBytes: 0,
      });
    const [, kilobytes] = /^Rss:\s+(\d+) kB/.exec(line) ?? [];
    if (kilobytes !== undefined) mappings.at(-1).residentBytes = Number(kilobytes) * 1024;
  }
  return mappings;
}

function partOf({ start, end, path }, next) {
  if (path === '[heap]') return 'malloc MB';
  if (path.startsWith('/')) return 'files MB';
  const isReserved = next?.start === end && next.rights.startsWith('---');
  const reserved = isReserved ? next.end - next.start : 0;
  if (reserved >= reservedBytes) return 'kernels MB';
  if (start % arenaBytes === 0 && end - start + reserved <= arenaBytes) return 'malloc MB';
  return start % heapPageBytes === 0 ? 'heaps MB' : 'rest MB';
}
