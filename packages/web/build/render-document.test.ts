import { expect, test } from 'vitest';
import { renderDocument } from './render-document.ts';

const findSlug = (path: string) => (path === 'docs/http.md' ? 'http' : undefined);
const render = (text: string) =>
  renderDocument({ path: 'docs/guide/README.md', slug: 'guide', text }, findSlug);

test('default: headings get the anchors of GitHub, unique on the page', () => {
  const { html, title, sections } = render(
    '# A `page`\n\n## What, now?\n\ntext\n\n## What, now?\n',
  );
  expect(title).toBe('A page');
  expect(sections.map(({ anchor }) => anchor)).toEqual(['a-page', 'what-now', 'what-now-1']);
  expect(sections[1]?.text).toBe(' text');
  expect(html).toContain('<h2 id="what-now-1">');
});

test('behavior: links to pages work in the application, and links elsewhere in the repository become text', () => {
  const { html } = render(
    '[a](../http.md#keys) [b](../../test/x.ts) [c](#here) [d](https://x.example)',
  );
  expect(html).toContain('<a href="/docs/http#keys">a</a> b <a href="#here">c</a>');
  expect(html).toContain('href="https://x.example"');
});

test('behavior: a code block has the query that it contains as an attribute, also if the query is part of a command', () => {
  const { html } = render(
    '```sh\ncurl x -d \'{"fromBlock": 1}\'\n```\n\n```json\n{"toBlock": 1}\n```\n',
  );
  expect(html.match(/data-query/g)).toHaveLength(1);
  expect(html).toContain('data-query="{&quot;fromBlock&quot;:1}"');
});
