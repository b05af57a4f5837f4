import { build } from '../packages/server/bin/build.js';

/** Worker threads and spawned commands run the built files, so tests begin with a build that is up to date. */
export async function setup(): Promise<void> {
  await build();
}
