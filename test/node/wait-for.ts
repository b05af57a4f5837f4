const POLL_MS = 100;

/** Asks again until there is an answer; a fault is no answer. Beyond the time it says what it waited for. */
export async function waitFor<Value>(
  what: string,
  seconds: number,
  read: () => Promise<Value | undefined>,
): Promise<Value> {
  const endMs = performance.now() + seconds * 1_000;
  let fault: unknown;
  while (performance.now() < endMs) {
    try {
      const value = await read();
      if (value !== undefined) return value;
      fault = undefined;
    } catch (error) {
      fault = error;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${what}: not within ${seconds} s`, { cause: fault });
}
