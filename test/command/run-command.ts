import { spawn } from 'node:child_process';

export interface CommandResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a program from a shell in `cwd` and collects its output. */
export function runCommand(program: string, args: string[], cwd: string): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    // Offline, so that a command that npm cannot find locally is an error and not a request to a registry.
    const env = { ...process.env, npm_config_offline: 'true', npm_config_loglevel: 'error' };
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.on('data', (bytes) => {
      out += String(bytes);
    });
    child.stderr.on('data', (bytes) => {
      err += String(bytes);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}
