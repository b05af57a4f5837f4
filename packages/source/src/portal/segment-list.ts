/** The list of sealed segments that a portal offers, and the reading of one. */
import { crc32 } from 'node:zlib';
import { mapOrdered } from '@sluice/base/map-ordered';
import { parseSlot, type Slot } from '@sluice/ledger/primitives';
import { memberOf } from '@sluice/protocol/unknown-value';
import { refusal, type SourceResult } from '../refusal.ts';
import type { OfferedSegment } from '../source.ts';
import type { PortalClient } from './portal-client.ts';

/** The largest part of a segment in one response. */
export const segmentPartBytesMax = 4 << 20;
/** A larger segment is not copied, because it is in memory as a whole. */
const segmentBytesMax = 512 << 20;
const partsInProgressMax = 4;

/** Returns the highest segment that begins at or below the slot; undefined if no segment does. */
export async function findSegment(
  client: PortalClient,
  slot: Slot,
  signal: AbortSignal,
): Promise<SourceResult<OfferedSegment | undefined>> {
  const list = await client.read(`/segments?to=${slot}&limit=1`, signal);
  if (list.kind === 'refused') return list;
  const [segment] = Array.isArray(list.value) ? list.value : [null];
  if (segment === undefined) return { kind: 'ok', value: undefined };
  const id = String(memberOf(segment, 'id'));
  const first = parseSlot(memberOf(memberOf(segment, 'first'), 'number'));
  const last = parseSlot(memberOf(memberOf(segment, 'last'), 'number'));
  const byteLength = Number(memberOf(segment, 'byte_length'));
  const isValid = /^[0-9-]{1,48}-[0-9a-f]{8}\.segment$/.test(id) && byteLength <= segmentBytesMax;
  if (!isValid || first === undefined || last === undefined || last < first || first > slot)
    return refusal('malformed', 'the list of segments is invalid');
  return { kind: 'ok', value: { id, first, last, byteLength } };
}

/** Returns the bytes of a segment, after they were compared with the checksum in its name. */
export async function readOfferedSegment(
  client: PortalClient,
  { id, byteLength }: OfferedSegment,
  signal: AbortSignal,
): Promise<SourceResult<Uint8Array[]>> {
  const offsets: number[] = [];
  for (let at = 0; at < byteLength; at += segmentPartBytesMax) offsets.push(at);
  const reading = mapOrdered(
    offsets,
    () => partsInProgressMax,
    (offset) => client.readBytes(`/segments/${id}?offset=${offset}`, segmentPartBytesMax, signal),
  );
  const parts: Uint8Array[] = [];
  for await (const part of reading) {
    if (part.kind === 'refused') return part;
    parts.push(part.value);
  }
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const checksum = parts.reduce((sum, part) => crc32(part, sum), 0);
  if (length === byteLength && id.includes(`-${checksum.toString(16).padStart(8, '0')}.`))
    return { kind: 'ok', value: parts };
  return refusal('malformed', `the bytes of segment ${id} do not match its checksum`);
}
