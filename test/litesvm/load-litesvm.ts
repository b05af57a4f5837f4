export type LiteSvmModule = typeof import('litesvm');

/**
 * Loads LiteSVM, which runs real programs in native code and is an optional package for some platforms only. Returns the reason if it is
 * missing, so that tests can skip with it.
 */
export async function loadLiteSvm(): Promise<LiteSvmModule | string> {
  try {
    return await import('litesvm');
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    return `LiteSVM cannot be loaded on ${process.platform} ${process.arch}: ${reason}`;
  }
}
