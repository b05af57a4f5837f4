/** Parses the value of a column: a path, an integer, or a call of `shift` or `decimals`. */

export type Expression =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'integer'; readonly value: number }
  | { readonly kind: 'shift'; readonly value: Expression; readonly digits: Expression }
  | { readonly kind: 'decimals'; readonly mint: Expression };

const tokenPattern = /\s*(?:(-?\d+)|([A-Za-z_][\w.-]*)|([(),]))\s*/y;

/** Returns undefined for a text that is not an expression. */
export function parseExpression(text: string): Expression | undefined {
  const tokens: string[] = [];
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < text.length) {
    const match = tokenPattern.exec(text);
    if (match === null) return undefined;
    tokens.push(match[0].trim());
  }
  const expression = takeExpression(tokens);
  return tokens.length === 0 ? expression : undefined;
}

/** Takes the tokens of one expression from the front. */
function takeExpression(tokens: string[]): Expression | undefined {
  const token = tokens.shift() ?? '';
  if (/^-?\d/.test(token)) return { kind: 'integer', value: Number(token) };
  if (!/^[A-Za-z_]/.test(token)) return undefined;
  if (tokens[0] !== '(') return { kind: 'path', path: token };
  const args = parseArguments(tokens);
  const [first, second, third] = args ?? [];
  if (token === 'shift' && first && second && !third)
    return { kind: 'shift', value: first, digits: second };
  if (token === 'decimals' && first && !second) return { kind: 'decimals', mint: first };
  return undefined;
}

function parseArguments(tokens: string[]): Expression[] | undefined {
  const args: Expression[] = [];
  for (let next = tokens.shift(); next === '(' || next === ','; next = tokens.shift()) {
    const argument = takeExpression(tokens);
    if (argument === undefined) return undefined;
    args.push(argument);
    if (tokens[0] === ')') {
      tokens.shift();
      return args;
    }
  }
  return undefined;
}
