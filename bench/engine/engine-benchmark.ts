import { writeFile } from 'node:fs/promises';
import type { Benchmark } from '../benchmark.ts';
import { alignTable } from '../report-text.ts';
import { chooseQueries } from './choose-queries.ts';
import { prepareCorpus } from './corpus.ts';
import { duckdbVersion } from './duckdb.ts';
import { measureMemory, measureWriter } from './measure-alone.ts';
import { measureMode, type QueryResult } from './measure-queries.ts';
import { measureSize } from './measure-size.ts';
import { optionsHelp, parseOptions } from './options.ts';
import {
  describeMode,
  describeRest,
  describeResults,
  describeSetting,
  type EngineReport,
  leftAtEnd,
  writeMarkdown,
} from './report.ts';

const clockOf = () => new Date(performance.timeOrigin + performance.now());

/** Runs ten queries over the same records with our segments and with DuckDB. */
export const engineBenchmark: Benchmark = {
  name: 'engine',
  summary: 'queries over segments, compared with DuckDB and the same filters and joins in SQL',
  options: optionsHelp,
  async run(print, args) {
    const options = parseOptions(args);
    const progress = (text: string) => void process.stderr.write(`${text}\n`);
    const version = await duckdbVersion();
    const corpus = await prepareCorpus(options, progress);
    const all = await chooseQueries(corpus);
    const queries = all.filter(({ name }) => options.queries?.includes(name) ?? true);
    const results: QueryResult[] = [];
    for (const mode of options.modes)
      results.push(...(await measureMode(mode, { corpus, queries, options }, progress)));
    const everything = all.at(-1)?.body ?? {};
    progress('size, writer, memory');
    const report: EngineReport = {
      options,
      corpus,
      results,
      size: await measureSize(corpus),
      writer: await measureWriter(corpus, everything, options.runCount),
      memory: await measureMemory(corpus, everything, options.threadCount),
      duckdbVersion: version,
    };
    for (const line of describeSetting(report)) print(line);
    for (const mode of options.modes) {
      print('');
      print(describeMode(mode));
      for (const line of alignTable(describeResults(report, mode), { leftAtEnd })) print(line);
    }
    print('');
    for (const line of describeRest(report)) print(line);
    if (options.markdownFile !== undefined)
      await writeFile(options.markdownFile, writeMarkdown(report, clockOf()));
  },
};
