/** Runs before each test file. What it imports runs once for each process. */
import { statSync } from 'node:fs';
import './source-lines.ts';

// Node's module loader does not resolve links if the last status that was fetched synchronously is that of a socket or a
// FIFO, and a file before this one may have left such a status. A folder's status replaces it.
statSync('.');
