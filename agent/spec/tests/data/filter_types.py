#!/usr/bin/env python3
"""Asks Apache Spark what type an expression of a record filter has, and where it converts.

    python filter_types.py < filter_types.jsonl > answers.jsonl

A line: {"expr": SQL}; "refused" and "otherwise", which say why the product refuses what Spark takes or converts otherwise to
the same effect, stay as they are. Its answer adds "type" and "casts", the conversions of the analysed expression from the outermost
inwards as [from, to], and the "value" of a literal; or "error", the class of Spark's refusal. ANSI mode (the default), session time zone UTC.
Needs PyPI `pyspark==4.3.0` and Java 17.
"""

import decimal
import json
import os
import sys

os.environ["TZ"] = "UTC"
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

COLUMNS = """
    key STRING,
    value STRUCT<
        id: BIGINT, n: INT, tiny: TINYINT, small: SMALLINT, f: FLOAT, d: DOUBLE, dec: DECIMAL(10,2), big: DECIMAL(38,10),
        u64: DECIMAL(20,0), flag: BOOLEAN, name: STRING, other: STRING, bin: BINARY, day: DATE, at: TIMESTAMP,
        ntz: TIMESTAMP_NTZ, customer: STRUCT<id: INT, Email: STRING, `odd name`: STRING>, twin: STRUCT<a: INT, A: STRING>,
        items: ARRAY<STRUCT<sku: STRING, qty: INT>>, tags: ARRAY<STRING>, nums: ARRAY<INT>, nested: ARRAY<ARRAY<INT>>,
        labels: MAP<STRING, STRING>, counts: MAP<STRING, INT>, orders: MAP<STRING, STRUCT<sku: STRING, qty: INT>>>,
    stream_record_timestamp TIMESTAMP,
    kafka_topic STRING,
    kafka_partition INT,
    kafka_offset BIGINT,
    headers ARRAY<STRUCT<key: STRING, value: BINARY>>
"""


def casts(node):
    """Conversions in an expression of the analysed plan, outermost first."""
    found = []
    if node.getClass().getSimpleName() == "Cast":
        found.append([node.child().dataType().sql(), node.dataType().sql()])
    children = node.children()
    for index in range(children.size()):
        found.extend(casts(children.apply(index)))
    return found


def literal(node):
    """A literal's value as a text: days, microseconds and months as numbers, bytes in hexadecimal, NULL as none."""
    if node.getClass().getSimpleName() != "Literal" or node.value() is None:
        return {}
    value = node.value()
    if isinstance(value, (bytes, bytearray)):
        return {"value": value.hex()}
    if node.dataType().sql().startswith("DECIMAL"):
        return {"value": format(decimal.Decimal(str(value)), "f")}
    return {"value": str(value).lower() if isinstance(value, bool) else str(value)}


def answer(spark, expression):
    try:
        plan = spark.sql(f"SELECT {expression} AS x FROM t")._jdf.queryExecution().analyzed()
        node = plan.expressions().apply(0)
        if node.getClass().getSimpleName() == "Alias":
            node = node.child()
        return {"type": node.dataType().sql(), "casts": casts(node), **literal(node)}
    except Exception as error:  # some refusals reach Python as Java's own exceptions
        condition = error.getCondition() if hasattr(error, "getCondition") else None
        return {"error": condition or type(error).__name__}


def main():
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Duser.timezone=UTC",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.createDataFrame([], COLUMNS).createOrReplaceTempView("t")
    for line in sys.stdin:
        if line.strip():
            asked = json.loads(line)
            case = {"expr": asked["expr"], **answer(spark, asked["expr"])}
            case.update({note: asked[note] for note in ("refused", "otherwise") if note in asked})
            print(json.dumps(case, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
