/** Slug and title of the page, anchor, title and text of the section. */
type Section = readonly [string, string, string, string, string];

export interface FoundSection {
  readonly slug: string;
  readonly page: string;
  readonly anchor: string;
  readonly title: string;
  readonly excerpt: string;
}

const resultCountMax = 20;
const excerptLength = 110;
const titleWeight = 8;
const pageWeight = 3;

/** Returns the sections that contain all words. Sections with the words in their titles come first. */
export function searchSections(
  sections: readonly Section[],
  query: string,
): readonly FoundSection[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return [];
  return sections
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, resultCountMax)
    .map(({ section: [slug, page, anchor, title, text] }) => ({
      slug,
      page,
      anchor,
      title,
      excerpt: cutAround(text, words[0] ?? ''),
    }));
}

/** Returns 0 if a word is missing. */
function scoreOf([, page, , title, text]: Section, words: readonly string[]): number {
  let score = 0;
  for (const word of words) {
    const points =
      (title.toLowerCase().includes(word) ? titleWeight : 0) +
      (page.toLowerCase().includes(word) ? pageWeight : 0) +
      (text.toLowerCase().includes(word) ? 1 : 0);
    if (points === 0) return 0;
    score += points;
  }
  return score;
}

function cutAround(text: string, word: string): string {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 30);
  const cut = text.slice(at, at + excerptLength).trim();
  return `${at > 0 ? '…' : ''}${cut}${at + excerptLength < text.length ? '…' : ''}`;
}
