-- DuckDB's tables, as an analyst would define them: one table per kind, natural types, the wire's names, rows in chain order.
-- Derived values that queries use often (feePayer, d1 to d8) are columns.
CREATE TABLE blocks (
  "number" UBIGINT,
  hash VARCHAR,
  parentSlot UBIGINT,
  parentHash VARCHAR,
  height UBIGINT,
  "timestamp" BIGINT
);
CREATE TABLE transactions (
  block UBIGINT,
  transactionIndex UINTEGER,
  version TINYINT,
  accountKeys VARCHAR[],
  addressTableLookups STRUCT(
    accountKey VARCHAR,
    readonlyIndexes UTINYINT[],
    writableIndexes UTINYINT[]
  )[],
  numReadonlySignedAccounts UTINYINT,
  numReadonlyUnsignedAccounts UTINYINT,
  numRequiredSignatures UTINYINT,
  recentBlockhash VARCHAR,
  signatures VARCHAR[],
  err VARCHAR,
  fee UBIGINT,
  computeUnitsConsumed UBIGINT,
  loadedAddresses STRUCT("readonly" VARCHAR[], writable VARCHAR[]),
  feePayer VARCHAR,
  hasDroppedLogMessages BOOLEAN
);
CREATE TABLE instructions (
  block UBIGINT,
  transactionIndex UINTEGER,
  instructionAddress UINTEGER[],
  programId VARCHAR,
  accounts VARCHAR[],
  "data" VARCHAR,
  d1 VARCHAR,
  d2 VARCHAR,
  d4 VARCHAR,
  d8 VARCHAR,
  error VARCHAR,
  computeUnitsConsumed UBIGINT,
  isCommitted BOOLEAN,
  hasDroppedLogMessages BOOLEAN
);
CREATE TABLE logs (
  block UBIGINT,
  transactionIndex UINTEGER,
  logIndex UINTEGER,
  instructionAddress UINTEGER[],
  programId VARCHAR,
  kind VARCHAR,
  message VARCHAR
);
CREATE TABLE balances (
  block UBIGINT,
  transactionIndex UINTEGER,
  account VARCHAR,
  pre UBIGINT,
  post UBIGINT
);
CREATE TABLE tokenBalances (
  block UBIGINT,
  transactionIndex UINTEGER,
  account VARCHAR,
  preMint VARCHAR,
  postMint VARCHAR,
  preDecimals UTINYINT,
  postDecimals UTINYINT,
  preProgramId VARCHAR,
  postProgramId VARCHAR,
  preOwner VARCHAR,
  postOwner VARCHAR,
  preAmount UBIGINT,
  postAmount UBIGINT
);
CREATE TABLE rewards (
  block UBIGINT,
  pubKey VARCHAR,
  lamports BIGINT,
  postBalance UBIGINT,
  rewardType VARCHAR,
  commission UTINYINT
);
