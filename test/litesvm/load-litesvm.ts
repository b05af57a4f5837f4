export type LiteSvmModule = typeof import('litesvm');

/**
 * LiteSVM runs real programs in native code that comes as an optional package for some platforms only. Where it is missing
 * the reason is returned, so that tests can skip with it.
 */
export async function loadLiteSvm(): Promise<LiteSvmModule | string> {
  try {
    return await import('litesvm');
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    return `LiteSVM cannot be loaded on ${process.platform} ${process.arch}: ${reason}`;
  }
}
