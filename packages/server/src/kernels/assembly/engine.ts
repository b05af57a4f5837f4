// What answers queries: columns from storage to memory, selecting rows, writing them.
export { decodePages, readPageStarts, sumCounts, takeDecodedBytes } from './shared/pages';
export { findDamagedChunk } from './shared/checksum';
export { BASE58_TABLE_BYTES, base58Encode, base58Initialize } from './shared/base58';
export { addColumn, addressTexts, applyChanges, moveCodes, placeTransactions, resolvePost, startsOf, sumInRanges } from './shared/columns';
export {
  askKeys, askRewardKeys, placeAsked, placeKeys, selectInstructions, selectRewards, selectRows, selectTransactions,
  setGroup, unaskKeys,
} from './shared/select';
export { writeUlong } from './shared/integers';
export { setKeys, takeKeyMissing, writeLines } from './shared/write';
export { keyRooms, keyText } from './shared/texts';
export { DATA_TEXTS_BYTES, setDataTexts } from './shared/data-texts';
