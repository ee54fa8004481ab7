"""Looks at Delta tables with readers that are not ours, and changes them as other people would.

One JSON request a line on standard input, one JSON answer a line on standard output. Values come out in one form whoever
read them: timestamps as microseconds since 1970 in UTC, bytes as hexadecimal, decimals as text.
"""

import datetime
import decimal
import json
import pathlib
import re
import sys

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_duckdb = None


def duckdb_connection():
    global _duckdb
    if _duckdb is None:
        import duckdb
        import duckdb_extension_delta

        found = pathlib.Path(duckdb_extension_delta.__file__).parent.glob("extensions/*/delta.duckdb_extension")
        _duckdb = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        _duckdb.execute(f"LOAD '{next(found)}'")
        _duckdb.execute("SET TimeZone = 'UTC'")
    return _duckdb


def plain(value):
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        return (value - EPOCH) // datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value


def duckdb_rows(path, columns, version=None):
    wanted = ", ".join(f'"{name}"' for name in columns) if columns else "*"
    at = "" if version is None else f", version => {int(version)}"
    cursor = duckdb_connection().execute(f"SELECT {wanted} FROM delta_scan(?{at})", [path])
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, map(plain, row))) for row in cursor.fetchall()]


def polars_rows(path, columns, version=None):
    import polars

    table = polars.scan_delta(path, version=version)
    if columns:
        table = table.select(columns)
    return [{name: plain(value) for name, value in row.items()} for row in table.collect().rows(named=True)]


READERS = {"duckdb": duckdb_rows, "polars": polars_rows}


def rows(reader, path, columns=None):
    return READERS[reader](path, columns)


def rows_of_version(path, version, reader="duckdb"):
    """All rows of a version, by one reader."""
    return READERS[reader](path, None, version)


def files_read(path, predicate):
    """How many files DuckDB reads for a predicate, and how many there are."""
    query = f"EXPLAIN ANALYZE SELECT count(*) FROM delta_scan(?) WHERE {predicate}"
    plan = duckdb_connection().execute(query, [path]).fetchall()[0][1]
    # The plan is drawn with a frame, and a line may be broken in the middle.
    drawn = re.sub(r"[^A-Za-z0-9/:]", "", plan)
    found = re.search(r"ScanningFiles:(\d+)/(\d+)", drawn)
    return [int(found[1]), int(found[2])] if found else plan


def offsets_at(reader, path, micros):
    """Offsets of the rows with exactly that timestamp."""
    if reader == "duckdb":
        query = f"SELECT kafka_offset FROM delta_scan(?) WHERE stream_record_timestamp = make_timestamptz({int(micros)})"
        return [row[0] for row in duckdb_connection().execute(query, [path]).fetchall()]
    import polars

    moment = EPOCH + datetime.timedelta(microseconds=micros)
    table = polars.scan_delta(path).filter(polars.col("stream_record_timestamp") == moment)
    return table.collect()["kafka_offset"].to_list()


def columns(reader, path):
    if reader == "duckdb":
        described = duckdb_connection().execute("DESCRIBE SELECT * FROM delta_scan(?)", [path]).fetchall()
        return [[row[0], row[1]] for row in described]
    import polars

    return [[name, str(kind)] for name, kind in polars.scan_delta(path).collect_schema().items()]


def add_column(path, name):
    """What a user may do: a nullable column more."""
    from deltalake import DeltaTable, Field
    from deltalake.schema import PrimitiveType

    DeltaTable(path).alter.add_columns([Field(name, PrimitiveType("string"), nullable=True)])


def delete_rows(path, predicate):
    """What a user may do: rows taken out."""
    from deltalake import DeltaTable

    DeltaTable(path).delete(predicate)


def update_rows(path, predicate, updates):
    """What a user may do: values changed."""
    from deltalake import DeltaTable

    DeltaTable(path).update(predicate=predicate, updates=updates)


def optimize(path, z_order=None):
    """What a user may do: small files put together, in some order."""
    from deltalake import DeltaTable

    optimizer = DeltaTable(path).optimize
    return json.loads(json.dumps(optimizer.z_order(z_order) if z_order else optimizer.compact(), default=str))


def vacuum(path, hours=None):
    """What a user may do: files deleted that no version within so many hours needs. Fewer than a week only if one insists."""
    from deltalake import DeltaTable

    return DeltaTable(path).vacuum(hours, dry_run=False, enforce_retention_duration=hours is None)


def statistics(path):
    """What delta-rs takes for each file's path, rows, and its columns' minima, maxima and null counts."""
    from deltalake import DeltaTable

    actions = DeltaTable(path).get_add_actions(flatten=True)
    names = actions.schema.names
    return [dict(zip(names, map(plain, row))) for row in zip(*(actions.column(name).to_pylist() for name in names))]


def overwrite(path):
    """What no stream survives: another schema in the same place."""
    import polars

    polars.DataFrame({"other": [1, 2, 3]}).write_delta(
        path, mode="overwrite", delta_write_options={"schema_mode": "overwrite"}
    )


def version(path):
    from deltalake import DeltaTable

    return DeltaTable(path).version()


def restore(path, version):
    """Takes back what someone did."""
    from deltalake import DeltaTable

    DeltaTable(path).restore(version)


def foreign_table(path):
    """A table that someone else made first."""
    import polars

    pathlib.Path(path).mkdir(parents=True)
    polars.DataFrame({"mine": [1]}).write_delta(path)


def serve(*actions, answers=sys.stdout):
    named = {action.__name__: action for action in actions}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": named[request.pop("action")](**request)}
        except Exception as error:  # the test that asked fails with this text
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(
        rows,
        rows_of_version,
        files_read,
        offsets_at,
        statistics,
        columns,
        version,
        add_column,
        delete_rows,
        update_rows,
        optimize,
        vacuum,
        overwrite,
        restore,
        foreign_table,
    )
