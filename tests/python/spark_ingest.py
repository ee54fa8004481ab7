"""spark_ingest.py BOOTSTRAP TOPIC FOLDER DELTA_JARS: Spark Structured Streaming does what the agent does: Kafka, from_json with
the same columns, Delta, everything that the topic has now. Prints one line of JSON: rows, CPU-seconds and wall seconds of the
whole query and of the part after half of the rows (the compiler of the JVM is warm by then), and the peak memory.

CPU-seconds are the JVM's: in local mode it is driver and executors in one. Starting the session is not counted."""

import glob
import json
import os
import sys
import time

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
from pyspark.sql import SparkSession, functions

bootstrap, topic, folder, jars = sys.argv[1:]

# The columns that the agent makes of the quickstart's schema.
VALUE = (
    "event_id STRING, event_type STRING, created_at TIMESTAMP, occurred_ms BIGINT, account_id BIGINT, sequence BIGINT, "
    "amount DOUBLE, fee DOUBLE, "
    "merchant STRUCT<id: BIGINT, name: STRING, category: STRING, country: STRING, lat: DOUBLE, lon: DOUBLE>, "
    "items ARRAY<STRUCT<sku: STRING, qty: INT, price: DOUBLE>>, user_agent STRING, memo STRING"
)
# Few batches are Spark's best case; each is still far smaller than its heap.
RECORDS_PER_BATCH = 500_000
CORES = os.cpu_count()


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory_mib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))


def rows_of(query):
    return sum(progress["numInputRows"] for progress in query.recentProgress)


settings = {
    "spark.driver.memory": "4g",
    "spark.jars": ",".join(sorted(glob.glob(os.path.join(jars, "*.jar")))),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": str(CORES),
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.hadoop.parquet.compression.codec.zstd.level": "1",
}
builder = SparkSession.builder.master(f"local[{CORES}]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
jvm = spark._jvm.java.lang.ProcessHandle.current().pid()

source = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", bootstrap)
    .option("subscribe", topic)
    .option("startingOffsets", "earliest")
    .option("kafka.isolation.level", "read_committed")
    .option("maxOffsetsPerTrigger", RECORDS_PER_BATCH)
    .load()
)
rows = source.select(
    functions.col("key").cast("string").alias("key"),
    functions.from_json(functions.col("value").cast("string"), VALUE).alias("value"),
    functions.col("timestamp").alias("stream_record_timestamp"),
    functions.lit("stream").alias("record_source"),
    functions.col("topic").alias("kafka_topic"),
    functions.col("partition").alias("kafka_partition"),
    functions.col("offset").alias("kafka_offset"),
)
writer = rows.writeStream.format("delta").trigger(availableNow=True)
writer = writer.option("checkpointLocation", os.path.join(folder, "checkpoint")).option("path", os.path.join(folder, "table"))

# The pieces of the work, as they are seen: rows so far, CPU-seconds, time.
start = (0, cpu_seconds(jvm), time.perf_counter())
query = writer.start()
seen = [start]
while not query.awaitTermination(0.2):
    done = rows_of(query)
    if done > seen[-1][0]:
        seen.append((done, cpu_seconds(jvm), time.perf_counter()))
end = (rows_of(query), cpu_seconds(jvm), time.perf_counter())
# Batches are rounded down to whole shares of the partitions.
half = next(look for look in [*seen, end] if look[0] * 2.1 >= end[0])
if half[0] == end[0]:
    half = start
print(
    json.dumps(
        {
            "spark": spark.version,
            "rows": end[0],
            "cpu_seconds": end[1] - start[1],
            "wall_seconds": end[2] - start[2],
            "warm_rows": end[0] - half[0],
            "warm_cpu_seconds": end[1] - half[1],
            "warm_wall_seconds": end[2] - half[2],
            "peak_mib": peak_memory_mib(jvm),
        }
    ),
    flush=True,
)
spark.stop()
