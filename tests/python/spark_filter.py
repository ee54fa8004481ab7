"""Asks the real Spark what record filters make of records, and writes the answers that the evaluator is tested against.

    scripts/setup.sh      # once; prints where Spark's Python is
    <that python> tests/python/spark_filter.py agent/pipeline/tests/data/filter.jsonl

The file is written anew. Answers that it has already are kept if the records and Spark are the same: take it away to ask everything.

The first line has the columns, then come the records, then one line a predicate: `expected` has one letter a record, in their
order: `t` true, `f` false, `n` null, `e` Spark raised. Predicates that Spark itself refuses have its error class as `spark_refuses`.
What `stream-spec` refuses though Spark takes it has our reason as `refused`, from `REFUSED` in `spark_filter_cases.py`.
"""

import json
import os
import sys
import tempfile

os.environ["TZ"] = "UTC"
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

from spark_filter_cases import PREDICATES, RECORDS, REFUSED, VALUE_TYPE

METADATA = [
    ("kafka_topic", "STRING"),
    ("kafka_partition", "INT"),
    ("kafka_offset", "BIGINT"),
    ("stream_record_timestamp", "TIMESTAMP"),
]

SCALARS = {
    "BOOLEAN": "boolean",
    "TINYINT": "tiny_int",
    "SMALLINT": "small_int",
    "INT": "int",
    "BIGINT": "big_int",
    "FLOAT": "float",
    "DOUBLE": "double",
    "STRING": "string",
    "BINARY": "binary",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
}


def ddl(kind):
    """A type as Spark spells it. Types are names, {field: type}, [element type], or ("map", key, value)."""
    if isinstance(kind, dict):
        return "STRUCT<" + ", ".join(f"`{name}`: {ddl(inner)}" for name, inner in kind.items()) + ">"
    if isinstance(kind, list):
        return f"ARRAY<{ddl(kind[0])}>"
    if isinstance(kind, tuple):
        return f"MAP<{ddl(kind[1])}, {ddl(kind[2])}>"
    return kind


def ours(kind):
    """A type as `stream_spec::types::DataType` is serialised."""
    if isinstance(kind, dict):
        return {"struct": [{"name": name, "type": ours(inner)} for name, inner in kind.items()]}
    if isinstance(kind, list):
        return {"array": ours(kind[0])}
    if isinstance(kind, tuple):
        return {"map": [ours(kind[1]), ours(kind[2])]}
    if kind.startswith("DECIMAL"):
        precision, scale = kind[len("DECIMAL(") : -1].split(",")
        return {"decimal": {"precision": int(precision), "scale": int(scale)}}
    return SCALARS[kind]


def session(folder):
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": "1g",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": f"{folder}/spark-warehouse",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.timezone=UTC "
        f'"-Djava.io.tmpdir={folder}"',
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def make_records(spark):
    """The records as a cached table, so that no answer comes from folding constants."""
    from pyspark.sql import functions as F

    columns = "id INT, key STRING, json STRING, kafka_topic STRING, kafka_partition INT, kafka_offset BIGINT, micros BIGINT"
    rows = [
        (index, r["key"], r["value"], r["kafka_topic"], r["kafka_partition"], r["kafka_offset"], r["stream_record_timestamp"])
        for index, r in enumerate(RECORDS)
    ]
    frame = spark.createDataFrame(rows, columns)
    value = F.from_json("json", ddl(VALUE_TYPE)).alias("value")
    moment = F.timestamp_micros("micros").alias("stream_record_timestamp")
    frame = frame.select("id", "key", value, "kafka_topic", "kafka_partition", "kafka_offset", moment)
    frame = frame.cache()
    assert frame.count() == len(RECORDS)
    frame.createOrReplaceTempView("records")


LETTERS = {True: "t", False: "f", None: "n"}


def answers(spark, predicate):
    """One letter a record. All at once; one at a time if one of them raises."""
    try:
        # What Spark reports while it analyses; anything later is raised by a record.
        frame = spark.sql(f"SELECT id, ({predicate}\n) AS kept FROM records")
        kind = frame.schema["kept"].dataType.simpleString()
        if kind not in ("boolean", "void"):
            return None, f"NOT_BOOLEAN.{kind}"
        spark.sql(f"SELECT id FROM records WHERE {predicate}").schema
    except Exception as error:
        return None, error_class(error)
    try:
        kept = {row[0]: row[1] for row in frame.collect()}
        return "".join(LETTERS[kept[index]] for index in range(len(RECORDS))), None
    except Exception:
        pass
    letters = []
    for index in range(len(RECORDS)):
        try:
            one = spark.sql(f"SELECT ({predicate}\n) AS kept FROM (SELECT * FROM records WHERE id = {index})").collect()
            letters.append(LETTERS[one[0][0]])
        except Exception:
            letters.append("e")
    return "".join(letters), None


def answer(spark, predicate):
    letters, refused = answers(spark, predicate)
    return {"predicate": predicate, "spark_refuses": refused} if refused else {"predicate": predicate, "expected": letters}


def error_class(error):
    condition = getattr(error, "getCondition", lambda: None)()
    return condition or str(error).split("\n")[0][:80]


def known_answers(path, head, records):
    """What the file says already, by predicate; nothing if it is of other records or of another Spark."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as lines:
        lines = [json.loads(line) for line in lines]
    if lines[: 1 + len(records)] != [head, *({"record": record} for record in records)]:
        return {}
    kept = {line["predicate"]: line for line in lines if "predicate" in line}
    for line in kept.values():
        line.pop("refused", None)
    return kept


def main(path):
    path = os.path.abspath(path)
    assert len(set(PREDICATES)) == len(PREDICATES), [p for p in PREDICATES if PREDICATES.count(p) > 1]
    unknown = set(REFUSED) - set(PREDICATES)
    assert not unknown, unknown
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        spark = session(folder)
        make_records(spark)
        columns = [("key", "STRING"), ("value", VALUE_TYPE), *METADATA]
        head = {"spark": spark.version, "columns": [{"name": name, "type": ours(kind)} for name, kind in columns]}
        known = known_answers(path, head, RECORDS)
        lines = [head, *({"record": record} for record in RECORDS)]
        for predicate in PREDICATES:
            line = known.get(predicate) or answer(spark, predicate)
            if predicate in REFUSED:
                line["refused"] = REFUSED[predicate]
            lines.append(line)
        spark.stop()
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main(sys.argv[1])
