/**
 * Runs each test again and again in one process: twice as it is, then once with each mutant that it reaches and that no
 * earlier test noticed. Starting anew for every mutant would take a hundred times as long.
 *
 * After a test has failed, it runs once without a mutant. If that fails too, then the mutant left something behind that
 * fails the test. The rest of the file is left to the next round, which starts with fresh memory.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { TestRunner } from 'vitest';
import { hashOf } from './hash.mjs';

/** A test that takes longer is not used: it would run hundreds of times. */
const testMsMax = 4_000;
/** With a mutant, a test that waits for ever is stopped after this time, or ten times as long as it took without one. */
const mutantMsMin = 2_000;
/** A mutant in a loop may be reached this many times as often as without it, before the loop counts as endless. */
const hitFactor = 100;

const folder = process.env['MUTATION_FOLDER'];
const { pending, tried } = JSON.parse(readFileSync(`.mutation/${folder}.work.json`, 'utf8'));
const keys = new Map(pending.map(({ id, key }) => [id, key]));
const triedPairs = new Set(tried);
/** The changed code reads here which mutant is on, and counts here which ones were reached. */
globalThis.__stryker__ ??= { mutantCoverage: { static: {}, perTest: {} } };
const switches = globalThis.__stryker__;

function record(entry) {
  appendFileSync(`.mutation/${folder}.jsonl`, `${JSON.stringify(entry)}\n`);
}

export default class MutantRunner extends TestRunner {
  #dirtyFile = '';
  #hashes = new Map();
  /** What the running test does: its queue of mutants, the mutant it has now, and the one waiting for confirmation. */
  #run = null;

  constructor(config) {
    super(config);
    // In an ordinary run such a rejection fails the run, so it counts as noticed.
    process.on('unhandledRejection', () => {
      if (this.#run !== null) this.#run.isUnhandled = true;
    });
  }

  async onBeforeRunTask(test) {
    await super.onBeforeRunTask(test);
    if (this.#dirtyFile === test.file.filepath) test.mode = 'skip';
    if (test.mode !== 'run' && test.mode !== 'queued') return;
    test.retry = 0;
    test.repeats = Number.MAX_SAFE_INTEGER;
    const file = relative(process.cwd(), test.file.filepath);
    const name = `${file} > ${test.fullTestName ?? test.name}`;
    this.#run = {
      test: { name, file, hash: this.#hash(test.file.filepath) },
      step: 'first',
      isUnhandled: false,
    };
  }

  onBeforeTryTask(test) {
    super.onBeforeTryTask(test);
    const run = this.#run;
    run.startedMs = performance.now();
    switches.currentTestId = run.step === 'first' ? 'first' : 'again';
    if (run.step !== 'mutant') return;
    writeFileSync(
      `.mutation/${folder}.current`,
      JSON.stringify({ key: keys.get(run.id), ...run.test }),
    );
    switches.hitCount = 0;
    switches.hitLimit = run.hits[run.id] * hitFactor + 1_000;
    switches.activeMutant = run.id;
  }

  /** Runs the test itself, between its hooks. */
  async runTask(test) {
    const run = this.#run;
    const tested = TestRunner.getTestFn(test)();
    if (run.step !== 'mutant') return tested;
    let timer;
    const late = new Promise((_, reject) => {
      const limitMs = Math.max(mutantMsMin, 10 * run.firstMs);
      timer = setTimeout(() => reject(new Error('the test takes too long')), limitMs);
    });
    return Promise.race([tested, late]).finally(() => clearTimeout(timer));
  }

  async onAfterRetryTask(test) {
    const run = this.#run;
    // An unhandled rejection is reported after the promises of this turn.
    await nextTurn();
    const failed = test.result.state === 'fail' || (run.step === 'mutant' && run.isUnhandled);
    run.isUnhandled = false;
    const ms = performance.now() - run.startedMs;
    switches.activeMutant = undefined;
    switches.hitCount = undefined;
    switches.currentTestId = undefined;
    if (test.result.state === 'skip' || test.result.pending) return;
    const message = failed ? String(test.result.errors?.[0]?.message).slice(0, 200) : '';
    test.result.errors = undefined;
    test.result.state = 'pass';
    run.step = this.#next(run, failed, ms, message);
    // This state ends the repetition of a test.
    if (run.step === 'end') test.result.state = 'skip';
    if (run.step === 'dirty') {
      this.#dirtyFile = test.file.filepath;
      record({ ...run.test, result: 'dirty', message });
      test.result.state = 'skip';
    }
  }

  #next(run, failed, ms, message) {
    switch (run.step) {
      case 'first':
        return this.#afterFirst(run, failed, ms, message);
      case 'mutant':
        writeFileSync(`.mutation/${folder}.current`, '');
        run.failedId = failed ? run.id : undefined;
        if (failed) return 'check';
        record({ key: keys.get(run.id), ...run.test, result: 'survived' });
        run.isClean = false;
        return this.#takeMutant(run);
      case 'check':
        if (run.failedId !== undefined && (!failed || run.isClean)) {
          record({ key: keys.get(run.failedId), ...run.test, result: 'killed' });
          keys.delete(run.failedId);
        }
        if (failed && run.failedId === undefined) {
          record({ ...run.test, result: 'unrepeatable', message });
          return 'end';
        }
        if (failed) return 'dirty';
        run.isClean = true;
        return this.#takeMutant(run);
    }
  }

  #afterFirst(run, failed, ms, message) {
    const { perTest } = switches.mutantCoverage;
    run.hits = perTest.first ?? {};
    run.firstMs = ms;
    delete perTest.first;
    if (failed) record({ ...run.test, result: 'fails', message });
    const all = Object.keys(run.hits).filter((id) => keys.has(id));
    run.queue = all.filter((id) => !triedPairs.has(`${keys.get(id)} ${run.test.name}`));
    if (failed || run.queue.length === 0) return 'end';
    if (ms <= testMsMax) return 'check';
    record({ ...run.test, result: 'slow', ms: Math.round(ms) });
    return 'end';
  }

  #takeMutant(run) {
    run.id = run.queue.pop();
    return run.id === undefined ? 'end' : 'mutant';
  }

  onAfterRunFiles(files) {
    super.onAfterRunFiles(files);
    delete switches.mutantCoverage.perTest.again;
    const reached = Object.keys(switches.mutantCoverage.static).filter((id) => keys.has(id));
    record({ result: 'static', keys: reached.map((id) => keys.get(id)) });
  }

  #hash(path) {
    const known = this.#hashes.get(path);
    if (known !== undefined) return known;
    this.#hashes.set(path, hashOf(readFileSync(path, 'utf8')));
    return this.#hashes.get(path);
  }
}
