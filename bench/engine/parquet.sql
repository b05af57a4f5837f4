-- The rival's files: DuckDB's own row groups (122,880 rows) and zstd at its own level (3), a file a table.
COPY blocks TO '{folder}/blocks.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY transactions TO '{folder}/transactions.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY instructions TO '{folder}/instructions.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY logs TO '{folder}/logs.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY balances TO '{folder}/balances.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY tokenBalances TO '{folder}/tokenBalances.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY rewards TO '{folder}/rewards.parquet' (FORMAT parquet, COMPRESSION zstd);
