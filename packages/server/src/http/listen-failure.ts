import { CodedError } from '../base/errors.ts';
import { systemErrorCode } from '../base/system-error-code.ts';

export function describeListenFailure(
  cause: unknown,
  address: { readonly host: string; readonly port: number },
): CodedError {
  const code = systemErrorCode(cause) ?? 'unknown';
  return new CodedError('listen-failed', { ...address, code }, { cause });
}
