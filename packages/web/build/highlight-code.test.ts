import { expect, test } from 'vitest';
import { highlightCode } from './highlight-code.ts';

test('default: keys, strings, numbers and comments are marked, and everything is escaped', () => {
  expect(highlightCode('{"a": [1, "<b>", true]}', 'json')).toBe(
    '{<span class="code-key">&quot;a&quot;</span>: [<span class="code-number">1</span>, ' +
      '<span class="code-text">&quot;&lt;b&gt;&quot;</span>, <span class="code-number">true</span>]}',
  );
  expect(highlightCode("x('a'); // 1", 'typescript')).toBe(
    'x(<span class="code-text">\'a\'</span>); <span class="code-comment">// 1</span>',
  );
  expect(highlightCode('ls x#1 # all', 'sh')).toBe(
    'ls x#1 <span class="code-comment"># all</span>',
  );
});

test('behavior: an unknown language is only escaped', () => {
  expect(highlightCode('a < "b"', '')).toBe('a &lt; &quot;b&quot;');
});
