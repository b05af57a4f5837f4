import { readFileSync } from 'node:fs';

/** Clock ticks per second in /proc on Linux. */
export const ticksPerSecond = 100;

/** Returns the CPU time that the whole machine has used, in seconds. */
export function machineCpuSeconds(): number {
  const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n', 1);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softIrq) / ticksPerSecond;
}
