// A lock between processes of one machine that survives the death of its owner.
//
// The lock is a folder of numbered entries, each of which names its process. The entry with the highest number decides:
// if its process is alive, the lock is held; if it is dead, the next number can be taken. A process creates an entry by
// linking a finished file to its name, which only one process can do, and only that process removes it. The entry of a
// dead process is never removed, which makes taking over safe: two waiting processes that both saw entry 7 dead both try
// to create entry 8, and the later one fails. If entry 7 had been removed, the later one could remove
// the lock of a living owner. The cost is one small file per killed build.
import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Waits for the lock in `folder`. Returns a function that releases it, or `undefined` after `waitMsMax`. */
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

/** Returns the path of the created entry, or `undefined` while another process holds the lock. */
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
    // The lock was released meanwhile, so the number is no longer the highest: check again instead of taking the next
    // one.
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Returns what distinguishes a process from a later one with the same id: its start time, if the system reports it.
 * Returns `undefined` for a process that has exited, including a zombie.
 */
function startOf(pid) {
  if (process.platform !== 'linux') return isRunning(pid) ? 'unknown' : undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain anything. The fields after it start with the state; the 20th is the start
    // time.
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
