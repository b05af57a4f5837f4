/** Runs before each test file. What it imports runs once for each process. */
import './source-lines.ts';
