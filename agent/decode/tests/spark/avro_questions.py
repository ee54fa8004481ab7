"""Random Avro schemas and messages, sound and damaged: the questions that `avro_answers.py` asks Spark.

Everything follows from the seed, so a question can be asked again. Left out is what Spark answers otherwise from version to version
(nanoseconds, time-micros) and what it does not survive (arrays whose items take no bytes, with a damaged count).
"""

import json
import struct

INT_EDGES = [0, 1, -1, 63, 64, -65, 2**31 - 1, -(2**31), 1_000_000]
LONG_EDGES = INT_EDGES + [2**63 - 1, -(2**63), 2**40, 1_709_210_096_789, -62_135_596_800_000]
DOUBLES = [0.0, -0.0, 0.1, 1e300, float("nan"), float("inf"), float("-inf"), 5e-324]
TEXTS = [b"", b"x", "héllo".encode(), b"a\0b", b"\xff\xfe", "😀".encode(), b"long " * 9, b"\xc3"]
PRIMITIVES = ["boolean", "int", "long", "float", "double", "string", "bytes"]
LOGICAL = [
    ("int", "date"),
    ("int", "time-millis"),
    ("long", "timestamp-millis"),
    ("long", "timestamp-micros"),
    ("long", "local-timestamp-millis"),
    ("long", "local-timestamp-micros"),
    ("string", "uuid"),
    ("long", "date"),
]

# Unions that are whole messages, asked last.
ROOT_UNIONS = [
    ["null", "string"],
    ["string", "null"],
    ["null", "int"],
    ["null", "bytes"],
    ["double"],
    ["null", {"type": "int", "logicalType": "date"}],
    ["null", {"type": "long", "logicalType": "timestamp-millis"}],
    ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}],
    ["null", {"type": "enum", "name": "E", "symbols": ["A", "B"]}],
    [{"type": "fixed", "name": "F", "size": 3}, "null"],
    ["int", "long"],
    ["long", "null", "int"],
    ["null", {"type": "int", "logicalType": "date"}, "long"],
    ["float", "double"],
    ["null", {"type": "array", "items": "int"}],
    ["null", {"type": "map", "values": "int"}],
    ["null", "int", "string"],
    ["null", {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}],
]


class Schemas:
    """Makes schemas; each named type of a schema has a number of its own."""

    def __init__(self, random):
        self.random = random
        self.names = 0

    def name(self, letter):
        self.names += 1
        return f"{letter}{self.names}"

    def top(self):
        self.names = 0
        if self.random.random() < 0.06:
            return self.scalar()
        return self.record(3)

    def record(self, depth):
        count = self.random.choice([1, 2, 3, 3, 4, 6])
        fields = [{"name": "abcdefgh"[index], "type": self.any(depth - 1)} for index in range(count)]
        return {"type": "record", "name": self.name("R"), "fields": fields}

    def scalar(self):
        kind = self.random.randrange(10)
        if kind < 5:
            return self.random.choice(PRIMITIVES)
        if kind < 7:
            base, logical = self.random.choice(LOGICAL)
            return {"type": base, "logicalType": logical}
        if kind == 7:
            precision = self.random.choice([1, 4, 9, 10, 17, 18, 19, 20, 37, 38])
            decimal = {"logicalType": "decimal", "precision": precision, "scale": self.random.randint(0, precision)}
            if self.random.random() < 0.5:
                return {"type": "bytes", **decimal}
            return {"type": "fixed", "name": self.name("D"), "size": self.random.choice([1, 4, 8, 9, 16, 20]), **decimal}
        if kind == 8:
            return {"type": "fixed", "name": self.name("F"), "size": self.random.choice([1, 3, 12, 16])}
        return {"type": "enum", "name": self.name("E"), "symbols": ["A", "B", "LONGER"][: self.random.randint(1, 3)]}

    def any(self, depth):
        if depth <= 0 or self.random.random() < 0.45:
            return self.scalar()
        kind = self.random.randrange(10)
        if kind < 2:
            return {"type": "array", "items": self.any(depth - 1)}
        if kind < 4:
            return {"type": "map", "values": self.any(depth - 1)}
        if kind < 6:
            return self.record(depth)
        return self.union(depth)

    def union(self, depth):
        kind = self.random.randrange(6)
        if kind < 3:
            branches = ["null", self.any_but_union(depth - 1)]
        elif kind == 3:
            branches = self.random.choice([["int", "long"], ["long", "int"], ["float", "double"], ["double", "float"]])
            branches = list(branches) + ["null"] * self.random.randint(0, 1)
        else:
            branches = ["null"] * self.random.randint(0, 1)
            branches += [self.any_but_union(depth - 1) for _ in range(self.random.randint(1, 4))]
        unique = {}
        for branch in branches:
            unique.setdefault(branch_name(branch), branch)
        branches = list(unique.values())
        self.random.shuffle(branches)
        return branches

    def any_but_union(self, depth):
        while isinstance(schema := self.any(depth), list):
            pass
        return schema


def branch_name(schema):
    return schema if isinstance(schema, str) else schema.get("name", schema["type"])


class Messages:
    """Writes messages of a schema."""

    def __init__(self, random):
        self.random = random

    def varint(self, number, bits=64):
        zigzag = ((number << 1) ^ (number >> (bits - 1))) & (2**bits - 1)
        out = bytearray()
        while zigzag > 0x7F:
            out.append(zigzag & 0x7F | 0x80)
            zigzag >>= 7
        out.append(zigzag)
        # Longer than need be, which is legal.
        if len(out) < 4 and self.random.random() < 0.01:
            out[-1] |= 0x80
            out.append(0)
        return bytes(out)

    def number(self, edges, low, high):
        kind = self.random.random()
        if kind < 0.35:
            return self.random.choice(edges)
        if kind < 0.7:
            return self.random.randint(-200, 200)
        return self.random.randint(low, high)

    def write(self, schema):
        if isinstance(schema, list):
            index = self.random.randrange(len(schema))
            return self.varint(index, 32) + self.write(schema[index])
        kind = schema if isinstance(schema, str) else schema["type"]
        return getattr(self, f"write_{kind}")(schema)

    def write_null(self, _):
        return b""

    def write_boolean(self, _):
        return self.random.choice([b"\0", b"\1", b"\1", b"\2"])

    def write_int(self, _):
        return self.varint(self.number(INT_EDGES, -(2**31), 2**31 - 1), 32)

    def write_long(self, _):
        return self.varint(self.number(LONG_EDGES, -(2**63), 2**63 - 1))

    def write_float(self, _):
        value = self.random.choice(DOUBLES[:3] + DOUBLES[4:7] + [self.random.uniform(-1e6, 1e6)])
        return struct.pack("<f", value)

    def write_double(self, _):
        return struct.pack("<d", self.random.choice(DOUBLES + [self.random.uniform(-1e6, 1e6)]))

    def write_string(self, _):
        return self.with_length(self.random.choice(TEXTS))

    def write_bytes(self, schema):
        if isinstance(schema, dict) and "precision" in schema:
            return self.with_length(self.unscaled(schema["precision"], None))
        return self.with_length(self.random.choice(TEXTS))

    def write_fixed(self, schema):
        if "precision" in schema and self.random.random() < 0.8:
            return self.unscaled(schema["precision"], schema["size"])
        return self.random.randbytes(schema["size"])

    def unscaled(self, precision, size):
        edge = 10**precision
        value = self.random.choice([0, 1, -1, edge - 1, 1 - edge, edge, self.random.randint(1 - edge, edge - 1), 2**64 + 7, -(2**63)])
        needed = value.bit_length() // 8 + 1
        if size is None:
            size = needed + self.random.choice([0, 0, 0, 1, 5])
        elif needed > size:
            value, needed = self.random.randint(-100, 100), 1
        return value.to_bytes(size, "big", signed=True)

    def with_length(self, content):
        return self.varint(len(content)) + content

    def write_enum(self, schema):
        return self.varint(self.random.randrange(len(schema["symbols"])), 32)

    def write_record(self, schema):
        return b"".join(self.write(field["type"]) for field in schema["fields"])

    def write_array(self, schema):
        return self.blocks(lambda: self.write(schema["items"]))

    def write_map(self, schema):
        return self.blocks(lambda: self.with_length(self.random.choice([b"k", b"l", b"m", b"", "é".encode()])) + self.write(schema["values"]))

    def blocks(self, item):
        out = b""
        for _ in range(self.random.choice([0, 1, 1, 1, 2])):
            count = self.random.choice([1, 1, 2, 3, 4])
            items = b"".join(item() for _ in range(count))
            if self.random.random() < 0.25:
                out += self.varint(-count) + self.varint(len(items)) + items
            else:
                out += self.varint(count) + items
        return out + b"\0"

    def damage(self, message):
        """The message with something wrong in it, or behind it."""
        kind = self.random.randrange(8)
        at = self.random.randrange(len(message) + 1)
        if kind == 0:
            return message[:at]
        if kind == 1:
            return message + self.random.randbytes(self.random.randint(1, 4))
        if kind == 2:
            return message[:at] + self.random.randbytes(1) + message[at:]
        if kind == 3:
            return message[:at] + message[at + 1 :]
        if kind == 4:
            return message[:at] + self.random.choice([b"\xff" * 4 + b"\x0f", b"\xff" * 9 + b"\x01", b"\x80" * 11, b"\xff" * 10 + b"\x01"]) + message[at:]
        if kind == 5:
            return self.random.randbytes(self.random.randint(0, 12))
        changed = bytearray(message)
        for _ in range(kind - 5):
            if changed:
                changed[self.random.randrange(len(changed))] = self.random.choice([0, 1, 2, 0x7F, 0x80, 0xFF, self.random.randrange(256)])
        return bytes(changed)


class Readers:
    """Makes readers' schemas from writers': what a registry's later versions are like, compatible or not."""

    def __init__(self, random, schemas):
        self.random = random
        self.schemas = schemas

    def of(self, schema):
        return self.change(json.loads(json.dumps(schema)))

    def change(self, schema):
        if isinstance(schema, list):
            return self.change_union(schema)
        kind = schema if isinstance(schema, str) else schema["type"]
        if kind in ("int", "long", "float", "string", "bytes") and self.random.random() < 0.3:
            return self.promote(kind)
        if isinstance(schema, dict):
            if kind == "array":
                schema["items"] = self.change(schema["items"])
            elif kind == "map":
                schema["values"] = self.change(schema["values"])
            elif kind == "enum":
                self.change_enum(schema)
            elif kind == "record":
                self.change_record(schema)
        if self.random.random() < 0.12:
            return self.random.choice([["null", schema], [schema, "null"], ["string" if kind != "string" else "int", schema]])
        return schema

    def promote(self, kind):
        wider = {"int": ["long", "float", "double"], "long": ["float", "double", "int"], "float": ["double"], "string": ["bytes"], "bytes": ["string"]}
        return self.random.choice(wider[kind])

    def change_union(self, branches):
        changed = [self.change(branch) for branch in branches if self.random.random() < 0.9] or branches
        if self.random.random() < 0.3:
            self.random.shuffle(changed)
        unique = {}
        for branch in changed:
            if not isinstance(branch, list):
                unique.setdefault(branch_name(branch), branch)
        left = list(unique.values()) or branches
        return left[0] if len(left) == 1 and self.random.random() < 0.5 else left

    def change_enum(self, schema):
        if self.random.random() < 0.4:
            schema["symbols"] = self.random.choice([["B", "A"], ["A"], ["C", "A", "B", "LONGER"]])
            if self.random.random() < 0.6:
                schema["default"] = "A"

    def change_record(self, schema):
        fields = [field for field in schema["fields"] if self.random.random() < 0.85]
        for field in fields:
            field["type"] = self.change(field["type"])
            if self.random.random() < 0.12:
                field["aliases"] = [field["name"]]
                field["name"] = "renamed_" + field["name"]
        for index in range(self.random.choice([0, 0, 1, 2])):
            fields.insert(self.random.randint(0, len(fields)), {"name": f"new{index}", **self.defaulted()})
        if self.random.random() < 0.2:
            self.random.shuffle(fields)
        if self.random.random() < 0.1:
            schema["aliases"] = [schema["name"]]
            schema["name"] = self.schemas.name("R") + "x"
        schema["fields"] = fields

    def defaulted(self):
        nested = {"type": "record", "name": self.schemas.name("N"), "fields": [{"name": "x", "type": "int"}, {"name": "y", "type": "string", "default": "q"}]}
        return self.random.choice(
            [
                {"type": ["null", "int"], "default": None},
                {"type": "int", "default": 7},
                {"type": "long", "default": -1},
                {"type": "double", "default": 1.5},
                {"type": "float", "default": 3},
                {"type": "boolean", "default": True},
                {"type": "string", "default": "défaut"},
                {"type": "bytes", "default": "\u00ff\u0001"},
                {"type": {"type": "int", "logicalType": "date"}, "default": 5},
                {"type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 5},
                {"type": {"type": "array", "items": "int"}, "default": [1, 2]},
                {"type": {"type": "map", "values": "string"}, "default": {"k": "v"}},
                {"type": nested, "default": {"x": 4}},
                {"type": ["string", "int"], "default": "s"},
                {"type": {"type": "enum", "name": self.schemas.name("G"), "symbols": ["P", "Q"]}, "default": "Q"},
                {"type": "int"},
            ]
        )


def questions(random, count, messages_each, damaged):
    """`count` pairs of a writer's and a reader's schema (the same, mostly), each with its messages."""
    schemas = Schemas(random)
    readers = Readers(random, schemas)
    writer_of = Messages(random)
    for index in range(count):
        schema = schemas.top()
        reader = readers.of(schema) if index % 3 == 2 else None
        messages = []
        for _ in range(messages_each):
            message = writer_of.write(schema)
            messages.append(writer_of.damage(message) if random.random() < damaged else message)
        yield schema, reader, messages
    for schema in ROOT_UNIONS:
        messages = [b"", b"\x06", writer_of.varint(-1, 32)]
        for _ in range(messages_each):
            message = writer_of.write(schema)
            messages.append(writer_of.damage(message) if random.random() < damaged else message)
        yield schema, None, messages
