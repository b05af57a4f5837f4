export interface StartupFacts {
  readonly url: string;
  readonly adminUrl: string;
  readonly dataFolder: string;
  readonly bytesPerDay: number;
  readonly freeBytes: number;
  readonly datasets: readonly {
    readonly name: string;
    readonly text: string;
    readonly head: number | null;
  }[];
  /** Lines about datasets that cannot be opened. */
  readonly refused: readonly string[];
}

/** Returns the startup text of the demo: what it does, its addresses, its disk usage, and a command to paste. */
export function buildDemoText(facts: StartupFacts): string {
  const { url, adminUrl, dataFolder, bytesPerDay, freeBytes } = facts;
  const name = facts.datasets[0]?.name ?? 'NAME';
  // At the default address commands need only the name of the dataset.
  const target = url === 'http://127.0.0.1:8080' ? name : `${url}/datasets/${name}`;
  const lines = facts.datasets.map(({ name, text, head }) =>
    head === null ? `${name}: ${text}` : `${name}: ${text}; continues from slot ${head}`,
  );
  return `
Sluice follows a simulated ledger and streams it.

  page        ${url}
  interface   ${url}/docs
  datasets    ${lines.join('\n              ')}
${facts.refused.map((line) => `  not served  ${line}\n`).join('')}  operator    ${adminUrl}/ready  /health  /metrics
  data        ${dataFolder}, about ${gigabytes(bytesPerDay)} GB a day, ${gigabytes(freeBytes)} GB free

Run this in another terminal to stream blocks. The response ends after 300 s; to continue, request from the slot after the last line:

  ${curlLine(url)}

Or read blocks with these commands:

  npx sluice tail ${target}
  npx sluice query ${target} --last 10

Stop with Ctrl-C; the next start continues from here.
`;
}

/** The AMM of the demo ledger, and the start of the data of its swaps. */
const demoAmm = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const swapStart = '0xf8c69e91e17587c8';

function curlLine(url: string): string {
  const query = {
    fromBlock: 0,
    fields: {
      block: { number: true, hash: true },
      instruction: { transactionIndex: true, instructionAddress: true, accounts: true, data: true },
    },
    instructions: [{ programId: demoAmm, d8: swapStart, isCommitted: true }],
  };
  return `curl -N --compressed -H 'Content-Type: application/json' ${url}/datasets/ledger-beta/stream -d '${JSON.stringify(query)}'`;
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}
