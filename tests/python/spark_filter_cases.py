"""Records and predicates for `spark_filter.py`."""

import json

VALUE_TYPE = {
    "event_type": "STRING",
    "ok": "BOOLEAN",
    "i8": "TINYINT",
    "i16": "SMALLINT",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "m": "DECIMAL(10,2)",
    "big": "DECIMAL(38,10)",
    "s": "STRING",
    "t": "STRING",
    "pat": "STRING",
    "bin": "BINARY",
    "day": "DATE",
    "at": "TIMESTAMP",
    "ntz": "TIMESTAMP_NTZ",
    "when_text": "STRING",
    "nested": {"id": "INT", "name": "STRING", "deep": {"x": "DOUBLE", "y": "STRING"}},
    "tags": ["STRING"],
    "nums": ["INT"],
    "dbls": ["DOUBLE"],
    "grid": [["INT"]],
    "items": [{"sku": "STRING", "qty": "INT", "price": "DECIMAL(8,2)"}],
    "attrs": ("map", "STRING", "STRING"),
    "counts": ("map", "STRING", "INT"),
    "body": "STRING",
    "odd name": "STRING",
}


def value(**fields):
    renamed = {("odd name" if name == "odd_name" else name): field for name, field in fields.items()}
    return json.dumps(renamed, ensure_ascii=False)


VALUES = [
    value(
        event_type="transaction", ok=True, i8=1, i16=100, i=42, l=9000000000, f=1.5, d=2.5, m=12.34, big=1234567890.123,
        s="alpha", t="42", pat="al%", bin="AQID", day="2024-01-31", at="2024-01-31T10:20:30.456789Z",
        ntz="2024-01-31T10:20:30.456789", when_text="2024-01-31", nested={"id": 7, "name": "Ann", "deep": {"x": 0.5, "y": "z"}},
        tags=["a", "b", "c"], nums=[1, 2, 3], dbls=[1.0, 2.0], grid=[[1, 2], [3]],
        items=[{"sku": "A1", "qty": 2, "price": 9.99}, {"sku": "B2", "qty": 1, "price": 100}],
        attrs={"color": "red", "size": "L"}, counts={"x": 1, "y": 2}, odd_name="odd",
        body='{"a": {"b": [10, 20, {"c": "deep"}]}, "n": 1.50, "s": "text", "t": true, "z": null}',
    ),
    value(
        event_type="view", ok=False, i8=-128, i16=-32768, i=-2147483648, l=-9223372036854775808, f=-0.0, d=-0.0, m=-12.35,
        big=-0.0000000001, s="Beta", t=" 7 ", pat="_eta", bin="", day="1969-12-31", at="1969-12-31T23:59:59.5Z",
        ntz="1969-12-31T23:59:59.5", when_text="1969-12-31 23:59:59", nested={"id": -7, "name": "", "deep": {"x": -0.0, "y": None}},
        tags=[], nums=[], dbls=[-0.0], grid=[[]], items=[], attrs={}, counts={}, odd_name="",
        body='{"a": {"b": []}, "n": -0, "s": "", "t": false}',
    ),
    value(
        event_type="Transaction", ok=True, i8=127, i16=32767, i=2147483647, l=9223372036854775807, f=3.4e38, d=1.7e308,
        m=99999999.99, big=9999999999999999999999999999.9999999999, s="gamma%", t="1e3", pat="gamma\\%", bin="/////w==",
        day="9999-12-31", at="9999-12-31T23:59:59.999999Z", ntz="9999-12-31T23:59:59.999999", when_text="9999-12-31T23:59:59Z",
        nested={"id": 2147483647, "name": "Zoë", "deep": {"x": 1e300, "y": "zz"}}, tags=["a", None], nums=[2147483647, None],
        dbls=["NaN"], grid=[None, [2147483647]], items=[{"sku": None, "qty": None, "price": None}, None], attrs={"color": None},
        counts={"x": 2147483647}, odd_name="ODD", body='[1, [2, 3], {"a": "x"}, {"a": "y"}]',
    ),
    value(
        event_type="refund", ok=None, i8=0, i16=0, i=0, l=0, f="NaN", d="NaN", m=0, big=0, s="", t="", pat="", bin="AA==",
        day="1970-01-01", at="1970-01-01T00:00:00Z", ntz="1970-01-01T00:00:00", when_text="",
        nested={"id": 0, "name": "NaN", "deep": None}, tags=[""], nums=[0], dbls=["NaN", 1.0, "Infinity"], grid=[],
        items=[{"sku": "", "qty": 0, "price": 0}], attrs={"": ""}, counts={"": 0}, body="", odd_name=" ",
    ),
    value(
        event_type="transfer", ok=True, i8=5, i16=5, i=5, l=5, f="Infinity", d="-Infinity", m=5, big=5, s="a_b", t="true",
        pat="a\\_b", bin="YWJj", day="2024-02-29", at="2024-02-29T23:59:59.999Z", ntz="2024-02-29T23:59:59.999",
        when_text="2024-02-29T23:59:59.999+01:00", nested={"id": 5, "name": "five", "deep": {"x": 5.0, "y": "5"}},
        tags=["five"], nums=[5, 5, 5], dbls=[5.5], grid=[[5]], items=[{"sku": "five", "qty": 5, "price": 5.55}],
        attrs={"five": "5"}, counts={"five": 5}, odd_name="x.y", body='{"a": "😀é", "b": ["😀"], "c": {"d": 1e3}}',
    ),
    value(
        event_type=" transaction ", ok=False, i8=-1, i16=-1, i=-1, l=-1, f=0.1, d=0.1, m=-0.01, big=-1, s="  padded  ", t="0x10",
        pat="%pad%", bin="/w==", day="2023-12-31", at="2023-12-31T12:00:00Z", ntz="2023-12-31T12:00:00", when_text=" 2023-12-31 ",
        nested={"id": -1, "name": "minus", "deep": {"x": -1.5, "y": "-1"}}, tags=["minus", "one"], nums=[-1, -2], dbls=[-1.5, 0.1],
        grid=[[-1], [-2]], items=[{"sku": "m", "qty": -1, "price": -0.01}], attrs={"a": "b", "c": "d"}, counts={"m": -1}, odd_name="-",
        body="{'single': 'quoted', \"x\": 'y'}",
    ),
    value(
        event_type="TRANSACTION", ok=True, i8=10, i16=1000, i=100000, l=10000000000, f=16777216, d=9007199254740993, m=0.05,
        big=0.3333333333, s="ÀÉß", t="3.14", pat="À%", bin="w4nDiQ==", day="2000-02-29", at="2000-02-29T00:00:00.000001Z",
        ntz="2000-02-29T00:00:00.000001", when_text="2000-02", nested={"id": 10, "name": "ÀÉß", "deep": {"x": 10.25, "y": "é"}},
        tags=["É", "é"], nums=[10, 20, 30, 40], dbls=[0.1, 0.2, 0.3], grid=[[10, 20], None, [30]],
        items=[{"sku": "x", "qty": 10, "price": 0.05}, {"sku": "y", "qty": 20, "price": 0.15}], attrs={"É": "é"}, counts={"z": 10},
        odd_name="É", body='{"a": 1} trailing',
    ),
    value(
        event_type="longer text for a like", ok=False, i8=3, i16=3, i=3, l=3, f=2.345, d=2.345, m=2.345, big=2.3450000005, s="ABC",
        t="NaN", pat="%b%", bin="QUJD", day="2024-12-31", at="2024-12-31T23:59:59Z", ntz="2024-12-31T23:59:59",
        when_text="31/12/2024", nested={"id": 3, "name": "abc", "deep": {"x": 3.0, "y": "ABC"}}, tags=["abc", "ABC"], nums=[3],
        dbls=[3.0], grid=[[3, 3]], items=[{"sku": "abc", "qty": 3, "price": 3}], attrs={"abc": "ABC"}, counts={"abc": 3}, odd_name="abc",
        body='{"a": 1, broken',
    ),
    value(
        event_type="multi\nline", ok=True, i8=7, i16=7, i=7, l=7, f=7.5, d=7.5, m=7.5, big=7.5, s="multi\nline", t="inf", pat="multi%",
        bin="Cg==", day="1582-10-15", at="1582-10-15T00:00:00Z", ntz="1582-10-15T00:00:00", when_text="1582-10-15",
        nested={"id": 7, "name": "x\ty", "deep": {"x": 7.5, "y": "\n"}}, tags=["x\ny"], nums=[7, 8, 9], dbls=[7.5], grid=[[7, 8, 9]],
        items=[{"sku": "n", "qty": 7, "price": 7.5}], attrs={"n": "\n"}, counts={"n": 7}, odd_name="n",
        body='{"a": {"b": [1, 2]}, "a": {"b": [3]}}',
    ),
    value(
        event_type="dates", ok=None, i8=29, i16=365, i=366, l=86400, f=0.5, d=1.5, m=1.5, big=1.5, s="2024-03-10", t="2024-03-10 01:02:03",
        pat="2024-__-__", bin="MjAyNA==", day="2024-03-10", at="2024-03-10T01:02:03Z", ntz="2024-03-10T01:02:03",
        when_text="2024-03-10 01:02:03.5", nested={"id": 29, "name": "2024", "deep": {"x": 1.5, "y": "2024-03-10"}},
        tags=["2024-03-10"], nums=[2024, 3, 10], dbls=[1.5, 2.5], grid=[[2024], [3], [10]],
        items=[{"sku": "d", "qty": 29, "price": 1.5}], attrs={"day": "2024-03-10"}, counts={"d": 29}, odd_name="d",
        body='{"when": "2024-03-10", "list": [{"x": 1}, {"x": 2}, {"y": 3}]}',
    ),
    value(
        event_type="numbers", ok=True, i8=-3, i16=-3, i=-3, l=-3, f=-2.5, d=-2.5, m=-2.5, big=-2.5, s="-3", t="-3", pat="-_", bin="LTM=",
        day="0001-01-01", at="0001-01-01T00:00:00Z", ntz="0001-01-01T00:00:00", when_text="0001-01-01",
        nested={"id": -3, "name": "-3", "deep": {"x": -2.5, "y": "-2.5"}}, tags=["-3"], nums=[-3, 0, 3], dbls=[-2.5, 2.5],
        grid=[[-3]], items=[{"sku": "-", "qty": -3, "price": -2.5}], attrs={"-": "3"}, counts={"-": -3}, odd_name="-3",
        body='{"a": -3, "b": 12345678901234567890123, "c": 0.1, "d": [1.0, 2e-7]}',
    ),
    value(
        event_type="yes", ok=False, i8=64, i16=255, i=65536, l=4294967296, f=1e10, d=1e10, m=1000.1, big=100000000000000000000, s="yes",
        t="yes", pat="y__", bin="eWVz", day="2024-07-15", at="2024-07-15T13:14:15.161718Z", ntz="2024-07-15T13:14:15.161718",
        when_text="2024-07-15T13:14", nested={"id": 64, "name": "yes", "deep": {"x": 1e10, "y": "yes"}}, tags=["yes", "no", "yes"],
        nums=[64, 128, 256], dbls=[1e10, 1e-10], grid=[[64, 128], [256]], items=[{"sku": "y", "qty": 64, "price": 1000.1}],
        attrs={"yes": "no", "no": "yes"}, counts={"y": 64, "n": 128}, odd_name="yes", body='"just a text"',
    ),
    # Missing fields.
    value(event_type="transaction"),
    value(i=1),
    "{}",
    # What fits no struct, and a tombstone.
    "not json",
    None,
    value(event_type=None, s=None, i=None, tags=[None], items=[None], attrs={"k": None}, nested={"id": None}),
    value(
        event_type="percent%", s="100%", t="1,5", pat="100\\", i=17, l=17, d=17.17, m=17.17, tags=["%", "_"], nums=[17], ok=True,
        day="2024-05-31", at="2024-05-31T00:00:00Z", when_text="20240531", body='{"x y": 1, "x.y": 2, "": 3}',
    ),
    value(
        event_type="escape\\d", s="back\\slash", t="\\", pat="back\\\\slash", i=18, l=18, d=1e-5, m=0.01, tags=["\\"], ok=False,
        day="2024-06-30", at="2024-06-30T12:30:45Z", when_text="2024-06-30 12:30:45", body='{"a":{"b":[{"c":[1,2]},{"c":[3]}]}}',
    ),
    value(
        event_type="quote's", s="it's", t='"', pat="it_s", i=19, l=19, d=123456789.125, m=123.45, tags=["'"], ok=True,
        day="2024-11-03", at="2024-11-03T05:59:59Z", when_text="2024-11-03T05:59:59+00:00", body='{"a":[[1,2],[3,4]],"b":"\\u00e9\\n\\t\\"q\\""}',
    ),
    value(
        event_type="😀 emoji", s="😀é", t="😀", pat="_é", i=20, l=20, d=4.9e-324, m=-99999999.99, tags=["😀"], ok=True,
        day="2024-04-30", at="2024-04-30T00:00:00.5Z", when_text="04/30/2024 12:15 AM", body='{"a":{"b":{"c":{"d":"e"}}}}',
    ),
]

METADATA = ("orders", "orders.eu", "payments")

RECORDS = [
    {
        "key": None if index % 7 == 3 else f"key-{index}",
        "value": text,
        "kafka_topic": METADATA[index % 3],
        "kafka_partition": index % 4,
        "kafka_offset": 1000 + index,
        # 2024-01-01T00:00:00Z and an hour more a record; one that has none.
        "stream_record_timestamp": None if index == 5 else 1_704_067_200_000_000 + index * 3_600_000_000,
    }
    for index, text in enumerate(VALUES)
]

GROUPS = {
    "comparison": r"""
value.event_type = 'transaction'
value.event_type == 'transaction'
value.event_type != 'transaction'
value.event_type <> 'view'
value.event_type <=> 'transaction'
value.event_type <=> NULL
value.event_type = NULL
NOT value.event_type <=> 'view'
value.event_type < 'transfer'
value.event_type <= 'transfer'
value.event_type > 'transfer'
value.event_type >= 'transfer'
value.s > 'ABC'
value.s = ''
value.s < '😀'
value.i = 42
value.i > 5
value.i >= 5 AND value.i <= 42
value.i < -1
value.i <> 0
value.i8 = 127
value.i8 > value.i16
value.i8 = value.i
value.i16 < value.l
value.l = 9000000000
value.l > 2147483647
value.l < -9223372036854775807
value.i = 42.0
value.i > 41.5
value.i < 5D
value.i = '42'
value.l = '5'
value.i > '4'
'5' = value.i
value.d = 'NaN'
value.d > '2.4'
value.m = '12.34'
value.m > '12'
value.s = 5
value.t = 42
value.t > 5
value.t = 1.5
value.t = 3.14D
value.d = 2.5
value.d = 2.5D
value.d > 0
value.d >= double('NaN')
value.d = double('NaN')
value.d < double('NaN')
value.d = 0.0D
value.d = -0.0D
value.d < 0
value.f = 1.5
value.f = float('0.1')
value.f = 0.1D
value.f > 1
value.f = value.d
value.f < value.d
value.f >= float('NaN')
value.d <=> double('NaN')
value.d <=> 0D
value.m = 12.34
value.m > 12.339
value.m < 12.34000000001
value.m = 5
value.m >= 1.5D
value.m < value.i
value.m < value.big
value.big > value.m
value.big = 0.3333333333
value.big > 1e19
value.big > 1e20D
value.big = 5
value.ok = true
value.ok
NOT value.ok
value.ok = false
value.ok <> true
value.ok > false
value.ok = 'true'
value.ok = 'yes'
value.t = true
value.day = '2024-01-31'
value.day = DATE '2024-01-31'
value.day > DATE'2024-01-01'
value.day < '2024-03'
value.day >= '2024'
value.day = value.at
value.day <= value.ntz
value.day = value.s
value.at = '2024-01-31T10:20:30.456789Z'
value.at > '2024-01-01'
value.at >= TIMESTAMP '2024-01-31 10:20:30.456789'
value.at > TIMESTAMP'2024-01-31T11:20:30.456789+01:00'
value.at < DATE'2024-01-01'
value.at = value.ntz
value.ntz >= TIMESTAMP_NTZ'2024-01-31 10:20:30'
value.ntz > '2024-01-31 10:20:30'
value.at > value.when_text
value.bin = X'010203'
value.bin > X'00'
value.bin = 'abc'
value.bin < X'FF'
value.s = value.pat
value.s > value.t
value.nested.name = value.s
value.tags = array('a', 'b', 'c')
value.nums < array(2)
value.nums = value.nums
value.dbls = value.dbls
value.nested.deep <=> value.nested.deep
value.tags > value.tags
value.grid = value.grid
value.i BETWEEN 3 AND 42
value.i NOT BETWEEN 3 AND 42
value.s BETWEEN 'A' AND 'b'
value.day BETWEEN '2024-01-01' AND '2024-02-29'
value.d BETWEEN -1 AND 3
value.i BETWEEN value.i8 AND value.l
value.i BETWEEN 5 AND 1
value.i IS DISTINCT FROM 42
value.i IS NOT DISTINCT FROM 42
value.s IS NOT DISTINCT FROM NULL
value.i = value.ok
value.day = 5
value.tags = 'a'
value.attrs = value.attrs
value.nested = 5
1 = 1
NULL
true
false
NULL = NULL
NULL <=> NULL
""",
    "logic": r"""
value.ok AND value.i > 0
value.ok OR value.i > 0
value.ok AND NULL
value.ok OR NULL
NULL AND false
NULL OR true
NOT (value.ok AND value.i > 0)
NOT (value.ok OR value.i > 0)
value.ok AND value.i > 0 AND value.d > 1
value.ok OR value.i > 0 OR value.d > 1
NOT NOT value.ok
! value.ok
NOT NULL
value.ok IS TRUE
value.ok IS FALSE
value.ok IS NOT TRUE
value.ok IS NOT FALSE
value.ok IS UNKNOWN
value.ok IS NOT UNKNOWN
value.ok IS NULL
value.ok IS NOT NULL
(value.i > 5) IS TRUE
(value.i > 5) IS NOT TRUE
value IS NULL
value IS NOT NULL
key IS NULL
value.nested IS NULL
value.nested.deep IS NULL
value.nested.deep.x IS NOT NULL
value.tags IS NULL
value.tags[0] IS NULL
NULL IS NULL
value.event_type = 'transaction' OR value.event_type = 'view' AND value.ok
(value.event_type = 'transaction' OR value.event_type = 'view') AND value.ok
value.i = 42 AND 1 / value.i8 > 0
value.i <> 0 AND 100 / value.i > 1
value.i = 0 OR 100 / value.i > 1
false AND 1 / 0 > 1
true OR 1 / 0 > 1
value.ok = (value.i > 0)
(value.ok IS NULL) = (value.i IS NULL)
""",
    "membership": r"""
value.event_type IN ('transaction', 'view')
value.event_type NOT IN ('transaction', 'view')
value.event_type IN ('transaction', NULL)
value.event_type NOT IN ('transaction', NULL)
value.event_type IN ('transaction', 'view', 'refund', 'transfer', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'yes')
value.event_type NOT IN ('transaction', 'view', 'refund', 'transfer', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', NULL)
value.i IN (42)
value.i IN (1, 2, 3, 5)
value.i IN (1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 42)
value.i IN (1, 2.5, 3)
value.i IN ('1', '42')
value.t IN (42, 7)
value.l IN (5, 9000000000)
value.d IN (2.5, 0, double('NaN'))
value.d IN (2.5D, 1.5D)
value.m IN (12.34, 5)
value.m IN (12.34, 12.345)
value.day IN ('2024-01-31', DATE'2024-02-29')
value.day IN ('2024-01-31', '1970-01-01', 'nonsense')
value.at IN (TIMESTAMP'1970-01-01 00:00:00', DATE'2024-01-31')
value.ok IN (true, NULL)
value.i IN (value.i8, value.l)
value.s IN (value.t, value.pat, 'alpha')
value.i IN (1 / 0, 42)
value.bin IN (X'', X'010203')
value.tags IN (array('a', 'b', 'c'), array('five'))
NULL IN (1, 2)
value.l IN (5, 7, 18, 19, 20, 86400, -1, -3, 9000000000, 9223372036854775807, 1, 2, 3)
value.event_type NOT IN ('transaction', 'view', 'refund', 'transfer', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
value.i IN (NULL)
lower(value.event_type) IN ('transaction', 'view')
""",
    "like": r"""
value.event_type LIKE 'trans%'
value.event_type LIKE '%action'
value.event_type LIKE '%ans%'
value.event_type LIKE 'transaction'
value.event_type LIKE ''
value.event_type LIKE '%'
value.event_type LIKE '_______'
value.event_type LIKE 't%n'
value.event_type LIKE 't_a%t_o_'
value.event_type LIKE '%a%a%'
value.event_type LIKE '%\\%'
value.event_type LIKE 'escape\\\\d'
value.event_type LIKE '%\\\\%'
value.event_type LIKE 'multi%line'
value.event_type LIKE 'multi_line'
value.event_type LIKE '_ emoji'
value.event_type NOT LIKE 'trans%'
value.event_type LIKE NULL
value.event_type LIKE '%%'
value.s LIKE '%é'
value.s LIKE '😀_'
value.event_type LIKE '%_\\%'
value.event_type ILIKE '%\\%'
value.pat LIKE value.s
value.event_type ILIKE 'TRANS%'
value.event_type ILIKE '%ACTION'
value.event_type NOT ILIKE 'TRANS%'
value.s ILIKE 'àé%'
value.s LIKE value.pat
value.s NOT LIKE value.pat
value.s ILIKE value.pat
value.s LIKE '100!%' ESCAPE '!'
value.s LIKE '%!%%' ESCAPE '!'
value.s LIKE '100/%' ESCAPE '/'
value.s LIKE 'a%_b' ESCAPE '%'
value.s LIKE r'100\%'
value.s LIKE 'it\'s'
value.s LIKE "it's"
value.i LIKE '4%'
value.event_type RLIKE '^trans'
value.event_type RLIKE 'TION$'
value.event_type RLIKE '(?i)^transaction$'
value.event_type RLIKE '[0-9]+'
value.s RLIKE r'^\d{4}-\d{2}-\d{2}$'
value.s RLIKE '\\d'
value.event_type RLIKE 'a.*a'
value.event_type RLIKE 'multi.line'
value.event_type REGEXP '^(view|refund)$'
value.event_type NOT RLIKE 'trans'
regexp_like(value.event_type, 'trans(action|fer)')
value.event_type RLIKE ''
value.s RLIKE '\\p{L}+'
value.s RLIKE '^.{2}$'
value.s RLIKE '\\bpadded\\b'
value.event_type RLIKE '(?!trans)^\\w+$'
startswith(value.event_type, 'trans')
endswith(value.event_type, 'action')
contains(value.event_type, 'ans')
startswith(value.s, value.t)
contains(value.s, '')
endswith(value.s, NULL)
contains(value.bin, X'02')
""",
    "text": r"""
lower(value.event_type) = 'transaction'
upper(value.event_type) = 'TRANSACTION'
upper(value.s) = 'ÀÉSS'
lower(value.s) = 'àéß'
trim(value.event_type) = 'transaction'
ltrim(value.event_type) = 'transaction '
rtrim(value.event_type) = ' transaction'
trim(BOTH 't' FROM value.event_type) = 'ransaction'
trim(LEADING 'tr' FROM value.event_type) = 'ansaction'
trim(TRAILING 'no' FROM value.event_type) = 'transacti'
trim(value.s) = 'padded'
btrim(value.s) = 'padded'
trim('%10' FROM value.s) = ''
length(value.event_type) = 11
length(value.s) = 2
length(value.bin) = 3
length(value.s) > length(value.t)
char_length(value.s) = 5
length(value.i) = 2
substring(value.event_type, 1, 5) = 'trans'
substring(value.event_type, 6) = 'action'
substring(value.event_type, -6) = 'action'
substring(value.event_type, -6, 3) = 'act'
substring(value.event_type, 0, 3) = 'tra'
substring(value.s, -100, 98) = 'alp'
substring(value.s, 2, -1) = ''
substring(value.s, 2, 0) = ''
substring(value.s, 2, 1) = 'é'
substring(value.s, value.i, 2) = ''
substr(value.event_type, 1, 1) = 'v'
substring(value.event_type FROM 1 FOR 5) = 'trans'
substring(value.bin, 2, 1) = X'02'
left(value.event_type, 5) = 'trans'
right(value.event_type, 6) = 'action'
concat(value.event_type, '-', value.s) = 'transaction-alpha'
value.event_type || '-' || value.s = 'transaction-alpha'
concat(value.i, ':', value.l) = '5:5'
concat(value.s) = value.s
concat('a', NULL) IS NULL
value.event_type || value.missing = 'x'
lower(value.i) = '42'
replace(value.s, 'a', 'b') = 'blphb'
split(value.s, 'l')[0] = 'a'
reverse(value.s) = 'ahpla'
""",
    "arithmetic": r"""
value.i + 1 = 43
value.i - 1 > 0
value.i * 2 = 84
value.i / 2 = 21
value.i / 0 = 1
value.i DIV 2 = 21
value.l DIV 0 = 1
value.i % 5 = 2
value.i % -5 = 2
mod(value.i, 5) = 2
value.i % 0 = 1
value.i8 + value.i8 > 0
value.i8 * value.i8 > 0
value.i8 - 1Y = 126Y
value.i16 + 1S > 0
value.i + value.i > 0
value.l + 1 > 0
value.l - 1 < 0
value.l * 2 > 0
value.l DIV -1 > 0
value.l % -1 = 0
-value.i = -42
-value.l > 0
- value.i8 > 0
+value.i = 42
-value.d > 0
-value.m > 0
abs(value.i) = 3
abs(value.l) >= 0
abs(value.d) = 2.5
abs(value.m) > 12.34
abs(value.i8) < 0
value.d + 1 > 0
value.d * 2 = 5.0
value.d / 0 > 0
value.d / value.i > 0.5
value.d % 1 = 0.5
value.d - value.d = 0
value.f + value.f = 3
value.f / 3 > 0.1
value.m + 0.01 = 12.35
value.m + 1 > 13
value.m - value.m = 0
value.m * 2 = 24.68
value.m * value.m > 150
value.m / 3 > 4.1
value.m / 3 = 4.1133333333333
value.m / 0 = 1
value.m % 5 = 2.34
value.m DIV 5 = 2
value.m * 1.005 > 12.4
value.big + value.big > 0
value.big * value.big > 0
value.big / 3 < 1
value.big * 10 > 1
value.big / value.m > 0
value.big - 0.00000000005 > 0
value.big % 7 = 5
value.m + value.d > 0
value.m + value.l > 100
value.i + 0.5 = 42.5
value.t + 1 = 43
value.s * 2 > 0
'5' + value.i = 10
value.i + NULL > 0
round(value.d) = 3
round(value.d, 1) = 2.5
round(value.d, 2) = 2.35
round(value.f, 2) = float('2.35')
round(value.f, 1) = float('0.1')
round(value.f) = 8
round(value.m) = 12
round(value.m, 1) = 12.3
round(value.m, -1) = 10
round(value.m, 5) = 12.34
round(value.big, 9) > 0
round(value.big, 2) = 2.35
round(value.i, -1) = 40
round(value.i, 1) = 42
round(value.i8, -1) = 0
round(value.i8, -2) = 100
round(value.i, -9) < 0
round(value.l, -10) = 10000000000
round(value.d, -1) = 0
round(value.i, -20) = 0
round(value.d, -3) = 0
round(value.d, 20) = value.d
round(value.f, -1) = 0
round(-0.4D) = 0
round(value.s) = -3
value.i & 1 = 1
pmod(value.i, 5) = 2
value.i + 1 > value.l - 1
2147483647 + value.i8 > 0
1 + 2 * 3 = 7
(1 + 2) * 3 = 9
10 / 4 = 2.5
7 DIV 2 = 3
-7 DIV 2 = -3
-7 % 3 = -1
1.0 / 3 = 0.333333
0.1 + 0.2 = 0.3
0.1D + 0.2D = 0.3D
0.1D + 0.2D = 0.30000000000000004D
1e400 > 1
kafka_offset % 10 = 3
kafka_offset - 1000 = kafka_partition
""",
    "cases": r"""
CASE WHEN value.i > 10 THEN true ELSE false END
CASE WHEN value.i > 10 THEN true END
CASE WHEN value.i > 10 THEN 'big' WHEN value.i > 0 THEN 'small' ELSE 'negative' END = 'small'
CASE value.event_type WHEN 'transaction' THEN value.i WHEN 'view' THEN value.l ELSE 0 END = 42
CASE value.i WHEN NULL THEN true ELSE false END
CASE WHEN value.ok THEN value.i ELSE value.d END > 5
CASE WHEN value.ok THEN value.m ELSE 1 END > 5
CASE WHEN value.ok THEN NULL ELSE value.i END = 3
CASE WHEN value.i <> 0 THEN 100 / value.i ELSE 0 END > 1
if(value.ok, value.i, value.l) > 5
if(value.i > 0, 'p', 'n') = 'p'
if(NULL, 1, 2) = 2
coalesce(value.i, 0) = 0
coalesce(value.i, value.l, -99) = -99
coalesce(value.event_type, 'none') = 'none'
coalesce(value.i, value.d) > 1
coalesce(value.ok, true)
coalesce(NULL, value.ok)
coalesce(value.i / value.i8, 1) = 1
nullif(value.event_type, 'transaction') IS NULL
nullif(value.i, 42) > 0
nullif(value.d, 2.5) IS NULL
nullif(value.d, double('NaN')) IS NULL
nullif(value.i, '5') IS NULL
ifnull(value.i, 0) = 0
nvl(value.i, 0) = 0
nvl2(value.i, 1, 2) = 2
CASE WHEN value.tags IS NULL THEN array('x') ELSE value.tags END = array('x')
CASE WHEN value.day > '2024-01-01' THEN value.day ELSE value.at END > '2023-01-01'
""",
    "casts": r"""
CAST(value.t AS INT) = 42
CAST(value.t AS BIGINT) = 7
int(value.t) = 42
value.t::INT = 42
CAST(value.t AS TINYINT) > 0
CAST(value.t AS DOUBLE) > 1
CAST(value.t AS DOUBLE) = double('NaN')
CAST(value.t AS FLOAT) = float('3.14')
CAST(value.t AS DECIMAL(10,2)) = 3.14
CAST(value.t AS DECIMAL(3,1)) = 3.1
CAST(value.t AS BOOLEAN)
CAST(value.s AS DATE) = '2024-03-10'
CAST(value.when_text AS DATE) > '2000-01-01'
CAST(value.when_text AS TIMESTAMP) > '2024-01-01'
CAST(value.when_text AS TIMESTAMP_NTZ) > '2024-01-01'
CAST(value.when_text AS TIMESTAMP) = value.at
try_cast(value.t AS INT) = 42
try_cast(value.t AS INT) IS NULL
CAST(value.i AS STRING) = '42'
CAST(value.l AS STRING) = '-9223372036854775808'
CAST(value.d AS STRING) = '2.5'
CAST(value.d AS STRING) IN ('NaN', '1.0E10', '-0.0', '9.007199254740992E15', '1.7E308', '4.9E-324', '1.0E-5', '-Infinity')
CAST(value.f AS STRING) IN ('0.1', '1.6777216E7', '3.4E38', '2.345', '1.0E10', 'Infinity')
CAST(value.m AS STRING) IN ('12.34', '5.00', '-0.01', '0.00', '2.35')
CAST(value.big AS STRING) IN ('-0.0000000001', '0.0000000000', '5.0000000000')
CAST(value.ok AS STRING) = 'true'
CAST(value.day AS STRING) IN ('2024-01-31', '0001-01-01', '9999-12-31')
CAST(value.at AS STRING) IN ('2024-01-31 10:20:30.456789', '1970-01-01 00:00:00', '2024-02-29 23:59:59.999', '1969-12-31 23:59:59.5')
CAST(value.ntz AS STRING) = '2024-01-31 10:20:30.456789'
CAST(value.bin AS STRING) = 'abc'
CAST(value.tags AS STRING) = '[a, b, c]'
CAST(value.d AS INT) = 2
CAST(value.d AS INT) = -2
CAST(value.d AS BIGINT) > 0
CAST(value.f AS TINYINT) = 1
CAST(CAST(value.l AS DOUBLE) AS BIGINT) = value.l
CAST(CAST(value.l AS FLOAT) AS BIGINT) = value.l
CAST(CAST(value.i AS FLOAT) AS INT) = value.i
CAST(value.m AS INT) = 12
CAST(value.m AS TINYINT) = -12
CAST(value.big AS BIGINT) > 0
CAST(value.l AS INT) = 5
CAST(value.i AS TINYINT) = 42
CAST(value.i16 AS TINYINT) = 100
CAST(value.i AS BIGINT) = 42
CAST(value.i AS DOUBLE) / 4 = 10.5
CAST(value.l AS FLOAT) = float('9.223372E18')
CAST(value.l AS DOUBLE) = 9.223372036854775807E18
CAST(value.d AS FLOAT) = float('0.1')
CAST(value.d AS DECIMAL(10,2)) = 2.35
CAST(value.f AS DECIMAL(10,2)) = 2.35
CAST(value.f AS DECIMAL(20,15)) = 0.100000001490116
CAST(value.f AS DOUBLE) = 0.10000000149011612D
CAST(value.m AS DECIMAL(5,1)) = 12.3
CAST(value.m AS DECIMAL(5,1)) = 2.4
CAST(value.i AS DECIMAL(5,2)) = 42
CAST(value.big AS DECIMAL(20,5)) = 0.33333
CAST(value.m AS DOUBLE) = 12.34
CAST(value.big AS FLOAT) > 1e9
CAST(value.i AS BOOLEAN)
CAST(value.d AS BOOLEAN)
CAST(value.m AS BOOLEAN)
CAST(value.ok AS INT) = 1
CAST(value.ok AS DOUBLE) = 0
CAST(value.at AS DATE) = '2024-01-31'
CAST(value.at AS BIGINT) = 1706696430
CAST(value.at AS BIGINT) < 0
CAST(value.at AS DOUBLE) = -0.5
CAST(value.at AS INT) = 0
CAST(value.at AS DECIMAL(20,6)) = 1706696430.456789
CAST(value.day AS TIMESTAMP) = '2024-01-31 00:00:00'
CAST(value.ntz AS TIMESTAMP) = value.at
CAST(value.at AS TIMESTAMP_NTZ) = value.ntz
CAST(value.ntz AS DATE) = value.day
CAST(value.l AS TIMESTAMP) = '1970-01-02'
CAST(value.i AS TIMESTAMP) > '1970-01-01'
CAST(value.d AS TIMESTAMP) > '1970-01-01 00:00:01'
CAST(value.m AS TIMESTAMP) > '1970-01-01 00:00:01'
CAST(value.s AS BINARY) = X'616C706861'
CAST(value.i AS DATE) = '2024-01-01'
CAST(value.ok AS DATE) = '2024-01-01'
CAST(NULL AS INT) IS NULL
CAST(value.nums AS ARRAY<BIGINT>)[0] = 1
CAST(value.nums AS ARRAY<STRING>)[0] = '1'
""",
    "nested": r"""
value.nested.id = 7
value.nested.deep.x > 0
value.nested.deep.y = 'z'
value.NESTED.Id = 7
VALUE.event_type = 'view'
`value`.`event_type` = 'view'
value.`odd name` = 'odd'
value.`nested`.`deep`.`x` = 5.0
value.nested.nothing = 1
value['event_type'] = 'view'
value.nested['name'] = 'Ann'
value.tags[0] = 'a'
value.tags[2] = 'c'
value.tags[10] = 'c'
value.tags[-1] = 'c'
value.nums[value.i8] = 2
value.grid[0][0] = 1
value.grid[1][0] = 3
value.items[0].sku = 'A1'
value.items[0].price > 5
value.items[1].qty IS NULL
value.items.sku[0] = 'A1'
array_contains(value.items.sku, 'B2')
size(value.items.qty) = 2
value.attrs['color'] = 'red'
value.attrs.color = 'red'
value.attrs['none'] IS NULL
value.counts['x'] > 1
value.attrs[''] = ''
value.attrs[value.s] = 'no'
element_at(value.tags, 1) = 'a'
element_at(value.tags, -1) = 'c'
element_at(value.tags, 0) = 'a'
element_at(value.tags, 3) = 'c'
element_at(value.attrs, 'color') = 'red'
element_at(value.counts, 'x') = 1
element_at(value.nums, value.i8) = 1
size(value.tags) = 3
size(value.tags) = 0
size(value.attrs) > 1
size(value.tags) IS NULL
size(value.grid) = 2
cardinality(value.tags) = 3
array_contains(value.tags, 'a')
array_contains(value.tags, 'zzz')
array_contains(value.tags, value.event_type)
array_contains(value.nums, 5)
array_contains(value.nums, value.i)
array_contains(array(1, 2), value.i)
array_contains(value.dbls, value.d)
array_contains(value.items.price, 5.55)
element_at(value.attrs, value.s) = 'no'
array_contains(value.nums, 5L)
array_contains(value.nums, NULL)
array_contains(value.dbls, double('NaN'))
array_contains(value.dbls, 0D)
array_contains(value.dbls, 0.1)
array_contains(value.grid, array(3))
NOT array_contains(value.tags, 'a')
array_contains(map_keys(value.attrs), 'color')
array_contains(map_values(value.attrs), 'red')
size(map_keys(value.attrs)) = 2
map_keys(value.counts)[0] = 'x'
map_values(value.counts)[0] > 1
map_contains_key(value.attrs, 'color')
exists(value.nums, x -> x > 2)
value.tags.length = 1
key = 'key-1'
key.id = 1
kafka_topic = 'orders'
kafka_topic LIKE 'orders%' AND kafka_partition IN (0, 1)
kafka_offset BETWEEN 1002 AND 1007
stream_record_timestamp >= '2024-01-01 05:00:00'
stream_record_timestamp < TIMESTAMP'2024-01-01 03:00:00'
hour(stream_record_timestamp) = 7
record_source = 'stream'
event_type = 'transaction'
value.items[0] IS NULL
value.items[0].qty + value.items[1].qty = 3
""",
    "json": r"""
get_json_object(value.body, '$.a.b[0]') = '10'
get_json_object(value.body, '$.a.b[1]') = '20'
get_json_object(value.body, '$.a.b[2].c') = 'deep'
get_json_object(value.body, '$.a.b') = '[10,20,{"c":"deep"}]'
get_json_object(value.body, '$.a') IS NOT NULL
get_json_object(value.body, '$.n') = '1.5'
get_json_object(value.body, '$.n') = '0'
get_json_object(value.body, '$.s') = 'text'
get_json_object(value.body, '$.s') = ''
get_json_object(value.body, '$.t') = 'true'
get_json_object(value.body, '$.z') IS NULL
get_json_object(value.body, '$') IS NOT NULL
get_json_object(value.body, '$') = 'just a text'
get_json_object(value.body, "$['a']['b'][0]") = '10'
get_json_object(value.body, '$[0]') = '1'
get_json_object(value.body, '$[1][0]') = '2'
get_json_object(value.body, '$[*]') = '[1,[2,3],{"a":"x"},{"a":"y"}]'
get_json_object(value.body, '$[*].a') = '["x","y"]'
get_json_object(value.body, '$[1][*]') = '[2,3]'
get_json_object(value.body, '$.list[*].x') = '[1,2]'
get_json_object(value.body, '$.list[*].y') = '3'
get_json_object(value.body, '$.list[2].y') = '3'
get_json_object(value.body, '$.a[*][*]') = '[1,2,3,4]'
get_json_object(value.body, '$.a[0][*]') = '[1,2]'
get_json_object(value.body, '$.a[*][0]') = '[1,3]'
get_json_object(value.body, '$.a.b[*].c[*]') = '[1,2,3]'
get_json_object(value.body, '$.a.b[*].c') = '[[1,2],[3]]'
get_json_object(value.body, '$.a.b[*].c[0]') = '[1,3]'
get_json_object(value.body, '$.b') = 'é\n\t"q"'
get_json_object(value.body, '$.a') = '😀é'
get_json_object(value.body, '$.b[0]') = '😀'
get_json_object(value.body, '$.b') = '["\\uD83D\\uDE00"]'
get_json_object(value.body, '$.c.d') = '1000.0'
get_json_object(value.body, '$.c') = '{"d":1000.0}'
get_json_object(value.body, '$.b') = '12345678901234567890123'
get_json_object(value.body, '$.d') = '[1.0,2.0E-7]'
get_json_object(value.body, '$.single') = 'quoted'
get_json_object(value.body, '$.x') = 'y'
get_json_object(value.body, '$.a') = '1'
get_json_object(value.body, '$.a.b.c.d') = 'e'
get_json_object(value.body, '$.x y') = '1'
get_json_object(value.body, "$['x.y']") = '2'
get_json_object(value.body, '$.x.y') = '2'
get_json_object(value.body, "$['']") = '3'
get_json_object(value.body, 'a') = '1'
get_json_object(value.body, '$.') IS NULL
get_json_object(value.body, '$.*') IS NOT NULL
get_json_object(value.body, '$..a') IS NOT NULL
get_json_object(value.body, '$.a.b[0') IS NOT NULL
get_json_object(value.body, '$.A') IS NOT NULL
get_json_object(value.s, '$.a') IS NULL
get_json_object(value.body, '$ .a') IS NOT NULL
get_json_object(value.body, '$. a') IS NOT NULL
get_json_object(value.body, '$[ 0 ]') = '1'
get_json_object(value.body, '$.a.b[*]') = '[10,20,{"c":"deep"}]'
get_json_object(value.body, '$.a.b[5]') IS NULL
get_json_object(value.body, '$.a[*]') IS NOT NULL
get_json_object(value.body, '$[2].a') = 'x'
CAST(get_json_object(value.body, '$.n') AS DOUBLE) > 1
get_json_object(value.body, concat('$.', 'a')) IS NOT NULL
""",
    "time": r"""
year(value.day) = 2024
month(value.day) = 1
day(value.day) = 31
dayofmonth(value.day) = 29
year(value.at) = 1582
month(value.at) = 2
day(value.at) = 31
hour(value.at) = 10
minute(value.at) = 20
second(value.at) = 30
hour(value.at) = 23 AND minute(value.at) = 59
hour(value.ntz) = 10
year(value.ntz) = 2024
year('2024-05-06') = 2024
year(value.when_text) = 2024
hour(value.when_text) = 23
hour(value.day) = 0
to_date(value.when_text) = '2024-01-31'
to_date(value.s) = value.day
to_date(value.at) = value.day
to_date(value.when_text, 'dd/MM/yyyy') = '2024-12-31'
to_date(value.when_text, 'yyyyMMdd') = '2024-05-31'
to_date(value.when_text, 'yyyy-MM-dd') = '2024-01-31'
to_date(value.when_text, 'yyyy-M-d') > '2000-01-01'
to_timestamp(value.when_text) > '2024-01-01'
to_timestamp(value.when_text, 'yyyy-MM-dd HH:mm:ss') = '2024-06-30 12:30:45'
to_timestamp(value.when_text, 'yyyy-MM-dd HH:mm:ss.SSS') = '2024-03-10 01:02:03.5'
to_timestamp(value.when_text, "yyyy-MM-dd'T'HH:mm:ss.SSSXXX") = '2024-02-29 22:59:59.999'
to_timestamp(value.when_text, "yyyy-MM-dd'T'HH:mm:ssXXX") > '2024-01-01'
to_timestamp(value.when_text, "yyyy-MM-dd'T'HH:mm:ssX") > '2024-01-01'
to_timestamp(value.when_text, "yyyy-MM-dd'T'HH:mm") = '2024-07-15 13:14:00'
to_timestamp(value.when_text, 'MM/dd/yyyy hh:mm a') = '2024-04-30 00:15:00'
to_timestamp(value.when_text, 'yyyy-MM') = '2000-02-01'
to_timestamp('05 March 2024', 'dd MMMM yyyy') = '2024-03-05'
to_timestamp('05-mar-24 1', 'dd-MMM-yy H') = '2024-03-05 01:00:00'
to_timestamp('2024-03-05 07:08:09.123456', 'yyyy-MM-dd HH:mm:ss.SSSSSS') = '2024-03-05 07:08:09.123456'
to_timestamp('10:11', 'HH:mm') = '1970-01-01 10:11:00'
to_timestamp('2024-02-30', 'yyyy-MM-dd') > '0001-01-01'
to_timestamp('12024-02-03', 'yyyy-MM-dd') > '0001-01-01'
to_timestamp('+12024-02-03', 'yyyy-MM-dd') > '0001-01-01'
to_timestamp('0000-02-03', 'yyyy-MM-dd') > '0001-01-01'
to_timestamp('2024-02-03 24:00', 'yyyy-MM-dd HH:mm') > '0001-01-01'
to_timestamp('2024-02-03 13:00', 'yyyy-MM-dd hh:mm') > '0001-01-01'
to_timestamp('2024-02-03 12:00', 'yyyy-MM-dd hh:mm') = '2024-02-03'
to_timestamp('2024-02-03 PM', 'yyyy-MM-dd a') = '2024-02-03 12:00:00'
to_timestamp('2024-02-03 12 pm', 'yyyy-MM-dd h a') = '2024-02-03 12:00:00'
to_timestamp('2024-02-03 13 PM', 'yyyy-MM-dd H a') = '2024-02-03 13:00:00'
to_timestamp('2024-02-03 13 AM', 'yyyy-MM-dd H a') = '2024-02-03 13:00:00'
to_timestamp('20240203T040506', "yyyyMMdd'T'HHmmss") = '2024-02-03 04:05:06'
to_timestamp('2024-02-03 04:05:06.7', 'yyyy-MM-dd HH:mm:ss.SSS') = '2024-02-03 04:05:06.7'
to_timestamp('2024-02-03 04:05:06.', 'yyyy-MM-dd HH:mm:ss.SSS') > '0001-01-01'
to_timestamp('2024-02-03T04:05:06z', "yyyy-MM-dd'T'HH:mm:ssX") = '2024-02-03 04:05:06'
to_timestamp('2024-02-03T04:05:06-0330', "yyyy-MM-dd'T'HH:mm:ssZ") = '2024-02-03 07:35:06'
to_timestamp('2024-02-03T04:05:06+05', "yyyy-MM-dd'T'HH:mm:ssX") = '2024-02-02 23:05:06'
to_timestamp('2024-02-03T04:05:06+0530', "yyyy-MM-dd'T'HH:mm:ssX") = '2024-02-02 22:35:06'
to_timestamp('2024-02-03T04:05:06+19', "yyyy-MM-dd'T'HH:mm:ssX") > '0001-01-01'
to_timestamp('it''s 2024', "'it''s' yyyy") = '2024-01-01'
to_timestamp('IT IS 2024', "'it is' yyyy") = '2024-01-01'
to_timestamp('20240203040506789', 'yyyyMMddHHmmssSSS') = '2024-02-03 04:05:06.789'
to_date('3.2.24', 'd.M.yy') = '2024-02-03'
to_date('3.2.5', 'd.M.y') = '0005-02-03'
to_date('2024-02-03', 'yyyy-MM-dd EEE') > '0001-01-01'
to_date('2024-02-03', 'uuuu-MM-dd') > '0001-01-01'
to_timestamp(value.day) = value.at
to_timestamp(value.l) > '2000-01-01'
date_trunc('DAY', value.at) = '2024-01-31'
date_trunc('hour', value.at) = '2024-01-31 10:00:00'
date_trunc('MINUTE', value.at) = '2024-01-31 10:20:00'
date_trunc('second', value.at) = '1969-12-31 23:59:59'
date_trunc('millisecond', value.at) = '2024-01-31 10:20:30.456'
date_trunc('microsecond', value.at) = value.at
date_trunc('week', value.at) = '2024-01-29'
date_trunc('month', value.at) = '2024-02-01'
date_trunc('MON', value.at) = '1969-12-01'
date_trunc('quarter', value.at) = '2024-07-01'
date_trunc('year', value.at) = '2024-01-01'
date_trunc('YY', value.at) = '9999-01-01'
date_trunc('nonsense', value.at) IS NULL
date_trunc(value.s, value.at) IS NULL
date_trunc('day', value.day) = value.day
unix_timestamp(value.at) = 1706696430
unix_timestamp(value.at) = 0
unix_timestamp(value.day) = 0
unix_timestamp(value.when_text) = 1719750645
unix_timestamp(value.when_text, 'yyyy-MM-dd') = 1706659200
unix_timestamp(value.when_text, 'dd/MM/yyyy') > 0
to_unix_timestamp(value.at) = 0
value.day + INTERVAL 1 DAY = '2024-02-01'
value.day + INTERVAL '1' MONTH = '2024-02-29'
value.day - INTERVAL 1 YEAR = '2023-02-28'
value.day + INTERVAL 1 HOUR > value.at
value.at + INTERVAL 1 DAY > '2024-02-01'
value.at - INTERVAL '1' MONTH = '2024-01-29 23:59:59.999'
value.at + INTERVAL '1 02:03:04.5' DAY TO SECOND > '2024-02-01 12:23:34'
value.at + INTERVAL '1-2' YEAR TO MONTH = '2025-03-31 10:20:30.456789'
value.at - INTERVAL 90 MINUTES < '2024-01-31 09:00:00'
value.ntz + INTERVAL 1 DAY > '2024-02-01'
INTERVAL 1 DAY + value.day = '2024-02-01'
value.at + INTERVAL 9000 YEAR > '2024-01-01'
value.day + 1 = '2024-02-01'
value.day - 1 = '2024-01-30'
value.at - value.at = INTERVAL 0 SECOND
value.at - value.day < INTERVAL 1 DAY
value.day - DATE'2024-01-01' = INTERVAL 30 DAY
value.day - DATE'2024-01-01' > INTERVAL '29' DAY
stream_record_timestamp - INTERVAL 2 HOURS >= '2024-01-01'
INTERVAL 1 DAY > INTERVAL 23 HOURS
INTERVAL 1 YEAR = INTERVAL 12 MONTHS
-INTERVAL 1 DAY < INTERVAL 0 DAY
date_add(value.day, 1) = '2024-02-01'
date_sub(value.day, 1) = '2024-01-30'
datediff(value.day, DATE'2024-01-01') = 30
value.day > current_date()
value.at < now()
add_months(value.day, 1) = '2024-02-29'
dayofweek(value.day) = 4
""",
}

PREDICATES = [line for group in GROUPS.values() for line in group.strip().split("\n")]

# Predicates that Spark takes and `stream-spec` refuses, by the reason.
REFUSED_BY_REASON = {
    "arrays are not made in a filter": r"""
array_contains(array(1, 2), value.i)
value.tags = array('a', 'b', 'c')
value.nums < array(2)
value.tags IN (array('a', 'b', 'c'), array('five'))
CASE WHEN value.tags IS NULL THEN array('x') ELSE value.tags END = array('x')
array_contains(value.grid, array(3))
""",
    "values with parts are not compared": r"""
value.nums = value.nums
value.dbls = value.dbls
value.nested.deep <=> value.nested.deep
value.tags > value.tags
value.grid = value.grid
""",
    "values with parts are not converted": r"""
CAST(value.tags AS STRING) = '[a, b, c]'
CAST(value.nums AS ARRAY<BIGINT>)[0] = 1
CAST(value.nums AS ARRAY<STRING>)[0] = '1'
""",
    "not among the supported functions and operators": r"""
left(value.event_type, 5) = 'trans'
right(value.event_type, 6) = 'action'
replace(value.s, 'a', 'b') = 'blphb'
split(value.s, 'l')[0] = 'a'
reverse(value.s) = 'ahpla'
value.i & 1 = 1
pmod(value.i, 5) = 2
nvl2(value.i, 1, 2) = 2
map_contains_key(value.attrs, 'color')
exists(value.nums, x -> x > 2)
to_unix_timestamp(value.at) = 0
datediff(value.day, DATE'2024-01-01') = 30
add_months(value.day, 1) = '2024-02-29'
dayofweek(value.day) = 4
contains(value.bin, X'02')
""",
    "a record is kept or not whenever it is read": r"""
value.day > current_date()
value.at < now()
""",
    "must be a literal that is known": r"""
get_json_object(value.body, concat('$.', 'a')) IS NOT NULL
date_trunc('nonsense', value.at) IS NULL
date_trunc(value.s, value.at) IS NULL
""",
    "a pattern that Spark refuses as soon as it is used": r"""
to_date('2024-02-03', 'yyyy-MM-dd EEE') > '0001-01-01'
to_date('2024-02-03', 'uuuu-MM-dd') > '0001-01-01'
""",
}

REFUSED = {line: reason for reason, lines in REFUSED_BY_REASON.items() for line in lines.strip().split("\n")}
