export interface StartupFacts {
  readonly url: string;
  readonly adminUrl: string;
  readonly dataFolder: string;
  readonly bytesPerDay: number;
  readonly freeBytes: number;
  readonly datasets: readonly { readonly name: string; readonly head: number | null }[];
  /** Lines about those that cannot be opened. */
  readonly refused: readonly string[];
}

/** What a person sees who typed `npm start`: what it does, where, what it costs, and one line to paste. */
export function buildDemoText(facts: StartupFacts): string {
  const { url, adminUrl, dataFolder, bytesPerDay, freeBytes } = facts;
  const heads = facts.datasets.map(({ name, head }) =>
    head === null ? `${name} (new)` : `${name} (goes on from slot ${head})`,
  );
  return `
Sluice follows a simulated ledger and streams it.

  page        ${url}
  interface   ${url}/docs
  datasets    ${heads.join(', ')}
${facts.refused.map((line) => `  not served  ${line}\n`).join('')}  operator    ${adminUrl}/ready  /health  /metrics
  data        ${dataFolder}, about ${gigabytes(bytesPerDay)} GB a day, ${gigabytes(freeBytes)} GB free

Paste this into another terminal; lines keep coming:

  ${curlLine(url)}

Stop with Ctrl-C; the next start goes on from here.
`;
}

function curlLine(url: string): string {
  const query = {
    fromBlock: 0,
    fields: {
      block: { number: true, hash: true },
      tokenBalance: { account: true, preAmount: true, postAmount: true },
    },
    tokenBalances: [{}],
  };
  return `curl -N --compressed -H 'Content-Type: application/json' ${url}/datasets/ledger-beta/stream -d '${JSON.stringify(query)}'`;
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1);
}
