"""Asks protobuf-java what Spark's from_protobuf makes of some thousand messages, and writes questions and answers.

    pip install grpcio-tools==1.85.1
    mvn dependency:get -Dartifact=com.google.protobuf:protobuf-java:4.33.5
    python3 generate.py PROTOBUF_JAVA_JAR > ../data/from_protobuf_fuzz.jsonl

Schemas and messages are random, but the same in every run. A line of the output is either a schema, {"proto", "message"}, or a
message of the schema before it, [base64, answer]; answers are written as in from_protobuf.jsonl.

The parser is the one that Spark uses. The layer of Spark on top of it, which AskProtobuf.java restates:
- What does not parse is null as a whole. So is a message with a field of its type's among the top level's unknown fields.
- A field has a value if it is repeated, present, or has an explicit default; else it is null.
- Wrappers are unwrapped by the same rule; a Timestamp or Duration is microseconds, null as a whole where it overflows; unsigned
  integers are widened; enums are their names; map entries stay as they came. A message type without fields has no column.
"""

import base64
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import grpc_tools
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import FieldDescriptor as F
from grpc_tools import protoc

SCHEMAS = 160
MESSAGES_PER_SCHEMA = 34
# What keeps the file small.
MESSAGE_BYTES_MAX = 200
SEED = 20_240_229

VARINT, EIGHT_BYTES, DELIMITED, GROUP_START, GROUP_END, FOUR_BYTES = range(6)
SCALARS = (
    "int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64 float double bool string bytes string int32"
).split()
WELL_KNOWN = ["google.protobuf." + name for name in (
    "BoolValue Int32Value Int64Value UInt32Value UInt64Value FloatValue DoubleValue StringValue BytesValue Timestamp Duration"
).split()]
WIRE_KINDS = {
    F.TYPE_DOUBLE: EIGHT_BYTES, F.TYPE_FLOAT: FOUR_BYTES, F.TYPE_FIXED64: EIGHT_BYTES, F.TYPE_FIXED32: FOUR_BYTES,
    F.TYPE_SFIXED32: FOUR_BYTES, F.TYPE_SFIXED64: EIGHT_BYTES, F.TYPE_STRING: DELIMITED, F.TYPE_BYTES: DELIMITED,
    F.TYPE_MESSAGE: DELIMITED, F.TYPE_GROUP: GROUP_START,
}


class SchemaWriter:
    """Writes one random .proto text."""

    def __init__(self, random):
        self.random = random
        self.syntax = random.choices(["proto3", "proto2", "2023"], [45, 40, 15])[0]
        self.lines = []
        self.names = 0

    def text(self):
        first = f'edition = "{self.syntax}";' if self.syntax == "2023" else f'syntax = "{self.syntax}";'
        enums = [self.enum() for _ in range(self.random.randint(1, 2))]
        messages = []
        for depth in range(self.random.randint(0, 3)):
            messages.append(self.message(f"N{depth}", enums, list(messages)))
        self.message("M", enums, messages)
        body = "\n".join(self.lines)
        used = {"wrappers": "Value", "timestamp": "Timestamp", "duration": "Duration"}
        imports = [f'import "google/protobuf/{file}.proto";' for file, word in used.items() if word in body]
        return "\n".join([first, "package t;", *imports, body, ""])

    def enum(self):
        name = self.name("E")
        closed = self.syntax == "proto2" or self.syntax == "2023" and self.random.random() < 0.3
        numbers = [0] if not closed else [self.random.choice([0, 5, -1])]
        numbers += self.random.sample([0, 1, 2, 3, 7, -1, -5, 1023, 1024, 100_000, 2**31 - 1, -2**31], self.random.randint(1, 4))
        alias = len(set(numbers)) < len(numbers)
        body = ["option allow_alias = true;"] if alias else []
        if closed and self.syntax == "2023":
            body.append("option features.enum_type = CLOSED;")
        body += [f"{name}_V{index} = {number};" for index, number in enumerate(numbers)]
        self.lines.append(f"enum {name} {{ {' '.join(body)} }}")
        return name

    def message(self, name, enums, messages):
        count = self.random.choice([1, 2, 3, 4, 6, 8])
        numbers = set()
        while len(numbers) < count + 6:
            numbers.add(self.random.choice([self.random.randint(1, 20), self.random.randint(1, 20), self.random.randint(100, 4000),
                                            self.random.randint(20_000, 2**29 - 1)]))
        numbers = iter(self.random.sample(sorted(numbers), len(numbers)))
        body = [self.field(next(numbers), enums, messages) for _ in range(count)]
        if self.random.random() < 0.4:
            members = [f"{self.type(enums, messages)} {self.name('f')} = {next(numbers)};" for _ in range(self.random.randint(2, 4))]
            body.append(f"oneof {self.name('o')} {{ {' '.join(members)} }}")
        if self.syntax == "proto2" and self.random.random() < 0.3:
            label = self.random.choice(["optional", "repeated", "required"])
            group = self.name("G")
            body.append(f"{label} group {group} = {next(numbers)} {{ optional int32 x = 1; repeated string y = 2; }}")
        self.random.shuffle(body)
        self.lines.append(f"message {name} {{ {' '.join(body)} }}")
        return name

    def field(self, number, enums, messages):
        name, type_name = self.name("f"), self.type(enums, messages)
        roll = self.random.random()
        if roll < 0.15:
            return f"map<string, {type_name}> {name} = {number};"
        is_scalar = type_name in SCALARS or type_name.startswith("E")
        packable = is_scalar and type_name not in ("string", "bytes")
        if roll < 0.35:
            packed = f" [packed = {self.random.choice(['true', 'false'])}]" if packable and self.syntax != "2023" else ""
            if self.syntax == "2023" and packable and self.random.random() < 0.5:
                packed = " [features.repeated_field_encoding = EXPANDED]"
            return f"repeated {type_name} {name} = {number}{packed};"
        if self.syntax == "proto3":
            label = "optional " if self.random.random() < 0.35 else ""
            return f"{label}{type_name} {name} = {number};"
        if self.syntax == "proto2":
            label = "required" if self.random.random() < 0.12 else "optional"
            default = self.default(type_name) if label == "optional" and self.random.random() < 0.3 else ""
            return f"{label} {type_name} {name} = {number}{default};"
        features = []
        if self.random.random() < 0.3 and is_scalar and not type_name.startswith("E"):
            features.append("features.field_presence = IMPLICIT")
        elif self.random.random() < 0.1:
            features.append("features.field_presence = LEGACY_REQUIRED")
        if type_name == "string" and self.random.random() < 0.4:
            features.append("features.utf8_validation = NONE")
        if type_name.startswith("N") and self.random.random() < 0.5:
            features.append("features.message_encoding = DELIMITED")
        return f"{type_name} {name} = {number}{' [' + ', '.join(features) + ']' if features else ''};"

    def default(self, type_name):
        if type_name not in SCALARS:
            return ""
        value = {"string": '"d\\"é"', "bytes": '"\\377d"', "bool": "true", "float": "1.5", "double": "-inf"}.get(type_name)
        return f" [default = {value or self.random.choice(['7', '0'])}]"

    def type(self, enums, messages):
        roll = self.random.random()
        if roll < 0.55:
            return self.random.choice(SCALARS)
        if roll < 0.68:
            return self.random.choice(enums)
        if roll < 0.85 and messages:
            return self.random.choice(messages)
        return self.random.choice(WELL_KNOWN)

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"


class MessageWriter:
    """Writes random bytes for a message type, mostly sound."""

    def __init__(self, random, trouble):
        self.random = random
        self.trouble = trouble

    def rare(self):
        return self.random.random() < self.trouble

    def varint(self, value, overlong=None):
        value &= 2**64 - 1
        out = bytearray()
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value)
        if overlong if overlong is not None else self.random.random() < 0.02:
            extra = self.random.randint(1, 11 - len(out)) if len(out) < 10 else 0
            if extra:
                out[-1] |= 0x80
                out += b"\x80" * (extra - 1) + b"\x00"
        return bytes(out)

    def tag(self, number, kind):
        return self.varint(number << 3 | kind)

    def delimited(self, data):
        return self.varint(len(data)) + data

    def integer(self):
        choice = self.random.random()
        if choice < 0.25:
            return 0
        if choice < 0.6:
            return self.random.choice([1, 2, 3, 5, 7, 42, 127, 128, 300])
        return self.random.choice([-1, -2, -5, 2**31 - 1, -2**31, 2**32, 2**63 - 1, -2**63, self.random.getrandbits(64)])

    def text(self):
        if self.rare():
            return self.random.choice([b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xe0\x80\xaf", b"x\xf0\x9f\x98"])
        return self.random.choice([b"", b"x", b"plain", "é€".encode(), "😀".encode(), b"a longer text of more than eight bytes", b"\x00"])

    def scalar(self, field):
        kind = field.type
        if kind == F.TYPE_STRING:
            return self.delimited(self.text())
        if kind == F.TYPE_BYTES:
            return self.delimited(self.random.choice([b"", b"\xff\x00", b"bytes"]))
        if kind == F.TYPE_ENUM:
            if self.rare():
                return self.varint(self.integer())
            return self.varint(self.random.choice(field.enum_type.values).number)
        if kind in (F.TYPE_SFIXED32, F.TYPE_FIXED32):
            return (self.integer() & 2**32 - 1).to_bytes(4, "little")
        if kind in (F.TYPE_SFIXED64, F.TYPE_FIXED64):
            return (self.integer() & 2**64 - 1).to_bytes(8, "little")
        if kind == F.TYPE_FLOAT:
            return bytes.fromhex(self.random.choice(["00000000", "00000080", "0000c03f", "0000807f", "0000c07f", "cdcccc3d"]))
        if kind == F.TYPE_DOUBLE:
            return bytes.fromhex(self.random.choice(
                ["0000000000000000", "0000000000000080", "9a9999999999b93f", "000000000000f0ff", "000000000000f87f"]))
        return self.varint(self.integer())

    def time(self):
        parts = []
        if self.random.random() < 0.8:
            parts.append(self.tag(1, VARINT) + self.varint(self.random.choice(
                [0, 1, -1, 1_709_210_096, 9_223_372_036_854, -9_223_372_036_854, 9_223_372_036_855 if self.rare() else 5,
                 2**62 if self.rare() else 6, 18_446_744_073_709_552 if self.rare() else 7])))
        if self.random.random() < 0.6:
            parts.append(self.tag(2, VARINT) + self.varint(self.random.choice([0, 999, 1000, 1999, -1, -1500, 1_999_999_999, 2**31])))
        self.random.shuffle(parts)
        return b"".join(parts)

    def value(self, field, depth):
        """A value of the field with its tag."""
        kind = WIRE_KINDS.get(field.type, VARINT)
        if field.message_type is not None:
            name = field.message_type.full_name
            inner = self.time() if name in ("google.protobuf.Timestamp", "google.protobuf.Duration") else self.message(
                field.message_type, depth + 1)
            if kind == GROUP_START:
                end = field.number + 1 if self.rare() and self.rare() else field.number
                return self.tag(field.number, kind) + inner + self.tag(end, GROUP_END)
            return self.tag(field.number, kind) + self.delimited(inner)
        if field.is_repeated and kind != DELIMITED and self.random.random() < 0.5:
            packed = b"".join(self.scalar(field) for _ in range(self.random.randint(0, 4)))
            return self.tag(field.number, DELIMITED) + self.delimited(packed)
        return self.tag(field.number, kind) + self.scalar(field)

    def unknown(self, number):
        kind = self.random.choice([VARINT, EIGHT_BYTES, DELIMITED, GROUP_START, FOUR_BYTES])
        inner = {
            VARINT: lambda: self.varint(self.integer()), EIGHT_BYTES: lambda: bytes(8), DELIMITED: lambda: self.delimited(b"\xff?"),
            GROUP_START: lambda: (self.tag(1, VARINT) + b"\x01" if self.random.random() < 0.5 else b"") + self.tag(number, GROUP_END),
            FOUR_BYTES: lambda: bytes(4),
        }[kind]()
        return self.tag(number, kind) + inner

    def message(self, kind, depth=0):
        parts = []
        fields = list(kind.fields)
        is_entry = kind.GetOptions().map_entry
        often = 0.9 if self.random.random() < 0.7 else 0.4
        for field in fields:
            if self.random.random() < often or field.is_required and not self.rare():
                parts.append(self.value(field, depth))
            while self.random.random() < (0.35 if field.is_repeated else 0.12):
                parts.append(self.value(field, depth))
        if self.random.random() < 0.4 and not is_entry:
            self.random.shuffle(parts)
        if self.random.random() < 0.1:
            numbers = {field.number for field in fields}
            number = self.random.choice([number for number in (9, 33, 5000, 2**29 - 1) if number not in numbers])
            parts.insert(self.random.randint(0, len(parts)), self.unknown(number))
        if fields and self.rare():
            # A field of the type's on another wire kind, or well.
            parts.insert(self.random.randint(0, len(parts)), self.unknown(self.random.choice(fields).number))
        return b"".join(parts)


def damaged(random, data):
    roll = random.random()
    if roll < 0.3 and data:
        return data[: random.randint(0, len(data) - 1)]
    if roll < 0.6 and data:
        data = bytearray(data)
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        return bytes(data)
    if roll < 0.7:
        at = random.randint(0, len(data))
        return data[:at] + bytes([random.getrandbits(8)]) + data[at:]
    if roll < 0.8:
        return data + random.choice([b"\x00", b"\x0c", b"\x07", b"\x80", b"\xff" * 11])
    if roll < 0.9:
        return data + data
    return bytes(random.getrandbits(8) for _ in range(random.randint(1, 12)))


def compiled(text, folder):
    """The text and its imports as a FileDescriptorSet's bytes, or none if protoc refuses it."""
    (folder / "t.proto").write_text(text)
    include = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    arguments = ["protoc", f"-I{folder}", f"-I{include}", "--include_imports", f"--descriptor_set_out={folder}/t.bin", "t.proto"]
    if protoc.main(arguments) != 0:
        return None
    return (folder / "t.bin").read_bytes()


def find_message(files, name):
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(files).file:
        pool.Add(file)
    return pool.FindMessageTypeByName(name)


def questions(folder):
    rng = random.Random(SEED)
    made = 0
    while made < SCHEMAS:
        text = SchemaWriter(rng).text()
        files = compiled(text, folder)
        if files is None:
            continue
        made += 1
        kind = find_message(files, "t.M")
        messages = []
        while len(messages) < MESSAGES_PER_SCHEMA:
            data = MessageWriter(rng, rng.choice([0, 0, 0.03, 0.15])).message(kind)
            if rng.random() < 0.15:
                data += MessageWriter(rng, 0).message(kind)
            if rng.random() < 0.25:
                data = damaged(rng, data)
            if len(data) <= MESSAGE_BYTES_MAX:
                messages.append(data)
        yield text, files, messages


def main():
    jar = sys.argv[1]
    here = pathlib.Path(__file__).parent
    encode = lambda data: base64.b64encode(data).decode()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        asked = list(questions(folder))
        lines = []
        for _, files, messages in asked:
            lines.append(f"schema {encode(files)} t.M")
            lines += [f"message {encode(message)}" for message in messages]
        subprocess.run(["javac", "-cp", jar, "-d", folder, here / "AskProtobuf.java"], check=True)
        java = ["java", "-cp", f"{jar}:{folder}", "AskProtobuf"]
        answers = subprocess.run(java, input="\n".join(lines).encode(), stdout=subprocess.PIPE, check=True).stdout.decode()
    answers = iter(answers.splitlines())
    for text, _, messages in asked:
        print(json.dumps({"proto": text, "message": "t.M"}, ensure_ascii=False))
        for message in messages:
            print(f'["{encode(message)}",{next(answers)}]')


main()
