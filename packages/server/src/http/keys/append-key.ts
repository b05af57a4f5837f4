import { createHash, randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { parseKeys } from './api-keys.ts';

const keyBytes = 32;
const namePattern = /^[^\s#]{1,64}$/;

/**
 * Creates a key and appends its hash to a key file. Creates the file if it does not exist, readable by its owner only.
 * Resolves with the key once the line is durable. The key cannot be recovered from the file.
 */
export async function appendKey(file: string, name: string | undefined): Promise<string> {
  if (name !== undefined && !namePattern.test(name)) {
    throw new CodedError('key-name-invalid', { name });
  }
  const key = randomBytes(keyBytes).toString('base64url');
  const hash = createHash('sha256').update(key).digest('hex');
  try {
    await appendLine(file, name === undefined ? hash : `${hash} ${name}`);
  } catch (error) {
    const reason = systemErrorCode(error);
    throw reason === undefined || error instanceof CodedError
      ? error
      : unwritable(error, { path: file, reason });
  }
  return key;
}

function unwritable(cause: unknown, detail: { path: string; reason: string }): CodedError {
  return new CodedError('cli-file-unwritable', detail, { cause });
}

async function appendLine(path: string, line: string): Promise<void> {
  const file = await open(path, 'a+', 0o600);
  try {
    const text = await file.readFile('utf8');
    // Rejects an invalid file here, because the service would refuse to start with it.
    parseKeys(text);
    const isMidLine = text !== '' && !text.endsWith('\n');
    await file.appendFile(`${isMidLine ? '\n' : ''}${line}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}
