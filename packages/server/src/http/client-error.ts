import type { Duplex } from 'node:stream';
import { CodedError } from '@sluice/base/errors';
import { buildErrorReply } from './error-reply.ts';

const CODES: Readonly<Record<string, 'request-too-slow' | 'headers-too-large'>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request-too-slow',
  HPE_HEADER_OVERFLOW: 'headers-too-large',
};

/**
 * Responds on the socket to input that the HTTP parser rejected, and closes it. Returns the status, or `null` if no
 * response was sent.
 */
export function respondToClientError(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  requestId: string,
): number | null {
  // A second response would corrupt one that is being sent, so the connection is destroyed instead.
  const isResponding = (socket as SocketOfServer)._httpMessage?.headersSent === true;
  if (error.code === 'ECONNRESET' || !socket.writable || isResponding) {
    socket.destroy();
    return null;
  }
  const code = CODES[error.code ?? ''] ?? 'request-malformed';
  return refuseOnSocket(new CodedError(code), socket, requestId);
}

/** Responds on the socket and closes it. Returns the status. */
export function refuseOnSocket(refusal: CodedError, socket: Duplex, requestId: string): number {
  const { status, headers, body } = buildErrorReply(refusal, requestId);
  const lines = Object.entries({ ...headers, 'x-request-id': requestId, connection: 'close' });
  const head = lines.map(([name, value]) => `${name}: ${String(value)}\r\n`).join('');
  socket.on('error', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}\r\n${head}\r\n${body}`);
  // The socket is no longer read, so a client that keeps sending would keep it open.
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
