#!/usr/bin/env python3
"""Schemas and messages at random, sound and damaged, with the model's answers: one JSON object a line.

    python3 generate.py SEED COUNT [MIN_CHARACTERS]

With MIN_CHARACTERS every message is at least that long and damaged, and there is no answer: those are questions for Spark itself
(the model does not know where Jackson's buffer ends). The form is that of the recorded cases.
"""
import base64
import json
import random
import sys

import json_model

SCALARS = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(6,2)", "decimal(38,10)", "decimal(20,0)",
           "string", "string", "binary", "date", "timestamp", "timestamp_ntz"]
NAMES = ["a", "b", "c", "d", "id", "name", "value", "ts", "tags", "x1", "`a b`", "`k-1`", "`\u00e9`", "Aa", "aB", "userName", "type"]
WORDS = ["", "a", "xy", "hello world", "\u00e9t\u00e9", "\u65e5\u672c", "\U0001F600", "null", "true", "1", "1.5", "NaN", "-INF", "q\"q", "b\\b", "l\nl",
         "\u2028", "\x7f", "/", "AQID", "AQ==", "YWJj", "====", "{}", "[1]", "'"]
DATES = ["2024-02-29", "2023-02-29", "1969-12-31", "0001-01-01", "+12345-1-1", "2024-1-2", "2024", "20240229", "-0004-03-01", "2024-02-29T", "1582-10-10"]
TIMES = ["", "", "T12:34:56", " 12:34:56.789", "T00:00:00.123456789Z", "T23:59:59+01:30", "T24:00:00", "T1:2:3 Europe/Paris", "T12:34",
         "T12:34:56-08", "T12:34:56 PST", "T12:34:56z", " 1:2:3 UTC+1", "T12:34:56GMT", "T12:34:56.", "T12:34:56 America/New_York"]
NUMBERS = ["0", "-0", "1", "-1", "127", "128", "200", "255", "256", "-128", "-129", "32767", "32768", "65535", "65536", "2147483647", "2147483648", "-2147483648",
           "9223372036854775807", "9223372036854775808", "123456789012345678901234567890", "1.5", "-0.0", "1.10", "0.005", "1e2", "1E-7", "1e400",
           "-1e400", "3.4028236e38", "12345.678", "1.2345678901234567", "99999.995", "1e-400", "NaN", "Infinity", "-INF", "+INF", "1709210096"]
DAMAGE = list("{}[]\",:'\\ \n\t0-e.+tfnNI\x01u\ufeff/") + ["tru", "nul", "\\u", "\\ud83d", "\\x", "NaN", "//", "\"\"", "\\\"", "{\"a\":", "}}", "]]", "\u00e9", "\U0001F600"]


class Generator:
    def __init__(self, rng, long):
        self.rng = rng
        self.long = long

    def type(self, depth):
        rng = self.rng
        if depth >= 3 or rng.random() < 0.55:
            return rng.choice(SCALARS)
        kind = rng.random()
        if kind < 0.4:
            return f"array<{self.type(depth + 1)}>"
        if kind < 0.6:
            return f"map<string,{self.type(depth + 1)}>"
        return "struct<" + ",".join(f"{name}:{self.type(depth + 1)}" for name in self.names()) + ">"

    def names(self):
        return self.rng.sample(NAMES, self.rng.choice([1, 1, 2, 2, 3, 4, 6]))

    def schema(self):
        kind = self.rng.random()
        if kind < 0.05 and not self.long:
            return f"array<{self.type(1)}>"
        if kind < 0.08 and not self.long:
            return f"map<string,{self.type(1)}>"
        return ", ".join(f"{name} {self.type(1)}" for name in self.names())

    def space(self):
        return self.rng.choice(["", "", "", "", "", "", " ", "\n", "  \t", "\r\n"])

    def quoted(self, text):
        rng = self.rng
        quote = "'" if rng.random() < 0.04 else '"'
        out = []
        for char in text:
            if rng.random() < 0.03:
                out.append("".join(f"\\u{unit:04x}" for unit in utf16(char)))
            elif char in (quote, "\\"):
                out.append("\\" + char)
            elif ord(char) < 0x20:
                out.append({"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char) or f"\\u{ord(char):04X}")
            elif char == "/" and rng.random() < 0.3:
                out.append("\\/")
            else:
                out.append(char)
        return quote + "".join(out) + quote

    def text(self):
        rng = self.rng
        if self.long and rng.random() < 0.5:
            return "".join(rng.choice(WORDS) for _ in range(rng.randint(1, 200)))
        return rng.choice(WORDS) if rng.random() < 0.7 else "".join(rng.choice(WORDS) for _ in range(rng.randint(1, 5)))

    def any(self, depth=0):
        kind = self.rng.random()
        if kind < 0.3 or depth > 2:
            return self.quoted(self.text())
        if kind < 0.6:
            return self.rng.choice(NUMBERS)
        if kind < 0.75:
            return self.rng.choice(["true", "false", "null"])
        if kind < 0.88:
            return self.joined("[", [self.any(depth + 1) for _ in range(self.rng.randint(0, 3))], "]")
        return self.joined("{", [self.pair(self.rng.choice(NAMES).strip("`"), self.any(depth + 1)) for _ in range(self.rng.randint(0, 3))], "}")

    def joined(self, before, parts, after):
        return before + self.space() + ",".join(self.space() + part + self.space() for part in parts) + after

    def pair(self, name, value):
        return self.quoted(name) + self.space() + ":" + self.space() + value

    def value(self, kind):
        rng = self.rng
        if rng.random() < 0.06:
            return self.any()
        if rng.random() < 0.05:
            return "null"
        if isinstance(kind, tuple):
            many = (lambda: rng.choice([0, 1, 2, 3, 30, 100])) if self.long else (lambda: rng.choice([0, 1, 1, 2, 3]))
            if kind[0] == "array":
                return self.joined("[", [self.value(kind[1]) for _ in range(many())], "]")
            if kind[0] == "map":
                return self.joined("{", [self.pair(self.text(), self.value(kind[1])) for _ in range(many())], "}")
            if kind[0] == "struct":
                return self.struct(kind)
            return rng.choice(NUMBERS) if rng.random() < 0.8 else self.quoted(rng.choice([*NUMBERS, "1,234.5", " 1", "1.", ".5", "+1"]))
        if kind == "boolean":
            return rng.choice(["true", "false"])
        if kind in ("date", "timestamp", "timestamp_ntz"):
            if rng.random() < 0.1:
                return rng.choice(NUMBERS)
            time = "" if kind == "date" and rng.random() < 0.7 else rng.choice(TIMES)
            return self.quoted(rng.choice(["", "", "", " "]) + rng.choice(DATES) + time)
        if kind == "binary":
            return self.quoted(base64.b64encode(rng.randbytes(rng.randint(0, 200 if self.long else 7))).decode())
        if kind == "string":
            return self.quoted(self.text()) if rng.random() < 0.85 else self.any()
        return rng.choice(NUMBERS)

    def struct(self, kind):
        rng = self.rng
        fields = [(name, self.value(field)) for name, field in kind[1] if rng.random() < 0.92]
        if rng.random() < 0.3:
            rng.shuffle(fields)
        if rng.random() < 0.2:
            fields.insert(rng.randint(0, len(fields)), (rng.choice(NAMES).strip("`"), self.any()))
        if fields and rng.random() < 0.08:
            name, _ = rng.choice(fields)
            again = next((field for known, field in kind[1] if known == name), "string")
            fields.insert(rng.randint(0, len(fields)), (name, self.value(again)))
        return self.joined("{", [self.pair(name, value) for name, value in fields], "}")

    def damaged(self, text):
        rng = self.rng
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            at = self.place(text)
            kind = rng.random()
            if kind < 0.35:
                text = text[:at] + rng.choice(DAMAGE) + text[at:]
            elif kind < 0.6:
                text = text[:at] + text[at + rng.choice([1, 1, 1, 2, 5]):]
            elif kind < 0.85:
                text = text[:at] + rng.choice(DAMAGE) + text[at + 1:]
            elif kind < 0.93:
                text = text[:at]
            else:
                other = rng.randint(0, len(text))
                text = text[:min(at, other)] + text[max(at, other):]
        return text

    def place(self, text):
        """Where to damage; a long message near the edges of a buffer of 4,000 characters as often as elsewhere."""
        rng = self.rng
        edges = [edge for edge in range(4000, len(text) + 20, 4000)]
        if self.long and edges and rng.random() < 0.7:
            return min(len(text), max(0, rng.choice(edges) + rng.randint(-12, 12)))
        return rng.randint(0, len(text))


def utf16(char):
    raw = char.encode("utf-16-be")
    return [int.from_bytes(raw[i:i + 2], "big") for i in range(0, len(raw), 2)]


def message(generator, kind, shortest):
    rng = generator.rng
    text = generator.value(kind) if kind[0] != "struct" or rng.random() < 0.03 else generator.struct(kind)
    tries = 0
    while len(text) < shortest:
        # Longer in a way that fits any struct: a field that nobody knows, or the same message again inside an array.
        filler = generator.pair(rng.choice(["filler", *(name for name, _ in kind[1])]), generator.quoted("".join(rng.choice(WORDS) for _ in range(300))))
        text = "{" + filler + "," + text.strip()[1:] if text.strip()[:1] == "{" and len(text) > 2 else "{" + filler + "}"
        tries += 1
        if tries > 50:
            break
    if shortest or rng.random() < 0.55:
        text = generator.damaged(text)
    data = text.encode("utf-8", "surrogatepass")
    if not shortest and rng.random() < 0.03 and data:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.choice([0x80, 0xC3, 0xE2, 0xED, 0xFF, rng.randrange(256)])]) + data[at + 1:]
    return data


def main():
    sys.setrecursionlimit(20000)
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    shortest = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    rng = random.Random(seed)
    generator = Generator(rng, shortest > 0)
    made = 0
    while made < count:
        ddl = generator.schema()
        kind = json_model.ddl(ddl)
        for _ in range(8):
            data = message(generator, kind, shortest)
            case = {"id": f"{seed}-{made}", "ddl_schema": ddl, "input": base64.b64encode(data).decode(), "input_encoding": "base64", "options": {}}
            if not shortest:
                try:
                    case["expected"] = json_model.from_json(data, kind, {})
                except ArithmeticError:  # beyond Python's calendar, which the model needs for zones by region, or its decimals
                    continue
            print(json.dumps(case, ensure_ascii=False, separators=(",", ":")))
            made += 1


if __name__ == "__main__":
    main()
