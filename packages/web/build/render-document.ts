/** Renders one page of the documentation: its HTML, and its sections for navigation and search. */
import { posix } from 'node:path';
import { Marked, Renderer, type Tokens } from 'marked';
import { escapeHtml } from './escape-html.ts';
import { highlightCode } from './highlight-code.ts';

export interface DocumentSource {
  /** The path in the repository, such as `docs/query.md`. */
  readonly path: string;
  readonly slug: string;
  readonly text: string;
}

export interface DocumentSection {
  readonly anchor: string;
  readonly title: string;
  readonly depth: number;
  readonly text: string;
}

export interface RenderedDocument {
  readonly slug: string;
  readonly title: string;
  readonly html: string;
  readonly sections: readonly DocumentSection[];
}

/** Longer sections are truncated in the search index, which would otherwise be twice as large. */
const sectionLengthMax = 900;

/** Returns the slug of a path in the repository, or `undefined` if the page is not part of the documentation. */
export type FindSlug = (path: string) => string | undefined;

export function renderDocument(source: DocumentSource, findSlug: FindSlug): RenderedDocument {
  const anchors = new AnchorNames();
  const sections: { anchor: string; title: string; depth: number; text: string }[] = [];
  const resolve = (href: string) => resolveLink(href, source.path, findSlug);
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const title = plainText(this.parser.parseInline(tokens));
        const anchor = anchors.add(title);
        sections.push({ anchor, title, depth, text: '' });
        const inner = this.parser.parseInline(tokens);
        return `<h${depth} id="${anchor}"><a class="anchor" href="#${anchor}">${inner}</a></h${depth}>\n`;
      },
      paragraph({ tokens }) {
        const inner = this.parser.parseInline(tokens);
        addText(sections, plainText(inner));
        return `<p>${inner}</p>\n`;
      },
      table(token: Tokens.Table) {
        const table = Renderer.prototype.table.call(this, token) as string;
        addText(sections, plainText(table.replaceAll('<', ' <')));
        return `<div class="table-scroll" tabindex="0">${table}</div>\n`;
      },
      code({ text, lang = '' }) {
        addText(sections, text);
        return renderCode(text, lang);
      },
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        const target = resolve(href);
        return target === undefined ? inner : `<a href="${escapeHtml(target)}">${inner}</a>`;
      },
    },
  });
  const html = marked.parse(source.text, { async: false });
  const title = sections.find(({ depth }) => depth === 1)?.title ?? source.slug;
  return { slug: source.slug, title, html, sections };
}

function addText(sections: { text: string }[], text: string): void {
  const last = sections.at(-1);
  if (last === undefined || last.text.length >= sectionLengthMax) return;
  last.text = `${last.text} ${text}`.replaceAll(/\s+/g, ' ').slice(0, sectionLengthMax);
}

/** A code block with a query gets the query as an attribute, from which the page builds a link to the workbench. */
function renderCode(text: string, language: string): string {
  const query = findQuery(text);
  const data = query === undefined ? '' : ` data-query="${escapeHtml(query)}"`;
  return `<div class="code"${data}><pre tabindex="0"><code>${highlightCode(text, language)}</code></pre></div>\n`;
}

function findQuery(text: string): string | undefined {
  if (!text.includes('"fromBlock"')) return undefined;
  const [body] = /\{[\s\S]*\}/.exec(text) ?? [];
  try {
    return JSON.stringify(JSON.parse(body ?? ''));
  } catch {
    return undefined;
  }
}

function resolveLink(href: string, from: string, findSlug: FindSlug): string | undefined {
  if (/^(#|https?:)/.test(href)) return href;
  const [path = '', anchor] = href.split('#');
  const slug = findSlug(posix.join(posix.dirname(from), path));
  if (slug === undefined) return undefined;
  return `/docs/${slug}${anchor === undefined ? '' : `#${anchor}`}`;
}

/** Builds anchors like GitHub, so that links in the documents work in both places. */
class AnchorNames {
  readonly #counts = new Map<string, number>();

  add(title: string): string {
    const name = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-');
    const count = this.#counts.get(name) ?? 0;
    this.#counts.set(name, count + 1);
    return count === 0 ? name : `${name}-${count}`;
  }
}

function plainText(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
