"""write_alone.py TABLE FOLDER: reads a Delta table into memory and writes its rows again in the batches in which its log
says that they were committed, each as one Parquet file (zstd 1). Prints the CPU-seconds and the wall seconds of the writing,
and the number of batches: the least that any writer of these rows in these batches pays."""

import json
import os
import sys
import time

import polars

table, folder = sys.argv[1:]


def batch_sizes():
    """Rows of every entry that moves positions; the log must be there from its beginning."""
    log = os.path.join(table, "_delta_log")
    for name in sorted(name for name in os.listdir(log) if name.endswith(".json")):
        with open(os.path.join(log, name), encoding="utf-8") as entry:
            actions = [json.loads(line) for line in entry]
        if any("txn" in action for action in actions):
            yield sum(json.loads(action["add"]["stats"])["numRecords"] for action in actions if "add" in action)


rows = polars.read_delta(table)
sizes = [size for size in batch_sizes() if size]
assert sum(sizes) == rows.height, f"{sum(sizes)} rows in the log, {rows.height} in the table"
os.makedirs(folder)
batches, start = [], 0
for size in sizes:
    # Contiguous in memory, as a batch is that was just made.
    batches.append(rows.slice(start, size).rechunk())
    start += size
cpu, wall = time.process_time(), time.perf_counter()
for number, batch in enumerate(batches):
    batch.write_parquet(os.path.join(folder, f"{number}.parquet"), compression="zstd", compression_level=1)
print(time.process_time() - cpu, time.perf_counter() - wall, len(batches))
