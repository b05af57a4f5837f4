import { useEffect, useState } from 'preact/hooks';
import { clock } from '../../base/clock.ts';
import { statusOf } from '../../state/datasets.ts';
import { pagePath } from '../../state/page-path.ts';
import { place, replaceAddress } from '../../state/router.ts';
import { decodeQuery, encodeQuery } from './query-link.ts';
import { formatQuery, type JsonObject, parseText } from './query-model.ts';
import { queryTransactions } from './sample-queries.ts';

/** Typing changes the address only when it pauses; browsers limit how often it may change. */
const delayMs = 300;
const firstBlockCount = 20;

/** The text of the query. It begins with the one in the address, and the address follows it. */
export function useQueryText(dataset: string): { text: string; setText: (text: string) => void } {
  const { hash } = place.value;
  const [text, setText] = useState(() => decodeQuery(hash) ?? '');
  const isReady = statusOf(dataset) !== undefined;
  // A link to another query on the same page replaces the text.
  useEffect(() => {
    const linked = decodeQuery(hash);
    if (linked !== undefined) setText(layOut(linked));
  }, [hash]);
  // The first query needs the head, which comes with the status.
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

/** A link may hold the query in any layout. */
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
