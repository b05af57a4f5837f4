import { CodedError } from '../base/errors.ts';

export function describeListenFailure(
  cause: unknown,
  address: { readonly host: string; readonly port: number },
): CodedError {
  const { code } = cause as NodeJS.ErrnoException;
  return new CodedError('listen-failed', { ...address, code: code ?? 'unknown' }, { cause });
}
