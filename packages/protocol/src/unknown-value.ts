/** Reads of values from outside, such as parsed JSON and caught errors, whose type is unknown. */

/** Returns whether a value is an object or an array, so that its members can be read. */
export function hasMembers(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Returns a member of a value, or undefined if the value has none of this name or cannot have members. */
export function memberOf(value: unknown, name: string): unknown {
  return hasMembers(value) ? value[name] : undefined;
}

/** Returns the message of a caught value, which is an error unless a library throws something else. */
export function messageOf(error: unknown): string {
  const message = memberOf(error, 'message');
  return typeof message === 'string' ? message : String(error);
}
