export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (tag: string, cells: readonly string[]) =>
    `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  return `<table>${row('th', heads)}${rows.map((cells) => row('td', cells)).join('')}</table>`;
}

/** A whole page that needs nothing from anywhere else. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title><style>${style}</style></head><body>${body}</body></html>\n`;
}

const style = `
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;width:100%}
td,th{border-bottom:1px solid #ddd;text-align:left;padding:.25rem .75rem .25rem 0;vertical-align:top}
code,pre,textarea{font:13px/1.4 ui-monospace,monospace}
pre{background:#f5f5f3;padding:.75rem;overflow:auto;max-height:28rem}
textarea{width:100%;box-sizing:border-box}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td,th{border-color:#444}pre,textarea{background:#242424;color:#ddd}a{color:#8bf}}
`;
