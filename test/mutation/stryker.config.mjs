/** Mutates one file. `run.mjs` sets the variables. */
const file = process.env['MUTATION_FILE'];
const name = process.env['MUTATION_NAME'];

export default {
  plugins: ['@stryker-mutator/vitest-runner'],
  testRunner: 'vitest',
  vitest: { configFile: 'test/mutation/vitest.config.ts' },
  mutate: [file],
  coverageAnalysis: 'perTest',
  // Mutants in code that runs while modules load need a new process each, and are mostly tables.
  ignoreStatic: true,
  incremental: true,
  incrementalFile: `.mutation/${name}.incremental.json`,
  tempDirName: '.mutation/sandbox',
  ignorePatterns: ['/.mutation', '/docs', '/bench', '/examples', '/deploy'],
  concurrency: 1,
  timeoutMS: 10_000,
  reporters: ['json'],
  jsonReporter: { fileName: `.mutation/${name}.json` },
  logLevel: 'warn',
  allowConsoleColors: false,
};
