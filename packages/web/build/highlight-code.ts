/** Marks strings, numbers and comments of a code block, as HTML. Languages without a pattern are only escaped. */
import { escapeHtml } from './escape-html.ts';

const string = String.raw`"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`;
const number = String.raw`\b\d[\d_.]*\b|\b(?:true|false|null|None|True|False)\b`;

const patterns: Readonly<Record<string, RegExp>> = {
  json: new RegExp(`(?<text>${string})|(?<number>${number})`, 'g'),
  ts: new RegExp(
    `(?<comment>//[^\\n]*|/\\*[^]*?\\*/)|(?<text>${string}|\`[^\`]*\`)|(?<number>${number})`,
    'g',
  ),
  python: new RegExp(`(?<comment>#[^\\n]*)|(?<text>${string})|(?<number>${number})`, 'g'),
  // Words may contain a "#", so a comment is at the start of a line or after a space.
  sh: /(?<comment>(?<=^|\s)#[^\n]*)|(?<text>"(?:\\.|[^"\\])*"|'[^']*')/gm,
};

const aliases: Readonly<Record<string, string>> = {
  typescript: 'ts',
  js: 'ts',
  javascript: 'ts',
  py: 'python',
  bash: 'sh',
  jsonc: 'ts',
};

export function highlightCode(text: string, language: string): string {
  const pattern = patterns[aliases[language] ?? language];
  if (pattern === undefined) return escapeHtml(text);
  let html = '';
  let end = 0;
  for (const found of text.matchAll(pattern)) {
    const [word] = found;
    html += escapeHtml(text.slice(end, found.index));
    end = found.index + word.length;
    const kind = Object.entries(found.groups ?? {}).find(([, value]) => value !== undefined)?.[0];
    const isKey = kind === 'text' && /^\s*:/.test(text.slice(end));
    html += `<span class="code-${isKey ? 'key' : kind}">${escapeHtml(word)}</span>`;
  }
  return html + escapeHtml(text.slice(end));
}
