import { expect, test } from 'vitest';
import { addDetail, CodedError, isCodedError } from './errors.ts';

test('behavior: a code of the operating system is described in the message and kept in the detail', () => {
  const error = new CodedError('cli-file-unreadable', { path: 'a.jsonl', reason: 'ENOENT' });
  expect(error.message).toBe(
    'the file cannot be read (path a.jsonl, reason no such file or directory)',
  );
  expect(error.detail['reason']).toBe('ENOENT');
  const storage = new CodedError('storage-forbidden', { operation: 'open file', errno: 'EACCES' });
  expect(storage.message).toContain('errno permission denied');
});

test('behavior: other values stay unchanged, even if they look like such a code', () => {
  const error = new CodedError('cli-file-unreadable', { path: 'ENOENT', reason: 'ENOTHING' });
  expect(error.message).toContain('(path ENOENT, reason ENOTHING)');
});

test('behavior: an error whose values are missing, wrong or not expected does not compile', () => {
  const wrong = [
    // @ts-expect-error The slot is required.
    new CodedError('backfill-interrupted'),
    // @ts-expect-error The slot is a number.
    new CodedError('backfill-interrupted', { slot: '1' }),
    // @ts-expect-error The code has no such value.
    new CodedError('backfill-interrupted', { slot: 1, hash: 'x' }),
    // @ts-expect-error The code has no values.
    new CodedError('dataset-closed', { slot: 1 }),
  ];
  expect(wrong).toHaveLength(4);
});

test('behavior: values are added before those of a caught error, which is the cause', () => {
  const cause = new CodedError('backfill-interrupted', { slot: 1 });
  const error = addDetail(cause, { dataset: 'mine' });
  expect([error.code, error.detail]).toEqual([cause.code, { dataset: 'mine', slot: 1 }]);
  expect(error.cause).toBe(cause);
  expect(error.message).toContain('(dataset mine, slot 1)');
});

test('behavior: an error of another copy of the module is recognized, and no other error is', () => {
  const copy = Object.assign(new Error('text'), { name: 'CodedError', code: 'dataset-closed' });
  expect([copy instanceof CodedError, isCodedError(copy, 'dataset-closed')]).toEqual([true, true]);
  expect(isCodedError(new Error('text'))).toBe(false);
  expect(isCodedError({ name: 'CodedError' })).toBe(false);
});
