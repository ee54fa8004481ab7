"""Writes the corpora that the fuzz targets begin with, from the tests' own data: fuzz/corpus/<target>/."""

import base64
import hashlib
import json
import pathlib
import subprocess
import tempfile

FUZZ = pathlib.Path(__file__).resolve().parent
DECODE = FUZZ.parent / "tests" / "data"
SPEC = FUZZ.parent.parent / "spec" / "tests" / "data"


def cases(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def put(target, seed):
    if seed is None:
        return
    folder = FUZZ / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)


for case in cases(DECODE / "from_json.jsonl") + cases(DECODE / "from_json_fuzz.jsonl"):
    text = case["input"]
    if text is not None:
        put("decode_json", base64.b64decode(text) if case["input_encoding"] == "base64" else text.encode("utf-8", "surrogatepass"))
# A case without a message is one of a null.
decoded = lambda text: None if text is None else base64.b64decode(text)

for case in cases(DECODE / "from_avro.jsonl"):
    put("decode_avro", decoded(case["input_base64"]))
    put("schema_avro", case["schema"].encode())
for case in cases(DECODE / "from_protobuf.jsonl"):
    put("decode_protobuf", decoded(case["input_base64"]))
    put("schema_protobuf", case["proto"].encode())
# Payloads behind their lengths, as the target takes them.
for frames in ([b"\0\0\0\0\7x", b"\0\0\0\0\7y"], [b"\0\0\0\0\7\0x", b"\0\0\0\0\7\2\0x", b"\0\0\0\0\7\4\2\0"], [b"\1" + bytes(16), b"\0"]):
    put("framing", b"".join(bytes([len(frame)]) + frame for frame in frames))
for case in cases(SPEC / "schema_updates.jsonl"):
    for text in (case["old"], case["new"]):
        if case["format"] == "json":
            put("schema_json", json.dumps(text).encode())
for case in cases(SPEC / "filter_types.jsonl"):
    put("filter", case["expr"].encode())
for statement in (
    "CREATE CONNECTION IF NOT EXISTS `p` TYPE KAFKA OPTIONS (user 'u', password secret('s', 'k')) COMMENT 'c'",
    "ALTER CONNECTION p OPTIONS (`password` = \"p\") UNSET OPTIONS (ca_pem)",
    "DROP CONNECTION IF EXISTS p; -- gone",
    "COMMENT ON CONNECTION p IS NULL",
    "DESCRIBE CONNECTION p",
    "SHOW CONNECTIONS",
):
    put("connection_sql", statement.encode())
for case in cases(SPEC / "java_regex.jsonl"):
    # The target takes two texts; libFuzzer's `arbitrary` splits one, which any text survives.
    if "pattern" in case:
        put("java_regex", case["pattern"].encode("utf-8", "surrogatepass"))
# Key stores as Java writes them, under the target's password.
with tempfile.TemporaryDirectory() as folder:
    for kind, more in (("JKS", []), ("PKCS12", []), ("PKCS12", ["-J-Dkeystore.pkcs12.legacy"]), ("PKCS12", ["-J-Dkeystore.pkcs12.macAlgorithm=NONE"])):
        store = pathlib.Path(folder) / f"{kind}{len(more)}{''.join(more)[-4:]}"
        words = ["-storetype", kind, "-storepass", "7c4f9e0b2d", "-keystore", str(store), "-alias", "client", "-dname", "CN=client"]
        subprocess.run(["keytool", *more, "-genkeypair", "-keyalg", "EC", *words], check=True, capture_output=True)
        put("keystore", store.read_bytes())
