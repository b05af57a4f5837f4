import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { builtFiles, importBuild } from './test/import-build.ts';
import { slowFiles } from './test/slow/slow-files.ts';

/** The tests that run whole programs take longest. */
const programs = ['test/command/', 'test/service/'];
/** Tests that run whole programs for long have commands of their own, and `npm run check` runs those of `test/tidy`. */
const apart = 'bench|browser|client|cluster|examples|guide|node|service|simulator|sync|tidy';

/** Starts the slowest files first, so that no worker has to wait for one of them at the end. */
class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isProgram = ({ moduleId }: TestSpecification) =>
      programs.some((folder) => moduleId.includes(`/${folder}`));
    const sorted = await super.sort(files);
    return [...sorted.filter(isProgram), ...sorted.filter((file) => !isProgram(file))];
  }
}

export default defineConfig({
  plugins: [importBuild()],
  test: {
    globalSetup: './test/build-once.ts',
    setupFiles: './test/setup.ts',
    server: { deps: { external: [builtFiles] } },
    include: [
      'packages/*/{src,build}/**/*.test.ts',
      `test/!(${apart})/**/*.test.ts`,
      // This test covers what a new user tries first.
      'test/service/demo.test.ts',
    ],
    // `npm run test:ledger` runs this file.
    exclude: ['test/litesvm/simulated.test.ts', ...slowFiles],
    sequence: { sequencer: SlowestFirst },
    // Tests spend a third of their time waiting, for a process to start or a deadline to pass, so there is one worker
    // more than cores.
    maxWorkers: availableParallelism() + 1,
    // Files share loaded modules, because loading them again took a third of the time of most files.
    isolate: false,
    // Tests take seconds on an idle machine; the rest is reserve for a busy one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});
