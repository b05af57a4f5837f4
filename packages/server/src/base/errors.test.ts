import { expect, test } from 'vitest';
import { CodedError } from './errors.ts';

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
