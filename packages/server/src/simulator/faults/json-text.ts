/**
 * Edits of JSON text without parsing it: a value that passed through a JavaScript number would come out with other
 * digits. The text is our own rendering, valid and without white space.
 */

/** Where a value of the outermost object is, its key included; undefined if the key is absent. */
function findTopLevel(
  text: string,
  key: string,
): { at: number; value: number; end: number } | undefined {
  const name = JSON.stringify(key);
  for (let at = 1; text[at] === '"'; ) {
    const value = skipValue(text, at) + 1;
    const end = skipValue(text, value);
    if (text.startsWith(name, at)) return { at, value, end };
    at = end + 1;
  }
  return undefined;
}

export function topLevelValue(text: string, key: string): string | undefined {
  const found = findTopLevel(text, key);
  return found && text.slice(found.value, found.end);
}

export function replaceTopLevel(text: string, key: string, json: string): string {
  const found = findTopLevel(text, key);
  return found ? text.slice(0, found.value) + json + text.slice(found.end) : text;
}

export function removeTopLevel(text: string, key: string): string {
  const found = findTopLevel(text, key);
  if (found === undefined) return text;
  const isLast = text[found.end] !== ',';
  const start = isLast && text[found.at - 1] === ',' ? found.at - 1 : found.at;
  return text.slice(0, start) + text.slice(isLast ? found.end : found.end + 1);
}

/** Replaces the value of a key at any depth. A key is followed by a colon, and a quote inside a text is escaped. */
export function replaceEverywhere(text: string, key: string, json: string): string {
  const mark = `${JSON.stringify(key)}:`;
  const parts: string[] = [];
  let done = 0;
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, done)) {
    const value = at + mark.length;
    parts.push(text.slice(done, value), json);
    done = skipValue(text, value);
  }
  parts.push(text.slice(done));
  return parts.join('');
}

/** The index after the value that begins here. */
function skipValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfText(text, at);
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') {
      if (depth === 0) return at;
      depth -= 1;
    } else if (depth > 0) continue;
    else if (character === ',' || character === ':') return at;
    else continue;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

/** The index of the closing quote. */
function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
