/** The script of the page at the root of a running Sluice: the datasets as they grow, and one query to run and see. */
interface BlockRef {
  readonly number: number;
}

interface DatasetRow {
  readonly dataset: string;
  readonly start_block: number;
}

interface DatasetStatus {
  readonly head: BlockRef | null;
  readonly finalized_head: BlockRef | null;
  readonly block_count: number;
  readonly head_lag_seconds: number | null;
  readonly behind_slots: number | null;
  readonly alarms: readonly { readonly code: string }[];
}

const refreshMs = 1000;
const answerLengthMax = 200_000;

function element<Type extends HTMLElement>(id: string): Type {
  return document.getElementById(id) as Type;
}

const keyName = 'sluice-key';

/** The key that the service asks for, where it does. Kept for this tab only. */
function keyHeaders(): Record<string, string> {
  const key = sessionStorage.getItem(keyName);
  return key === null ? {} : { 'x-api-key': key };
}

/** `undefined` where the service does not answer that now. */
async function fetchJson<Body>(path: string): Promise<Body | undefined> {
  const response = await fetch(path, { headers: keyHeaders() });
  element('key').hidden = response.status !== 401;
  return response.ok ? ((await response.json()) as Body) : undefined;
}

const seen = new Map<string, { readonly count: number; readonly atMs: number }>();

/** Blocks a second since this dataset was first seen. Retention takes some away, so it may fall. */
function rateOf(name: string, count: number, atMs: number): string {
  const first = seen.get(name);
  if (first === undefined) seen.set(name, { count, atMs });
  if (first === undefined || atMs - first.atMs < refreshMs) return '…';
  return (((count - first.count) * 1000) / (atMs - first.atMs)).toFixed(1);
}

async function refresh(atMs: number): Promise<void> {
  const datasets = await fetchJson<readonly DatasetRow[]>('/datasets');
  if (datasets === undefined) return;
  const table = element<HTMLTableElement>('datasets');
  while (table.rows.length > datasets.length + 1) table.deleteRow(-1);
  for (const [i, row] of datasets.entries()) {
    const status = await fetchJson<DatasetStatus>(`/datasets/${row.dataset}/status`);
    if (status === undefined) continue;
    (table.rows[i + 1] ?? table.insertRow()).replaceChildren(
      ...describe(row, status, atMs).map((cell) =>
        Object.assign(document.createElement('td'), { textContent: String(cell) }),
      ),
    );
    offer(row.dataset, status.head?.number ?? row.start_block);
  }
}

/** The cells of a row, in the order of the table's heads. */
function describe(row: DatasetRow, status: DatasetStatus, atMs: number): (string | number)[] {
  const { head, finalized_head, block_count, head_lag_seconds, behind_slots, alarms } = status;
  return [
    row.dataset,
    row.start_block,
    head?.number ?? '–',
    finalized_head?.number ?? '–',
    block_count,
    head_lag_seconds === null ? '–' : `${head_lag_seconds} s`,
    behind_slots === null ? '–' : `${behind_slots} slots`,
    rateOf(row.dataset, block_count, atMs),
    alarms.map(({ code }) => code).join(', ') || 'none',
  ];
}

/** Puts a dataset into the list to choose from, once, and a query that shows something into the box. */
function offer(dataset: string, head: number): void {
  const select = element<HTMLSelectElement>('dataset');
  if ([...select.options].some((option) => option.value === dataset)) return;
  select.add(new Option(dataset, dataset));
  const box = element<HTMLTextAreaElement>('query');
  if (box.value !== '') return;
  const query = {
    fromBlock: head,
    fields: {
      block: { number: true, hash: true, timestamp: true },
      transaction: { transactionIndex: true, feePayer: true, fee: true },
    },
    transactions: [{}],
  };
  box.value = JSON.stringify(query, null, 1);
}

let running = new AbortController();

async function ask(): Promise<void> {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const answer = element<HTMLPreElement>('answer');
  const name = element<HTMLSelectElement>('dataset').value;
  const response = await fetch(`/datasets/${name}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...keyHeaders() },
    body: element<HTMLTextAreaElement>('query').value,
    signal,
  });
  answer.textContent = `HTTP ${response.status}\n`;
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) return;
    answer.textContent = (answer.textContent + part.value).slice(-answerLengthMax);
    answer.scrollTop = answer.scrollHeight;
  }
}

function show(error: unknown): void {
  if (error instanceof Error && error.name === 'AbortError') return;
  element('answer').textContent += `\n${String(error)}`;
}

element('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  ask().catch(show);
});
element('stop').addEventListener('click', () => running.abort());
element('key').addEventListener('submit', (event) => {
  event.preventDefault();
  const input = element<HTMLInputElement>('key-text');
  sessionStorage.setItem(keyName, input.value.trim());
  input.value = '';
});

/** With the frames, so that a page nobody looks at asks for nothing. */
let refreshedMs = Number.NEGATIVE_INFINITY;
let isRefreshing = false;
const frame = (atMs: number) => {
  if (!isRefreshing && atMs - refreshedMs >= refreshMs) {
    refreshedMs = atMs;
    isRefreshing = true;
    refresh(atMs)
      .catch(() => undefined)
      .finally(() => {
        isRefreshing = false;
      });
  }
  requestAnimationFrame(frame);
};
requestAnimationFrame(frame);
