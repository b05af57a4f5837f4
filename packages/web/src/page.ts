/** The script of the page at the root of a running Sluice: the datasets as they grow, and one query to run and see. */
interface BlockRef {
  readonly number: number;
}

interface DatasetRow {
  readonly dataset: string;
  readonly start_block: number;
}

const refreshMs = 1000;
const answerLengthMax = 200_000;

function element<Type extends HTMLElement>(id: string): Type {
  return document.getElementById(id) as Type;
}

async function fetchJson<Body>(path: string): Promise<Body> {
  const response = await fetch(path);
  return (await response.json()) as Body;
}

const seen = new Map<string, { readonly number: number; readonly atMs: number }>();

/** Slots a second since this dataset was first seen. */
function rateOf(name: string, number: number, atMs: number): string {
  const first = seen.get(name);
  if (first === undefined) seen.set(name, { number, atMs });
  if (first === undefined || atMs - first.atMs < refreshMs) return '…';
  return (((number - first.number) * 1000) / (atMs - first.atMs)).toFixed(1);
}

async function refresh(atMs: number): Promise<void> {
  const datasets = await fetchJson<readonly DatasetRow[]>('/datasets');
  const table = element<HTMLTableElement>('datasets');
  while (table.rows.length > datasets.length + 1) table.deleteRow(-1);
  for (const [i, { dataset, start_block }] of datasets.entries()) {
    const base = `/datasets/${dataset}`;
    const head = await fetchJson<BlockRef | null>(`${base}/head`);
    const finalized = await fetchJson<BlockRef | null>(`${base}/finalized-head`);
    const row = table.rows[i + 1] ?? table.insertRow();
    const rate = head === null ? '…' : rateOf(dataset, head.number, atMs);
    const cells = [dataset, start_block, head?.number ?? '–', finalized?.number ?? '–', rate];
    row.replaceChildren(
      ...cells.map((cell) =>
        Object.assign(document.createElement('td'), { textContent: String(cell) }),
      ),
    );
    offer(dataset, head?.number ?? start_block);
  }
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
    headers: { 'content-type': 'application/json' },
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
