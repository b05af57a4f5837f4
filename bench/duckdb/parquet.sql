-- DuckDB's Parquet files: its default row groups (122,880 rows) and zstd at its default level (3), one file per table.
COPY blocks TO '{folder}/blocks.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY transactions TO '{folder}/transactions.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY instructions TO '{folder}/instructions.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY logs TO '{folder}/logs.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY balances TO '{folder}/balances.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY tokenBalances TO '{folder}/tokenBalances.parquet' (FORMAT parquet, COMPRESSION zstd);
COPY rewards TO '{folder}/rewards.parquet' (FORMAT parquet, COMPRESSION zstd);
