/** Reads the options of a command of this folder. */
import { parseArgs } from 'node:util';

/** Prints the usage and exits with `--help`, or if an option is wrong. */
export function readOptions(usage, options, args = process.argv.slice(2)) {
  const withHelp = { ...options, help: { type: 'boolean', default: false } };
  try {
    const { values } = parseArgs({ args, options: withHelp });
    if (!values.help) return values;
    process.stdout.write(usage);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${usage}`);
    process.exit(2);
  }
}
