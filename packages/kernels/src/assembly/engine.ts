// Evaluates queries: decodes columns, selects rows and writes them.
export { decodePages, readPageStarts, sumCounts, takeDecodedBytes } from './common/pages';
export { findDamagedChunk } from './common/checksum';
export { BASE58_TABLE_BYTES, base58Encode, base58Initialize } from './common/base58';
export {
  addColumn, addressTexts, applyChanges, highestOf, moveCodes, locateTransactions, resolvePost, startsOf, sumInRanges, sumOf,
} from './engine/columns';
export { selectInstructions, selectRewards, selectRows, selectTransactions, setGroup } from './engine/select';
export { cancelRequests, countByBlock, copyKeysFromBlocks, copyListedKeys, requestKeys, requestRewardKeys } from './engine/request-keys';
export { writeUlong } from '../../../base/src/assembly/integers';
export { setKeys } from './engine/write-context';
export { takeKeyMissing } from './engine/write-texts';
export { takeHeaderMissing, writeLines } from './engine/write-lines';
export { collectBlockRows, collectRows, sumOfRanges } from './engine/gather/rows';
export {
  gatherFlags, gatherInts, gatherIntsOrNull, gatherLongs, gatherNulls, gatherOutcomes, gatherTransactionInts,
} from './engine/gather/values';
export {
  beginKeys, copyKeyBytes, copyKeyTexts, endKeys, gatherAccountKeys, gatherKeyIds, gatherKeyLists, gatherKeyRanges, gatherKeys, gatherKeysOrNull, gatherPayers,
  hasMissingKey, keyCount,
} from './engine/gather/keys';
export { gatherCoded, gatherEscaped, gatherHex, gatherNullTexts, gatherRanges } from './engine/gather/texts';
export { gatherSignatureBytes, gatherSignatureLists, gatherSignatures, gatherUnsigned } from './engine/gather/signatures';
export { gatherInstructionRows, gatherOwnedRows, gatherParts, gatherPaths } from './engine/gather/lists';
export { copyKeys, keyText } from './common/texts';
export { DATA_TEXTS_BYTES, setDataTexts } from './engine/data-texts';
export { DECODING_CACHE_BYTES, setDecodingCache, writeDecodedRows } from './engine/decode/write-decoded';
export { setDecoder } from './engine/decode/decoder-table';
export { readTypedRows } from './engine/decode/read-typed';
export { readTypedEvents } from './engine/decode/read-typed-events';
