export function build(options?: { force?: boolean }): Promise<void>;
export function buildOrExit(options?: { force?: boolean }): Promise<void>;
