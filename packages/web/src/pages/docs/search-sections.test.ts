import { expect, test } from 'vitest';
import { searchSections } from './search-sections.ts';

const sections = [
  ['query', 'The query language', 'filters', 'Filters', 'values of one list are united'],
  ['http', 'The interface', 'keys', 'Keys', 'a key is sent as a header; filters do not matter'],
] as const;

test('default: sections with all words are found; those with a word in the title come first', () => {
  expect(searchSections(sections, 'filters').map(({ anchor }) => anchor)).toEqual([
    'filters',
    'keys',
  ]);
  expect(searchSections(sections, 'header KEY').map(({ slug }) => slug)).toEqual(['http']);
  expect(searchSections(sections, 'filters nowhere')).toEqual([]);
  expect(searchSections(sections, ' ')).toEqual([]);
});
