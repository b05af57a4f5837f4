/** The columns of format 1, by the numbers of its directory, with the name and type of the current column for their values. */
import { BLOCK_COLUMN_NAMES } from '../layout/block-columns.ts';
import { COLUMN_NAMES } from '../layout/columns.ts';

/** Format 2 kept their order and names, and added columns only after them. */
export const COLUMN_NAMES_1 = COLUMN_NAMES.slice(0, 68);
export const BLOCK_COLUMN_NAMES_1 = BLOCK_COLUMN_NAMES.slice(0, 15);
