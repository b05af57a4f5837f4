import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';

export function describeListenFailure(
  cause: unknown,
  address: { readonly host: string; readonly port: number },
): CodedError {
  const code = systemErrorCode(cause) ?? 'unknown';
  return new CodedError('listen-failed', { ...address, code }, { cause });
}
