import { PassThrough } from 'node:stream';
import { main } from '../main.ts';

export interface MainResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line in this process, with output to a pipe or to a terminal of 120 columns. */
export async function runMain(args: readonly string[], isTerminal = false): Promise<MainResult> {
  const stream = () =>
    Object.assign(new PassThrough({ highWaterMark: 1e9 }), { isTTY: isTerminal, columns: 120 });
  const [out, err] = [stream(), stream()];
  const code = await main([...args], { out, err });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}
