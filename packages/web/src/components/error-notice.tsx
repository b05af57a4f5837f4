import { isSluiceError } from '@sluice/client';
import { Notice } from './notice.tsx';

interface ErrorNoticeProps {
  readonly error: unknown;
  readonly retry?: () => void;
  readonly slim?: boolean;
}

export function ErrorNotice({ error, retry, slim = false }: ErrorNoticeProps) {
  const { title, text, remedy } = describeError(error);
  return (
    <div role="alert">
      <Notice title={title} slim={slim}>
        <p>{text}</p>
        {remedy !== undefined && <p class="muted small">{remedy}</p>}
        {retry !== undefined && (
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        )}
      </Notice>
    </div>
  );
}

interface ErrorTexts {
  readonly title: string;
  readonly text: string;
  readonly remedy?: string;
}

export function describeError(error: unknown): ErrorTexts {
  if (!isSluiceError(error)) {
    const text = error instanceof Error ? error.message : String(error);
    return { title: 'Something went wrong', text };
  }
  const { reply, remedy } = error;
  const text = reply?.message ?? error.message;
  const at = reply?.path === undefined ? '' : `${reply.path}: `;
  return { title: titleOf(error.code), text: `${at}${text}`, remedy: capitalize(remedy) };
}

function titleOf(code: string): string {
  switch (code) {
    case 'not-found':
    case 'not-stored':
      return 'Not found';
    case 'network-failed':
    case 'timeout':
      return 'The service does not respond';
    case 'query-invalid':
    case 'range-unavailable':
      return 'The service refused the query';
    case 'key-refused':
      return 'The service requires a key';
    case 'over-limit':
      return 'Over the limit';
    case 'service-unavailable':
      return 'The service is not available now';
    default:
      return 'The request failed';
  }
}

function capitalize(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
