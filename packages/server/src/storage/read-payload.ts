import { crc32 } from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import type { FsFile } from './fs.ts';
import type { PayloadLocation } from './scan-journal.ts';

/** Returns the bytes of a payload after verifying their checksum. */
export async function readPayload(
  file: FsFile,
  { fileNumber, offset, length, crc }: PayloadLocation,
): Promise<Uint8Array> {
  const bytes = await file.read(offset, length);
  if (bytes.byteLength !== length || crc32(bytes) !== crc) {
    throw new CodedError('payload-damaged', { file: fileNumber, offset });
  }
  return bytes;
}
