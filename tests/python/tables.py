"""Looks at Delta tables with readers that are not ours, and changes them as other people would.

One JSON request a line on standard input, one JSON answer a line on standard output. Values come out in one form whoever
read them: timestamps as microseconds since 1970 in UTC, bytes as hexadecimal, decimals as text.
"""

import datetime
import decimal
import json
import pathlib
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


def duckdb_rows(path, columns):
    wanted = ", ".join(f'"{name}"' for name in columns) if columns else "*"
    cursor = duckdb_connection().execute(f"SELECT {wanted} FROM delta_scan(?)", [path])
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, map(plain, row))) for row in cursor.fetchall()]


def polars_rows(path, columns):
    import polars

    table = polars.scan_delta(path)
    if columns:
        table = table.select(columns)
    return [{name: plain(value) for name, value in row.items()} for row in table.collect().rows(named=True)]


READERS = {"duckdb": duckdb_rows, "polars": polars_rows}


def rows(reader, path, columns=None):
    return READERS[reader](path, columns)


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


ACTIONS = {
    action.__name__: action
    for action in (rows, columns, version, add_column, delete_rows, overwrite, restore, foreign_table)
}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": ACTIONS[request.pop("action")](**request)}
        except Exception as error:  # the test that asked fails with this text
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
