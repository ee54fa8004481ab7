"""Asks Spark's `from_avro` the questions of `avro_questions.py` and prints its answers as `tests/data/spark_avro.jsonl` has them:

    PATH_OF_SPARK/bin/python avro_answers.py FOLDER_WITH_THE_SPARK_AVRO_JAR > ../data/spark_avro.jsonl

`scripts/setup.sh` makes the folder of Spark; the jar is Maven's `org.apache.spark:spark-avro_2.13` in the version of PySpark there.

A line is a schema, a reader's schema where there is another, Spark's type, and rows: a message in base64 and the answer. A row without an
answer is one of nulls only, or NULL where the type is no struct. Answers are written as `tests/data/from_avro.jsonl` has them.
"""

import base64
import json
import os
import pathlib
import random
import struct
import sys

os.environ["TZ"] = "UTC"
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

from avro_questions import questions
from pyspark.sql import SparkSession, functions, types
from pyspark.sql.avro.functions import from_avro

SEED = 20260301
SCHEMAS = 210
MESSAGES_EACH = 32
DAMAGED = 0.45

# As streams have it: fields of a union's struct are named by the branches.
OPTIONS = {"mode": "PERMISSIVE", "enableStableIdentifiersForUnionType": "true", "stableIdentifierPrefixForUnionType": ""}

# A damaged length would otherwise be allocated, and end Spark; refusing it gives the answer that a shorter one gets.
LIMITS = "-Dorg.apache.avro.limits.collectionItems.maxLength=1000000 -Dorg.apache.avro.limits.bytes.maxLength=10000000 -Dorg.apache.avro.limits.string.maxLength=10000000"


def session(jars):
    builder = SparkSession.builder.master("local[1]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1500m",
        "spark.jars": ",".join(jars),
        "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -Duser.timezone=UTC {LIMITS}",
        "spark.sql.codegen.wholeStage": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def real(value):
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def text(raw):
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def rendered(row, index, kind):
    """One value of Spark's own row."""
    if row.isNullAt(index):
        return None
    match kind:
        case types.StructType():
            inner = row.getStruct(index, len(kind.fields))
            return {field.name: rendered(inner, place, field.dataType) for place, field in enumerate(kind.fields)}
        case types.ArrayType():
            items = row.getArray(index)
            return [rendered(items, place, kind.elementType) for place in range(items.numElements())]
        case types.MapType():
            entries = row.getMap(index)
            keys, values = entries.keyArray(), entries.valueArray()
            pairs = [[rendered(keys, place, kind.keyType), rendered(values, place, kind.valueType)] for place in range(entries.numElements())]
            return sorted(pairs, key=lambda pair: json.dumps(pair[0]))
        case types.StringType():
            return text(bytes(row.getUTF8String(index).getBytes()))
        case types.BinaryType():
            return base64.b64encode(bytes(row.getBinary(index))).decode()
        case types.DecimalType():
            return format(row.getDecimal(index, kind.precision, kind.scale).toJavaBigDecimal(), "f")
        # As bits: what Python makes of a NaN on its way is not ours to know.
        case types.FloatType():
            return real(struct.unpack("<f", struct.pack("<i", row.getInt(index)))[0])
        case types.DoubleType():
            return real(struct.unpack("<d", struct.pack("<q", row.getLong(index)))[0])
        case types.BooleanType():
            return bool(row.getBoolean(index))
        case types.IntegerType() | types.DateType():
            return row.getInt(index)
        case _:
            return row.getLong(index)


def all_null(answer):
    return answer is None or (isinstance(answer, dict) and all(value is None for value in answer.values()))


def answers(spark, schema, reader, messages):
    options = dict(OPTIONS)
    if reader is not None:
        options["avroSchema"] = json.dumps(reader)
    frame = spark.createDataFrame([(bytearray(message),) for message in messages], "v binary").coalesce(1)
    frame = frame.select(from_avro(functions.col("v"), json.dumps(schema), options).alias("r"))
    kind = frame.schema["r"].dataType
    rows = frame._jdf.queryExecution().executedPlan().executeCollect()
    return kind.simpleString(), [rendered(row, 0, kind) for row in rows]


def main():
    spark = session(sorted(str(jar) for jar in pathlib.Path(sys.argv[1]).glob("*.jar")))
    for schema, reader, messages in questions(random.Random(SEED), SCHEMAS, MESSAGES_EACH, DAMAGED):
        try:
            kind, found = answers(spark, schema, reader, messages)
        except Exception as error:  # Spark refuses a schema, or cannot go on: no question that it answers.
            print(f"no answer: {type(error).__name__} {str(error)[:200]!r}", json.dumps(schema), json.dumps(reader), file=sys.stderr)
            continue
        rows = []
        for message, answer in zip(messages, found):
            row = [base64.b64encode(message).decode()]
            rows.append(row if all_null(answer) else row + [answer])
        line = {"schema": schema, "type": kind, "rows": rows}
        if reader is not None:
            line["reader"] = reader
        print(json.dumps(line, ensure_ascii=False, separators=(",", ":")), flush=True)
    spark.stop()


main()
