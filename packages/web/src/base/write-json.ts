/** Writes a value as JSON. A bigint becomes an integer with every digit; `JSON.stringify` throws for a bigint. */
export function writeJson(value: unknown, indent = 0): string {
  return write(value, indent, '');
}

function write(value: unknown, indent: number, margin: string): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const inner = indent === 0 ? '' : `${margin}${' '.repeat(indent)}`;
  const [open, close, parts] = Array.isArray(value)
    ? ['[', ']', value.map((element) => write(element, indent, inner))]
    : ['{', '}', writeMembers(value, indent, inner)];
  if (parts.length === 0) return `${open}${close}`;
  if (indent === 0) return `${open}${parts.join(',')}${close}`;
  return `${open}\n${parts.map((part) => `${inner}${part}`).join(',\n')}\n${margin}${close}`;
}

function writeMembers(value: object, indent: number, margin: string): string[] {
  const separator = indent === 0 ? ':' : ': ';
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `${JSON.stringify(name)}${separator}${write(member, indent, margin)}`);
}
