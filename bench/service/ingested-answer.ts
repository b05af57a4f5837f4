import { createHash } from 'node:crypto';
import { CommandProcess } from './command-process.ts';
import { ScenarioFailure } from './scenario.ts';

/** The number of slots that the checksum covers. Every scenario with a checksum stores at least as many. */
const hashedSlots = 40;

const everything = {
  includeAllBlocks: true,
  transactions: [{}],
  instructions: [{}],
  logs: [{}],
  balances: [{}],
  tokenBalances: [{}],
  rewards: [{}],
};

/** Returns a hash of all records of the first slots. It is the same for every way of ingesting the same ledger. */
export async function hashAnswer(port: number, firstSlot: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/datasets/bench/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...everything,
      fromBlock: firstSlot,
      toBlock: firstSlot + hashedSlots - 1,
    }),
  });
  if (response.status !== 200)
    throw new ScenarioFailure(`the response has status ${response.status}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  return `${digest} (${hashedSlots} slots, ${(bytes.length / 1e6).toFixed(1)} MB)`;
}

/** Serves a data folder without a source. */
export class ServedFolder {
  readonly port: number;
  readonly #process: CommandProcess;

  private constructor(started: CommandProcess, port: number) {
    this.#process = started;
    this.port = port;
  }

  static async open(folder: string): Promise<ServedFolder> {
    const { process: started, found } = await CommandProcess.start(
      ['serve', '--data', folder, '--port', '0', '--admin-port', '0'],
      servingPattern,
    );
    return new ServedFolder(started, Number(found[0]));
  }

  close(): Promise<void> {
    return this.#process.stop();
  }
}

export const servingPattern = /Serving .* at \S+:(\d+) \(operator: \S+\)/;
