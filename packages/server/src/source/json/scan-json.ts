import { type JsonScan, JsonScanner, type ScanExports } from '../../kernels/json-scanner.ts';
import { loadKernel } from '../../kernels/load-kernel.ts';

let scanner: JsonScanner | undefined;

/** Scans JSON bytes with the kernel of this thread. */
export function scanJson(bytes: Uint8Array, depthMax: number): JsonScan {
  scanner ??= new JsonScanner(loadKernel<ScanExports>('scan'));
  return scanner.scan(bytes, depthMax);
}
