/** The status with which a call ends: a code of gRPC and a text, which never contains the address or the metadata of the call. */
export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
}

export const GRPC_CODES = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** The code for a response of HTTP that is not one of gRPC, as from a proxy. */
const codesByHttpStatus: ReadonlyMap<number, number> = new Map([
  [400, GRPC_CODES.internal],
  [401, GRPC_CODES.unauthenticated],
  [403, GRPC_CODES.permissionDenied],
  [404, GRPC_CODES.unimplemented],
  [429, GRPC_CODES.unavailable],
  [502, GRPC_CODES.unavailable],
  [503, GRPC_CODES.unavailable],
  [504, GRPC_CODES.unavailable],
]);

/** Texts of a server are cut at this length. */
const messageLengthMax = 200;

export function statusOfHttp(status: number): GrpcStatus {
  const code = codesByHttpStatus.get(status) ?? GRPC_CODES.unknown;
  return { code, message: `HTTP ${status}` };
}

type Headers = Readonly<Record<string, unknown>>;

/** Returns the status in headers or trailers; undefined if there is none. */
export function readStatus(headers: Headers): GrpcStatus | undefined {
  const text = headers['grpc-status'];
  if (typeof text !== 'string' || !/^\d{1,3}$/.test(text)) return undefined;
  const message = headers['grpc-message'];
  return { code: Number(text), message: typeof message === 'string' ? decode(message) : '' };
}

export function writeStatus({ code, message }: GrpcStatus): Record<string, string> {
  const text = message === '' ? {} : { 'grpc-message': encodeURIComponent(message) };
  return { 'grpc-status': String(code), ...text };
}

function decode(message: string): string {
  let text = message;
  try {
    text = decodeURIComponent(message);
  } catch {
    // Some servers do not encode their texts.
  }
  return text.slice(0, messageLengthMax);
}
