import { readFileSync } from 'node:fs';
import { htmlPage } from './html.ts';

/** What a browser sees first. Its script is the package `web`. */
export const livePage = htmlPage(
  'Sluice',
  `<h1>Sluice</h1>
<p>A ledger, kept in columns and streamed. <a href="/docs">The interface</a> · <a href="/openapi.json">openapi.json</a></p>
<table id="datasets"><tr><th>Dataset</th><th>From</th><th>Head</th><th>Finalized</th><th>Blocks</th><th>Lag</th><th>Behind</th><th>Blocks/s</th><th>Alarms</th></tr></table>
<p>Lag is how far the newest block's time is behind the clock, behind is how many slots the sources have that are not here yet.</p>
<form id="key" hidden><p>This service asks for a key: <input id="key-text" type="password" autocomplete="off"> <button>Use it</button></p></form>
<h2>Ask</h2>
<form id="ask"><p><select id="dataset"></select> <button>Run</button> <button type="button" id="stop">Stop</button></p>
<textarea id="query" rows="8" spellcheck="false"></textarea></form>
<pre id="answer"></pre>
<script type="module" src="/page.js"></script>`,
);

/** From the neighbouring package's build; the page works without it, it only does not move. */
export function readPageScript(): string {
  try {
    return readFileSync(new URL('../../../web/dist/page.js', import.meta.url), 'utf8');
  } catch {
    return '';
  }
}
