/**
 * Edits JSON text without parsing it, because a value that passes through a JavaScript number can lose digits. The text is our own
 * output, valid and without white space.
 */

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

/** Returns the index after the value that starts here. */
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

/** Returns the index of the closing quote. */
function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
