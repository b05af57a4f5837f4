import { instantiateKernel, type Kernel } from '@sluice/base/wasm-kernel';
import { workerUrl } from '@sluice/base/worker-url';

/** Instantiates the compiled `assembly/<name>.ts`. */
export function loadKernel<Exports>(name: string, initialBytes?: number): Kernel<Exports> {
  return instantiateKernel(workerUrl(import.meta.url, `./${name}.wasm`), initialBytes);
}
