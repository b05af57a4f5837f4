/**
 * The documentation as modules of the bundle, rendered from the Markdown files while building:
 *
 *   virtual:docs          the groups of pages, with a function that loads each page
 *   virtual:docs/SLUG     the HTML of one page
 *   virtual:docs-search   the text of all sections
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';
import { type DocumentSource, type RenderedDocument, renderDocument } from './render-document.ts';

/** The order of the navigation. Pages that are not named are listed last, by folder. */
const groups: readonly (readonly [string, readonly string[]])[] = [
  ['Start', ['readme', 'web', 'guide', 'guide/*']],
  ['Interface', ['query', 'decoding', 'http', 'errors', 'client', 'sync', 'records', 'glossary']],
  ['Operation', ['operating', 'configuration', 'cli', 'metrics', 'reliability', 'data-folder']],
  ['Internals', ['architecture', 'segment-format', 'simulator', '*']],
  ['Decisions', ['decisions', 'decisions/*']],
  ['Measurements', ['measurements', 'measurements/*']],
];

const rootPages: Readonly<Record<string, string>> = {
  'README.md': 'readme',
  'ARCHITECTURE.md': 'architecture',
};

export function documentModules(repository: string): Plugin {
  let rendered: ReadonlyMap<string, RenderedDocument> | undefined;
  const pages = () => {
    rendered ??= renderAll(repository);
    return rendered;
  };
  return {
    name: 'document-modules',
    resolveId: (id) => (/^virtual:docs(-search|\/.+)?$/.test(id) ? `\0${id}` : undefined),
    load: (id) => {
      if (id === '\0virtual:docs') return buildIndex(pages());
      if (id === '\0virtual:docs-search') return buildSearch(pages());
      const [, slug] = /^\0virtual:docs\/(.+)$/.exec(id) ?? [];
      if (slug === undefined) return undefined;
      return `export const html = ${JSON.stringify(pages().get(slug)?.html ?? '')};`;
    },
  };
}

function renderAll(repository: string): ReadonlyMap<string, RenderedDocument> {
  const slugs = new Map(Object.entries(rootPages));
  for (const file of readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' })) {
    if (file.endsWith('.md')) slugs.set(`docs/${file}`, slugOf(file));
  }
  const sources: DocumentSource[] = [...slugs].map(([path, slug]) => ({
    path,
    slug,
    text: readFileSync(join(repository, path), 'utf8'),
  }));
  // A link to a folder leads to its first page.
  const findSlug = (path: string) =>
    slugs.get(path) ?? slugs.get(`${path.replace(/\/$/, '')}/README.md`);
  return new Map(sources.map((source) => [source.slug, renderDocument(source, findSlug)]));
}

function slugOf(file: string): string {
  return file.replace(/(\/README)?\.md$/, '').toLowerCase();
}

function buildIndex(pages: ReadonlyMap<string, RenderedDocument>): string {
  const left = new Set(pages.keys());
  const listed = groups.map(([title, patterns]) => ({
    title,
    pages: patterns.flatMap((pattern) =>
      [...left]
        .filter((slug) => matches(pattern, slug, pages))
        .sort()
        .flatMap((slug) => {
          left.delete(slug);
          return pages.get(slug) ?? [];
        }),
    ),
  }));
  const entries = listed.map(({ title, pages: members }) => {
    const rows = members.map((page) => {
      const sections = page.sections
        .filter(({ depth }) => depth === 2)
        .map((section) => ({ anchor: section.anchor, title: section.title }));
      const head = JSON.stringify({ slug: page.slug, title: page.title, sections });
      return `{ ...${head}, load: () => import(${JSON.stringify(`virtual:docs/${page.slug}`)}) }`;
    });
    return `{ title: ${JSON.stringify(title)}, pages: [${rows.join(',')}] }`;
  });
  return `export const groups = [${entries.join(',\n')}];`;
}

/** `x/*` matches the pages of a folder, `*` those of the first level that are not the first page of a folder. */
function matches(
  pattern: string,
  slug: string,
  pages: ReadonlyMap<string, RenderedDocument>,
): boolean {
  if (!pattern.endsWith('*')) return slug === pattern;
  const folder = pattern.slice(0, -1);
  const isFolder = [...pages.keys()].some((other) => other.startsWith(`${slug}/`));
  return slug.startsWith(folder) && !slug.slice(folder.length).includes('/') && !isFolder;
}

function buildSearch(pages: ReadonlyMap<string, RenderedDocument>): string {
  const sections = [...pages.values()]
    .filter(({ slug }) => !slug.startsWith('measurements/'))
    .flatMap(({ slug, title, sections: ofPage }) =>
      ofPage.map((section) => [slug, title, section.anchor, section.title, section.text]),
    );
  return `export const sections = ${JSON.stringify(sections)};`;
}
