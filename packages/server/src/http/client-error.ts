import type { Duplex } from 'node:stream';
import { CodedError, type ErrorCode } from '../base/errors.ts';
import { buildErrorReply } from './error-reply.ts';

const CODES: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request-too-slow',
  HPE_HEADER_OVERFLOW: 'headers-too-large',
};

/**
 * What the parser refuses never becomes a request: it is answered here, on the bare socket, and closed. The status, or
 * `null` where nobody is there to answer.
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  requestId: string,
): number | null {
  // A response under way would be spoiled by a second one: it breaks off instead.
  const isAnswering = (socket as SocketOfServer)._httpMessage?.headersSent === true;
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering) {
    socket.destroy();
    return null;
  }
  const code = CODES[error.code ?? ''] ?? 'request-malformed';
  return refuseOnSocket(new CodedError(code), socket, requestId);
}

/** An answer to what is no request of ours to answer otherwise, and the end of its connection; its status. */
export function refuseOnSocket(refusal: CodedError, socket: Duplex, requestId: string): number {
  const { status, headers, body } = buildErrorReply(refusal, requestId);
  const lines = Object.entries({ ...headers, 'x-request-id': requestId, connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${String(value)}\r\n`).join('');
  socket.on('error', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}\r\n${head}\r\n${body}`);
  // A client that goes on sending is not read any more, so nothing but this ends its socket.
  socket.once('finish', () => socket.destroy());
  return status;
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

interface SocketOfServer {
  readonly _httpMessage?: { readonly headersSent: boolean } | null;
}
