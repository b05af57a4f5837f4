/** Prints the score of each file and of the folder, the mutants that no test noticed, and the tests that were not used. */
import { relative } from 'node:path';

export function printReport({ folder, mutants, sources, log, sampledFrom }) {
  const results = statusByKey(log);
  const files = new Map();
  const total = newCounts();
  const survivors = [];
  for (const mutant of mutants) {
    const file = relative('packages/server/src', mutant.fileName);
    const counts = files.get(file) ?? newCounts();
    files.set(file, counts);
    const status = results.get(mutant.key) ?? 'unreached';
    counts[status]++;
    total[status]++;
    if (status === 'survived' || status === 'unreached') {
      survivors.push(describe(file, mutant, sources.get(mutant.fileName), status));
    }
  }
  const print = (text) => process.stdout.write(`${text}\n`);
  for (const text of survivors) print(text);
  for (const [file, counts] of files) print(`${file}: ${score(counts)}`);
  const unused = log.filter(({ result }) => ['fails', 'slow', 'unrepeatable'].includes(result));
  for (const text of new Set(unused.map(({ name, result }) => `not used, ${result}: ${name}`)))
    print(text);
  const sample = mutants.length < sampledFrom ? `, a sample of ${sampledFrom}` : '';
  print(`${folder}: ${score(total)}${sample}`);
}

function statusByKey(log) {
  const results = new Map();
  const reached = log.filter(({ result }) => result === 'static').flatMap(({ keys }) => keys);
  for (const key of reached) results.set(key, 'static');
  for (const { key, result } of log.filter((entry) => entry.key !== undefined)) {
    if (result !== 'survived') results.set(key, 'killed');
    else if (results.get(key) !== 'killed') results.set(key, 'survived');
  }
  return results;
}

function newCounts() {
  return { killed: 0, survived: 0, unreached: 0, static: 0 };
}

function score({ killed, survived, unreached, static: loading }) {
  const all = killed + survived + unreached;
  const share = all === 0 ? '-' : ((killed * 100) / all).toFixed(1);
  return `${share} % of ${all} mutants noticed (${survived} survived, ${unreached} not reached; ${loading} more run only while modules load)`;
}

function describe(file, { location, replacement, mutatorName }, source, status) {
  const { start, end } = location;
  const lines = source.split('\n');
  const text =
    start.line === end.line
      ? lines[start.line].slice(start.column, end.column)
      : `${lines[start.line].slice(start.column)} …`;
  const short = (part) => part.replaceAll(/\s+/g, ' ').slice(0, 100);
  return `${file}:${start.line + 1} ${status}: ${short(text)}  =>  ${short(replacement ?? mutatorName)}`;
}
