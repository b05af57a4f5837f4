// A lock between processes of one machine that survives the death of its owner.
//
// The lock is a folder of numbered files, the turns; each names the process it belongs to. The highest turn decides: if
// its process lives, the lock is held; if it died, the next number is free to take. A turn is made by linking a finished
// file to its name, which exactly one process can do, and only its own process removes it again. The turn of a dead
// process stays for ever. That is what makes taking over safe: two waiters that both saw turn 7 dead both try to make
// turn 8, and one of them fails, however late it comes; had turn 7 been removed, the late one could remove a living
// owner's lock instead. The cost is one small file for each build that was killed.
import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Waits for the lock in `folder` and answers with its release, or with `undefined` once `waitMsMax` have passed. */
export async function takeLock(folder, { waitMsMax, pollMs, onWait }) {
  mkdirSync(folder, { recursive: true });
  const claim = join(folder, `claim-${randomUUID()}`);
  writeFileSync(claim, JSON.stringify({ pid: process.pid, started: startOf(process.pid) }));
  try {
    const startMs = performance.now();
    for (let attempt = 0; performance.now() - startMs <= waitMsMax; attempt++) {
      const turn = takeTurn(folder, claim);
      if (turn !== undefined) return () => rmSync(turn, { force: true });
      if (attempt === 0) onWait();
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
    return undefined;
  } finally {
    rmSync(claim, { force: true });
  }
}

/** The path of the turn taken, or `undefined` while somebody else has it. */
function takeTurn(folder, claim) {
  const turns = readdirSync(folder).filter((name) => /^\d+$/.test(name));
  const last = Math.max(0, ...turns.map(Number));
  if (last > 0 && !isAbandoned(join(folder, String(last)))) return undefined;
  const turn = join(folder, String(last + 1));
  try {
    linkSync(claim, turn);
    return turn;
  } catch (error) {
    if (error.code === 'EEXIST') return undefined;
    throw error;
  }
}

function isAbandoned(turn) {
  try {
    const { pid, started } = JSON.parse(readFileSync(turn, 'utf8'));
    return startOf(pid) !== started;
  } catch (error) {
    // Given back since we looked, so the number is no longer the highest: look again instead of taking the next one.
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

/**
 * What tells a process from a later one with the same number: its start time where the system shows it. `undefined` for
 * a process that is gone, or that ended and only waits for its parent to notice.
 */
function startOf(pid) {
  if (process.platform !== 'linux') return isRunning(pid) ? 'unknown' : undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything; the fields after it are state, … and, as the 20th, the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return undefined;
    throw error;
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
