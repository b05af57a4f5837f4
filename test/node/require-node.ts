import { accessSync, constants } from 'node:fs';

const HOW = `SOLANA_TEST_VALIDATOR must hold the path of a solana-test-validator.
These commands build it with Rust, in about half an hour on two cores:
  apt-get install clang libclang-dev protobuf-compiler libssl-dev libudev-dev pkg-config
  CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo install agave-validator --version 3.1.5 --locked --bin solana-test-validator
  SOLANA_TEST_VALIDATOR=~/.cargo/bin/solana-test-validator npm run test:node
See docs/testing-with-a-node.md.`;

/**
 * Returns the path of the node's binary. Throws instructions if it is missing, because a skipped run would look like
 * success.
 */
export function nodeBinary(): string {
  const path = process.env['SOLANA_TEST_VALIDATOR'];
  if (path === undefined || path === '') throw new Error(HOW);
  try {
    accessSync(path, constants.X_OK);
  } catch (error) {
    throw new Error(`${path} cannot be run. ${HOW}`, { cause: error });
  }
  return path;
}

export function setup(): void {
  nodeBinary();
}
