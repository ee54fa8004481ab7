#!/usr/bin/env python3
"""Questions about names of Kafka topics for JavaRegex.java: patterns as people write them for topics, and names that nearly match.

    python3 topics.py | java JavaRegex.java > ../data/topic_patterns.jsonl
"""

import json
import random

NAMES = ["orders", "Orders", "ORDERS", "orders.v1", "orders-v1", "orders_v1", "orders.v12", "orders.v1.dlq", "orders-eu", "orders-us-east-1",
         "eu.orders", "eu.orders.created", "prod.payments.card-transactions", "staging.payments.card-transactions", "payments", "payments-0",
         "payments-10", "payments.2024-01-31", "__consumer_offsets", "__transaction_state", "_schemas", "_confluent-metrics", "tenant-42-events",
         "tenant-007-events", "tenant--events", "a", "A", "0", "-", "_", "...", "a.b", "a-b", "a_b", "a..b", "connect-configs", "order", "ordersv1",
         "xorders", "orders ", "orders\n", "", "UPPER.lower-Mixed_09"]

HAND = r"""
.*
.+
orders
orders.*
orders\..*
orders.v1
orders\.v1
orders[.]v1
orders[._-]v\d+
orders\.v\d{1,2}
orders\.v[1-9][0-9]*
^orders.*
orders.*$
^orders$
^(orders|payments)$
orders|payments
orders.*|payments.*
(orders|payments)[.-].*
(?:orders|payments)(?:[.-].*)?
(?i)orders.*
(?i:orders)\.v1
(?-i)orders
ORDERS|(?i)payments
[^_].*
[^_.].*
(?!_).*
(?!__).*
^(?!__consumer_offsets|__transaction_state).*$
(?!.*\.dlq$).*
.*(?<!\.dlq)
.*(?<=v\d)
.*(?<=-[a-z]{2}).*
(?=.*orders)(?=.*v1).*
(?=orders).*
(?!orders$)orders.*
.*orders.*
.*\.orders\..*
\w+
\w+\.\w+
\w+(\.\w+)*
[a-z]+
[a-z]+(-[a-z]+)*
[a-z]+(?:-[a-z0-9]+)*
[a-zA-Z0-9._-]+
[\w.-]+
[\w.\-]{1,10}
[a-z&&[^o]].*
[a-z&&[aeiou]].*
[a-z[A-Z]]+
[^a-z]+
[^\w]+
[^\W]+
\S+
\D+
\d+
.*\d
.*\d+.*
.*[0-9]{2,}.*
tenant-\d+-events
tenant-\d*-events
tenant-\d{3}-events
tenant-0*\d+-events
tenant-(\d)\1\d?-events
(.)\1.*
.*(.)\1.*
(\w)(\w).*\2\1.*
(?<env>prod|staging)\..*
(?<env>prod|staging)\.(?<team>\w+)\.(?<topic>[\w-]+)
(?<a>[a-z]).*\k<a>
(prod|staging)\.[^.]+\.[^.]+
[^.]+
[^.]+\.[^.]+
[^.]*\.[^.]*\.[^.]*
.*?
.*?v1
.+?s
orders.*?
orders.*+
orders.*+1
orders\..++
(?>orders|order)s?
(?>order|orders)s
(?>.*)1
orders??
orders?+
orders?s
o{1}rders
o{1,}rders.*
o{0,2}rders
\Qorders.v1\E
\Qorders.\Ev\d
\Qorders.v1
orders\Q.\Ev1
\Aorders\z
\Aorders\Z
^orders\Z
orders\b.*
\borders\b
.*\borders\b.*
.*\Borders\b.*
orders\B.*
(?x) orders \. v 1
(?x) orders # all of them
(?s).*
(?m)^orders$
(?m)^.*$
(?d)orders.
(?u)(?i)ORDERS.*
(?U)\w+
\p{Alpha}+
\p{Lower}+
\p{Upper}+
\p{L}+
\p{Lu}.*
\P{L}.*
\p{IsAlphabetic}+
\p{Alnum}+([-._]\p{Alnum}+)*
\p{Punct}+
\p{Graph}+
\p{javaLowerCase}+
[\p{L}\p{N}._-]+
[\p{Alpha}&&[^o]]\w+
\x6frders
\u006frders
\x{6f}rders
\0157rders
\o
orders\n
orders\s
orders\R
orders\h
orders\v
orders[\s]
\.+
\.{3}
\.{2,}
[.]{3}
[-_]+
[_-]+
[a\-b]+
[a-]+
[]a]
[a-b-c]+
[.-a]
[+--]
[[:alpha:]]+
[\.]
[\d\D]*
[\w\W]+
[^]
()
(|orders)
(orders|)
|orders
orders|
||
(orders){1}
(orders){0}
(orders){2}
((orders))
(((((orders)))))\5
(a|b|c|-|_|\.)+
(a|aa)+
([a-z]+)*
([a-z]+)*[.]
(orders|payments){1,2}
(?:(?:eu|us)\.)?orders(?:\.(?:created|deleted))?
(eu|us|ap)-(east|west|central)-\d
.*-(eu|us)(-(east|west)-\d)?
[a-z]{2}\.orders.*
\d{4}-\d{2}-\d{2}
payments\.\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])
payments-(?:[0-9]|1[0-5])
payments-(?!0)\d+
payments(?=-).*
connect-(configs|offsets|status)
(?!(connect|_|orders)).*
^[^_](?:(?!dlq).)*$
(?:(?!\.dlq).)*
*
+
?
**
orders**
orders(
orders)
(orders
[orders
orders]
orders{
orders{a}
orders{1
orders{2,1}
{1}
orders\
\
(?
(?<
(?<name
(?<1>a)
(?P<name>orders)
(?P=name)
\k<none>
\1
(a)\2
[z-a]
[a-\d]
\p{Nothing}
\p{Is}
\pL+
\p
\x
\xg
\u00
\uD83D
\c
\y
\i
\e
\a
\G.*
\X+
\N{LATIN SMALL LETTER O}rders
(?<=.*)orders
(?<=a+)b
(?i
(?z)orders
(?#comment)orders
orders(?#x)
"""

# What means something of Java's own making.
PECULIAR = r"""
\Gorders.*
\G\w+
(\G|x)orders
orders\G
\X+
\X{6}
orders\X+
\X\.\X
(\X)\1.*
orders\X?
\X*?v1
\N{LATIN SMALL LETTER O}rders.*
orders\N{FULL STOP}v1
orders\N{HYPHEN-MINUS}v\d
\N{LOW LINE}.*
[\N{LATIN SMALL LETTER A}-\N{LATIN SMALL LETTER Z}]+
[^\N{LOW LINE}].*
\N{DIGIT ONE}*
(?i)\N{latin capital letter o}rders
orders{1}{2}
orders.*{2}
.{2}{3}
[a-z]+{1}.*
tenant.?{2}.*
{1}orders
(?<=.*)orders
.*(?<=orders.*)
.*(?<=v\d+)
.*(?<!\.dlq+)
.*(?<!dlq.*)
.*(?<=-[a-z]*?)
.*(?<=(?:eu|us)-[a-z]*)
.*(?<=\.[a-z]{2,})
.*(?<!_+)
(?!.*(?<=__.*)).*
.*(?<=orders.*v.*)
.*(?<!orders.*v.*)
"""

STEMS = ["orders", "payments", "events", "tenant", "prod", "eu", "us", "order", "v", "card-transactions", "a", "o"]
GLUE = ["\\.", ".", "-", "_", "[.-]", "[._-]", "[^.]", "", "\\.?", "-+", "(?:\\.|-)"]
ENDS = [".*", ".+", "\\d+", "\\d{1,3}", "[0-9]{2}", "v\\d", "(v1|v2)", "\\w+", "[\\w-]*", "[^_]+", "(?!dlq).*", "(?<!dlq)", "[a-z]{2,}", "",
        "\\b.*", "(-[a-z]+)*", "(?:\\.[^.]+){0,2}", "(?i)DLQ", "?", "+", "{2}", "*+", "(\\w)\\1", "$", "\\z", "[\\w&&[^\\d]]+", "\\p{Alnum}+"]
STARTS = ["", "", "", "", "^", "(?i)", "(?!__)", ".*", "(?s)", "(?=.*o)", "[^_]", "\\w*", "(?:eu|us)?\\.?", "(?!.*dlq)"]


def random_pattern(rng):
    def branch():
        parts = [rng.choice(STARTS)]
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
            stem = rng.choice(STEMS)
            shape = rng.random()
            if shape < 0.15:
                stem = f"({stem}|{rng.choice(STEMS)})"
            elif shape < 0.25:
                stem = f"(?:{stem})" + rng.choice(["?", "*", "+", "{1,2}"])
            elif shape < 0.3:
                stem = f"\\Q{stem}.\\E"
            parts += [stem, rng.choice(GLUE)]
        parts[-1:] = [rng.choice(ENDS)] if rng.random() < 0.7 else [rng.choice(GLUE), rng.choice(ENDS)]
        return "".join(parts)

    return "|".join(branch() for _ in range(rng.choice([1, 1, 1, 1, 2, 3])))


def names_like(rng, pattern):
    """Names made of a pattern's own letters, some of which match."""
    text = "".join(c if c.isalnum() or c in "._-" else rng.choice(["", "", "x", "1", "."]) for c in pattern)
    found = {text[:60], text[:60].lower()}
    for _ in range(3):
        at = rng.randrange(len(text) + 1)
        found.add((text[:at] + rng.choice(["1", "-", ".", "a", "S", ""]) + text[at + rng.choice([0, 1]):])[:60])
    parts = [rng.choice(STEMS), rng.choice([".", "-", "_", ""]), rng.choice(["v1", "dlq", "12", "eu", "aa"])]
    found.add("".join(parts))
    return sorted(found)


def main():
    rng = random.Random(31)
    patterns = HAND.split("\n")[1:-1]
    patterns += [random_pattern(rng) for _ in range(260)]
    for pattern in dict.fromkeys(patterns):
        chosen = rng.sample(NAMES, 18)
        print(json.dumps([pattern, *dict.fromkeys([*chosen, *names_like(rng, pattern)])], separators=(",", ":")))
    rng = random.Random(32)
    for pattern in PECULIAR.split("\n")[1:-1]:
        print(json.dumps([pattern, *dict.fromkeys([*NAMES, *names_like(rng, pattern)])], separators=(",", ":")))


main()
