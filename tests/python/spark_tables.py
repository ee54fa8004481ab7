"""Spark with Delta: reads a table's versions, and changes tables as its users would.

Requests and answers as in `tables.py`. One session for all requests, with as little memory and as few threads as it takes.
"""

import os
import pathlib
import sys

os.environ["TZ"] = "UTC"
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

from tables import plain, serve

_session = None


def session():
    global _session
    if _session is None:
        from pyspark.sql import SparkSession

        jars = sorted(str(jar) for jar in (pathlib.Path(sys.prefix) / "delta-jars").glob("*.jar"))
        # The folder of this process, which the harness made for it: Spark would write beside whoever started the tests.
        folder = os.getcwd()
        settings = {
            "spark.driver.memory": "1g",
            "spark.local.dir": folder,
            "spark.sql.warehouse.dir": f"{folder}/spark-warehouse",
            # The quickest start: most of this code runs once.
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.timezone=UTC "
            f'"-Djava.io.tmpdir={folder}"',
            "spark.jars": ",".join(jars),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "1",
            # VACUUM lists folders in so many tasks, 10,000 unless it is told otherwise: minutes for one thread.
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
            "spark.databricks.delta.snapshotPartitions": "1",
            # What a user has to say before VACUUM may delete files that are younger than a week.
            "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        }
        builder = SparkSession.builder.master("local[1]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        _session = builder.getOrCreate()
        _session.sparkContext.setLogLevel("ERROR")
    return _session


def rows_of_version(path, version):
    """All rows of a version."""
    table = session().sql(f"SELECT * FROM delta.`{path}` VERSION AS OF {version}")
    return [plain(row.asDict(recursive=True)) for row in table.collect()]


def statement(text):
    """What a user runs: DELETE, OPTIMIZE, VACUUM, ALTER TABLE."""
    return [plain(row.asDict(recursive=True)) for row in session().sql(text).collect()]


def files_read(path, predicate):
    """How many files are left to read for a predicate, and how many there are."""
    table = session().read.format("delta").load(path)
    return [len(table.where(predicate).inputFiles()), len(table.inputFiles())]


if __name__ == "__main__":
    # Spark prints to the standard output that it inherits; the answers are alone on the one that this process was given.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(rows_of_version, statement, files_read, answers=answers)
