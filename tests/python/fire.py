"""The foreign writer of the crash tests, and the judge of what they leave: not a line of it is the product's.

One JSON request a line on standard input, one JSON answer a line on standard output.

`maintain` is what another team may do to the table: a DELETE or an OPTIMIZE. It remembers what it deleted. Both are written
out here, by the protocol: those of delta-rs 1.6.6 commit over a compaction that removed the same files, and rows are then in
the table twice, whoever compacted. Delta-rs's own are held against the agent in `tests/e2e/care*.rs`; Spark's own work on the
same table at the same time, and whoever orders them says afterwards under which tags.
`check` reads every version of the table and holds each against the records that the producer knows as committed.
"""

import glob
import json
import os
import random
import sys
import time
import urllib.parse
import uuid

import polars
from deltalake import DeltaTable

sys.path.insert(0, os.path.dirname(__file__))
from tables import duckdb_connection  # noqa: E402

TAG = "fire.tag"
# Where Spark puts a tag.
SPARK_TAG = "userMetadata"
# Small enough that a foreign rewrite leaves most files alone, so that the agent's own compaction has work too.
OPTIMIZED_BYTES = 1_000_000
OPTIMIZED_FILES = 24
DELETED_OFFSETS = 40
# Versions that are read whole, beside the last one; of every version all files and positions are compared.
SAMPLED_VERSIONS = 12

# Tag of each operation that was tried; with that of a DELETE the partition and the offsets that it names.
tried = {}
# Tags of those that were committed.
done = set()


def entry(path, version):
    with open(f"{path}/_delta_log/{version:020}.json") as lines:
        return [json.loads(line) for line in lines]


def partition_of(app_id):
    """The partition whose position a transaction records (fs/uid/topic/partition/epoch); none for any other transaction."""
    parts = app_id.split("/")
    return int(parts[3]) if len(parts) == 5 and parts[0] == "fs" else None


def app_ids(path):
    """App id of each partition, as version 0 has them."""
    ids = [action["txn"]["appId"] for action in entry(path, 0) if "txn" in action]
    return {partition_of(app_id): app_id for app_id in ids if partition_of(app_id) is not None}


def optimize(path, table):
    """Puts small files together."""
    adds = polars.DataFrame(table.get_add_actions(flatten=True))
    small = adds.filter(polars.col("size_bytes") < OPTIMIZED_BYTES // 2).sort("modification_time").head(OPTIMIZED_FILES)
    if small.height < 2:
        raise RuntimeError("nothing to put together")
    rewrite(path, table, {name: rows_in(path, name) for name in small["path"]}, "OPTIMIZE", {})
    return small.height


def delete(path, table, partition, first, last, tag):
    """Rewrites the files that hold these offsets without them; returns how many rows went."""
    wanted = (polars.col("kafka_partition") == partition) & polars.col("kafka_offset").is_between(first, last)
    kept, deleted = {}, 0
    for name in polars.DataFrame(table.get_add_actions(flatten=True))["path"]:
        hits = polars.scan_parquet(f"{path}/{urllib.parse.unquote(name)}", glob=False).filter(wanted).collect().height
        if hits:
            kept[name] = rows_in(path, name).filter(~wanted)
            deleted += hits
    if kept:
        rewrite(path, table, kept, "DELETE", {TAG: tag})
    return deleted


def rows_in(path, name):
    rows = polars.read_parquet(f"{path}/{urllib.parse.unquote(name)}", glob=False)
    # Spark writes timestamps as 96 bits without a zone, and reads them only as these or as microseconds.
    timestamps = polars.selectors.datetime()
    return rows.with_columns(timestamps.dt.cast_time_unit("us").dt.replace_time_zone("UTC"))


def rewrite(path, table, inputs, operation, note):
    """Commits one file in the place of these, unless an entry since the version that was read touches one of them."""
    rows = polars.concat(list(inputs.values()))
    output = f"part-{uuid.uuid4()}.parquet"
    now = time.time_ns() // 1_000_000
    info = {"timestamp": now, "operation": operation, "operationParameters": {}, "engineInfo": "another team", "isBlindAppend": False}
    lines = [{"commitInfo": {**info, **note}}]
    changed = {"dataChange": operation == "DELETE", "partitionValues": {}}
    for name in inputs:
        size = os.path.getsize(f"{path}/{urllib.parse.unquote(name)}")
        lines.append({"remove": {"path": name, "size": size, "deletionTimestamp": now, "extendedFileMetadata": True, **changed}})
    if rows.height:
        rows.write_parquet(f"{path}/{output}", compression="zstd")
        size, stats = os.path.getsize(f"{path}/{output}"), json.dumps({"numRecords": rows.height})
        lines.append({"add": {"path": output, "size": size, "modificationTime": now, "stats": stats, **changed}})
    temporary = f"{path}/_delta_log/.{output}.tmp"
    with open(temporary, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    try:
        link_next(path, table.version() + 1, temporary, set(inputs))
    finally:
        os.remove(temporary)


def link_next(path, version, temporary, inputs):
    """Makes the entry the next version: put if absent, after a look at what others committed meanwhile."""
    while True:
        try:
            os.link(temporary, f"{path}/_delta_log/{version:020}.json")
            return
        except FileExistsError:
            for action in entry(path, version):
                if "metaData" in action or "protocol" in action or action.get("remove", {}).get("path") in inputs:
                    raise RuntimeError(f"conflict with version {version}")
            version += 1


def maintain(path, round):
    table = DeltaTable(path)
    if round % 2 == 0:
        return {"operation": "OPTIMIZE", "files": optimize(path, table)}
    partition, app_id = sorted(app_ids(path).items())[round // 2 % len(app_ids(path))]
    position = table.transaction_version(app_id) or 0
    first = random.randrange(max(1, position - DELETED_OFFSETS))
    last = min(position, first + DELETED_OFFSETS) - 1
    tag = f"delete-{round}"
    tried[tag] = (partition, first, last)
    rows = delete(path, table, partition, first, last, tag)
    if rows:
        # Offsets of an aborted transaction have no rows: then there is no commit either.
        done.add(tag)
    return {"operation": "DELETE", "rows": rows}


def tag_of(info):
    return info.get(TAG) or info.get(SPARK_TAG)


def writer_of(info):
    engine = info.get("engineInfo", "")
    return "agent" if "featurestore" in engine else "spark" if "Apache-Spark" in engine else "other"


class Expected:
    """The committed records: their number in the producer's count by partition and offset, and which are still wanted."""

    def __init__(self, csv):
        records = polars.read_csv(csv, has_header=False, new_columns=["partition", "offset", "number"])
        self.numbers, self.wanted = {}, {}
        for (partition,), part in records.group_by("partition"):
            if part["offset"].n_unique() != part.height:
                raise ValueError(f"partition {partition}: the producer was told one offset twice")
            every = polars.DataFrame({"offset": range(part["offset"].max() + 1)}).cast(polars.Int64)
            numbers = every.join(part, on="offset", how="left", maintain_order="left")["number"].fill_null(-1)
            self.numbers[partition] = numbers
            self.wanted[partition] = bytearray((numbers >= 0).cast(polars.UInt8).to_list())
        self.records = records.height

    def expect_sound(self, frame, where):
        """Each row is a committed record, with the value that was sent."""
        for (partition,), part in frame.group_by("partition"):
            numbers = self.numbers.get(partition, polars.Series([], dtype=polars.Int64))
            beyond = part.filter(polars.col("offset") >= len(numbers))
            if beyond.height:
                raise ValueError(f"{where}: partition {partition} has offset {beyond['offset'][0]}, which was never committed")
            sent = numbers.gather(part["offset"])
            wrong = part.filter((sent != part["number"]).fill_null(True))
            if wrong.height:
                offset = wrong["offset"][0]
                raise ValueError(
                    f"{where}: partition {partition} offset {offset} holds number {wrong['number'][0]}; "
                    f"the producer committed {numbers[offset]} there (-1: nothing)"
                )


def rows_of(scan):
    """Partition, offset and number of each row."""
    return scan.select(
        polars.col("kafka_partition").cast(polars.Int64).alias("partition"),
        polars.col("kafka_offset").alias("offset"),
        polars.col("value").struct.field("order_id").alias("number"),
    )


def runs(offsets):
    """First and last of each run of consecutive offsets; one that is there twice is an error."""
    offsets = offsets.sort()
    begins = offsets.diff().fill_null(2) != 1
    firsts = offsets.filter(begins).to_list()
    ends = begins.shift(-1, fill_value=True)
    lasts = offsets.filter(ends).to_list()
    return list(zip(firsts, lasts))


class Files:
    """Which rows each data file holds. A file is read once, however many versions have it."""

    def __init__(self, path, expected):
        self.path, self.expected, self.known = path, expected, {}

    def runs(self, name):
        if name not in self.known:
            frame = rows_of(polars.scan_parquet(f"{self.path}/{urllib.parse.unquote(name)}", glob=False)).collect()
            self.expected.expect_sound(frame, name)
            parts = {partition: runs(part["offset"]) for (partition,), part in frame.group_by("partition")}
            held = sum(last - first + 1 for part in parts.values() for first, last in part)
            if held != frame.height:
                raise ValueError(f"{name}: {frame.height} rows with {held} different offsets")
            self.known[name] = (parts, frame.height)
        return self.known[name]


class Content:
    """What the table holds at one version, followed from entry to entry."""

    def __init__(self, path, expected):
        self.expected, self.files = expected, Files(path, expected)
        self.live, self.positions = set(), {}
        self.present = {partition: bytearray(len(wanted)) for partition, wanted in expected.wanted.items()}
        self.deleted = 0

    def take(self, version, actions):
        where = f"version {version}"
        for action in actions:
            if "remove" in action:
                self.change(action["remove"]["path"], 1, 0, where)
        for action in actions:
            if "add" in action:
                _, rows = self.change(action["add"]["path"], 0, 1, where)
                stated = json.loads(action["add"]["stats"])["numRecords"]
                if stated != rows:
                    raise ValueError(f"{where}: {action['add']['path']} has {rows} rows, and the log says {stated}")
            if "txn" in action and partition_of(action["txn"]["appId"]) is not None:
                self.positions[partition_of(action["txn"]["appId"])] = action["txn"]["version"]
            tag = tag_of(action.get("commitInfo", {}))
            if tag and tried[tag]:
                self.delete(*tried[tag])
        self.expect(where)

    def change(self, name, before, after, where):
        held = self.files.runs(name)
        if after:
            self.live.add(name)
        else:
            self.live.remove(name)
        for partition, part in held[0].items():
            present = self.present[partition]
            for first, last in part:
                count = last - first + 1
                if present[first : last + 1].count(before) != count:
                    state = "already there" if after else "not there"
                    raise ValueError(f"{where}: rows of {name} are {state}: partition {partition}, offsets {first} to {last}")
                present[first : last + 1] = bytes([after]) * count
        return held

    def delete(self, partition, first, last):
        wanted = self.expected.wanted[partition]
        self.deleted += wanted[first : last + 1].count(1)
        wanted[first : last + 1] = bytes(len(wanted[first : last + 1]))

    def expect(self, where):
        for partition, wanted in self.expected.wanted.items():
            present, position = self.present[partition], self.positions[partition]
            if present[:position] != wanted[:position]:
                offset = next(i for i in range(position) if present[i] != wanted[i])
                state = "there and should not be" if present[offset] else "missing"
                raise ValueError(f"{where}: partition {partition} offset {offset} is {state}; the position is {position}")
            beyond = present.find(1, position)
            if beyond >= 0:
                raise ValueError(f"{where}: partition {partition} has offset {beyond}; the position is {position}")

    def expect_rows(self, frame, where):
        """A reader's rows are exactly these."""
        self.expected.expect_sound(frame, where)
        for partition, present in self.present.items():
            offsets = frame.filter(polars.col("partition") == partition)["offset"]
            held = bytearray(len(present))
            for first, last in runs(offsets):
                held[first : last + 1] = bytes([1]) * (last - first + 1)
            if held != present or len(offsets) != present.count(1):
                raise ValueError(f"{where}: partition {partition} has {len(offsets)} rows of {present.count(1)}")


def duckdb_frame(path):
    query = """SELECT kafka_partition::BIGINT AS partition, kafka_offset AS "offset", value.order_id AS number
        FROM delta_scan(?)"""
    columns = duckdb_connection().execute(query, [path]).fetchall()
    return polars.DataFrame(columns, schema=dict.fromkeys(["partition", "offset", "number"], polars.Int64), orient="row")


def expect_foreign_reader(path, version, content, ids):
    """delta-rs opens the version and finds the same files and positions."""
    table = DeltaTable(path, version=version)
    names = {os.path.basename(urllib.parse.unquote(uri)) for uri in table.file_uris()}
    if names != {urllib.parse.unquote(name) for name in content.live}:
        raise ValueError(f"version {version}: delta-rs sees {len(names)} files, the log has {len(content.live)}")
    seen = {partition: table.transaction_version(app_id) for partition, app_id in ids.items()}
    if seen != content.positions:
        raise ValueError(f"version {version}: delta-rs sees positions {seen}, the log has {content.positions}")


def check(path, csv, deeds):
    for deed in deeds:
        tried[deed["tag"]] = deed["range"]
        done.update([deed["tag"]] if deed["done"] else [])
    entries = sorted(glob.glob(f"{path}/_delta_log/*.json"))
    last = len(entries) - 1
    if os.path.basename(entries[-1]) != f"{last:020}.json":
        raise ValueError(f"the log has {len(entries)} entries and ends with {entries[-1]}")
    sampled = {last * number // SAMPLED_VERSIONS for number in range(SAMPLED_VERSIONS + 1)}
    content = Content(path, Expected(csv))
    ids, operations, landed = app_ids(path), {}, set()
    for version in range(last + 1):
        actions = entry(path, version)
        content.take(version, actions)
        info = next(action["commitInfo"] for action in actions if "commitInfo" in action)
        name = f"{writer_of(info)} {info['operation']}"
        operations[name] = operations.get(name, 0) + 1
        landed.update([tag_of(info)] if tag_of(info) else [])
        expect_foreign_reader(path, version, content, ids)
        if version in sampled:
            content.expect_rows(rows_of(polars.scan_delta(path, version=version)).collect(), f"version {version} by Polars")
    if not done <= landed:
        raise ValueError(f"an operation was reported as done and is not in the log: {done - landed}")
    content.expect_rows(duckdb_frame(path), "the last version by DuckDB")
    for partition, wanted in content.expected.wanted.items():
        if content.positions[partition] < len(wanted):
            raise ValueError(f"partition {partition} ends at {content.positions[partition]}, committed were {len(wanted)}")
    return {
        "versions": last + 1,
        "records": content.expected.records,
        "deleted": content.deleted,
        "files": len(content.files.known),
        "checkpoints": len(glob.glob(f"{path}/_delta_log/*.checkpoint*.parquet")),
        "operations": operations,
    }


def positions(path):
    table = DeltaTable(path)
    return {partition: table.transaction_version(app_id) for partition, app_id in app_ids(path).items()}


ACTIONS = {"maintain": maintain, "positions": positions, "check": check}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": ACTIONS[request.pop("action")](**request)}
        except Exception as error:  # whoever asked decides what it means
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
