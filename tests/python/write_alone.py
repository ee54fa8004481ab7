"""write_alone.py TABLE FILE: reads a Delta table into memory, writes it as one Parquet file (zstd 1), and prints the
CPU-seconds and the wall seconds of the writing: the least that any writer of these rows pays."""

import sys
import time

import polars

rows = polars.read_delta(sys.argv[1])
cpu, wall = time.process_time(), time.perf_counter()
rows.write_parquet(sys.argv[2], compression="zstd", compression_level=1)
print(time.process_time() - cpu, time.perf_counter() - wall)
