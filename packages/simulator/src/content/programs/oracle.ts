/** The oracle: publishers update the prices according to the pools. */
import { elementAt } from '@sluice/base/element-at';
import type { Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { FEED_COUNT } from '../world/world.ts';
import { discriminator } from './discriminator.ts';

const UPDATE = discriminator('global', 'update_prices');
const UNITS_PER_FEED = 1900;
const LINES = Array.from({ length: FEED_COUNT + 1 }, (_, token) => `feed ${token} price `);

/** Updates the prices of tokens. Each token has a feed. */
export function updatePrices(vm: Machine, publisher: number, tokens: readonly number[]): boolean {
  const { world } = vm;
  const prices = tokens.map((token) => world.poolPrice(token));
  const byteCount = 12 + 9 * tokens.length;
  const data = vm.data.open(byteCount).bytes(UPDATE).u32(tokens.length);
  tokens.forEach((token, i) => {
    data.u8(token).u64(elementAt(prices, i));
  });
  vm.refs.payer(publisher);
  for (const token of tokens) vm.refs.writable(world.feeds + token - 1);
  if (!vm.enterNamed(ID.oracle, 'Instruction: UpdatePrices', data.done())) return false;
  tokens.forEach((token, i) => {
    const price = elementAt(prices, i);
    world.cells.set(world.prices + token - 1, price);
    vm.printNumber(elementAt(LINES, token), price);
  });
  return vm.leave(800 + UNITS_PER_FEED * tokens.length);
}
