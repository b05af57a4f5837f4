import { useEffect, useState } from 'preact/hooks';
import { clock } from '../../base/clock.ts';
import { statusOf } from '../../state/datasets.ts';
import { pagePath } from '../../state/page-path.ts';
import { replaceAddress, route } from '../../state/router.ts';
import { decodeQuery, encodeQuery } from './query-link.ts';
import { formatQuery, type JsonObject, parseText } from './query-model.ts';
import { queryTransactions } from './sample-queries.ts';

/** The address changes after a pause in typing, because browsers limit the rate of changes. */
const delayMs = 300;
const firstBlockCount = 20;

/** The text of the query. It starts with the query in the address, and later changes are written to the address. */
export function useQueryText(dataset: string): { text: string; setText: (text: string) => void } {
  const { hash } = route.value;
  const [text, setText] = useState(() => decodeQuery(hash) ?? '');
  const isReady = statusOf(dataset) !== undefined;
  // A link to another query on the same page replaces the text.
  useEffect(() => {
    const linked = decodeQuery(hash);
    if (linked !== undefined) setText(layOut(linked));
  }, [hash]);
  // The first query needs the head, which is part of the status.
  useEffect(() => {
    if (text === '' && isReady) setText(firstQuery(dataset));
  }, [isReady, dataset]);
  useEffect(() => {
    if (text === '') return undefined;
    const stop = new AbortController();
    clock
      .sleep(delayMs, stop.signal)
      .then(() => {
        if (!stop.signal.aborted)
          replaceAddress(`${pagePath.workbench(dataset)}${encodeQuery(text)}`);
      })
      .catch(() => undefined);
    return () => stop.abort();
  }, [text, dataset]);
  return { text, setText };
}

/** Formats the query of a link, which may be on one line. */
function layOut(text: string): string {
  const parsed = parseText(text);
  return parsed.kind === 'query' ? formatQuery(parsed.query) : text;
}

function firstQuery(dataset: string): string {
  const status = statusOf(dataset);
  const start = status?.start_block ?? 0;
  const head = status?.head?.number ?? start;
  const range = { fromBlock: Math.max(start, head - firstBlockCount), toBlock: head };
  return formatQuery(queryTransactions(range) as JsonObject);
}
