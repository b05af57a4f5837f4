const POLL_MS = 100;

/** Retries until a value is returned. An error counts as no value. After the timeout it throws an error that names the expected value. */
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
