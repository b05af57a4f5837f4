// What answers queries: columns from storage to memory, selecting rows, writing them.
export { lzDecompress } from './shared/lz';
export { joinPlanes } from './shared/planes';
export { BASE58_TABLE_BYTES, base58Encode, base58Initialize } from './shared/base58';
export {
  addColumn, addressTexts, applyChanges, bitsOf, capBytes, dataPrefixes, decodeKeys, interleave, narrow, resolvePost, startsOf,
  sumInRanges,
} from './shared/columns';
export {
  askKeys, askRewardKeys, placeKeys, selectInstructions, selectRewards, selectRows, selectTransactions,
  setGroup, unaskKeys,
} from './shared/select';
export { writeUlong } from './shared/integers';
export { setKeys, takeKeyMissing, writeLines } from './shared/write';
export { dataText, poolData, poolTexts } from './shared/pools';
export { keyRooms, keyText, signatureRooms, signatureText } from './shared/texts';
