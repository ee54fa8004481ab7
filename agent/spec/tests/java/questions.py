"""Writes questions for JavaRegex.java: patterns of every construct, by hand and at random, each with subjects.

    python3 questions.py [seed [random patterns]]

A line is ["pattern", "subject", ...]. The committed answers are those of the default seed.
"""
import json
import random
import sys
import unicodedata

BASE = ["", "a", "b", "ab", "aa", "aab", "abc", "ABC", "xaby", "a b", "a.b", "a\nb", "a\r\nb", "\r\n", "\n", "a\n", "a\r", "a\u0085",
        "a\u2028", "foo bar", "foo_bar1", "12", "\u00e9", "e\u0301", "\u0301a", "\U0001F600", "a\U0001F600b", "\U00010400\U00010428", "\U00010400",
        "\u00c5\u212b\u00e5", "\u017fS\u212aK", "\u0130I\u0131i", "\u03a3\u03c3\u03c2", "\u00df\u1e9e", "\u0391\u03b1", "\u0660\u0967",
        "-", "]", "^", "&", "\\", "{}", "$", "orders.v1", "orders-v1"]

HAND = r"""
a|ab|abc
|a
a|
(a|)b
()
(?:)
()*
(?:)*a
(a|b|c)+
(ab)*
(ab){2}
(ab){2,}?c
(ab){0}
a{0}
a{2}
a{2,}
a{1,2}
a{1,2}?b
a{1,2}+b
a*+a
a++b
a?+a
a??b
a*?b
a+?
.*+b
(?:a|ab)*+c
(?:a|ab){2}+
(a|ab)(c|bcd)?d*
(?>a|ab)c
(?>ab|a)c
(?>a*)ab
(?>(a)|b)\1
(?=a)
(?=ab)a
(?!a)
(?!a)b
(?=(a+))\1b
(?=a){2}a
(?!a)*b
(?<=a)b
(?<!a)b
(?<=a|bc)d
(?<=ab|c)
(?<=a{1,2})b
(?<=a*)b
(?<=a+)b
(?<=(ab))c
(?<=(?:ab){1,2})c
(?<=(?:a|b){1,2})c
(?<=(?:a|b)?)c
(?<=^a)b
(?<=\b)a
(?<=.)b
(?<=..)b
(?<=[^x])b
(?<=[^x]{2})b
(?<=[^x]{1,2})b
(?<=\x{1F600})b
(?<=😀)b
(?<!😀)b
(?<=\R)b
(?<=\r?\n)b
(?<=\1)a
(a)(?<=\1)
(?<!^).
(?<!a.)b
(a)\1
(a)(b)?\2
(a)?\1
(a*)b\1
(a|b)*\1
(?:(a)|b)*\1
((a)b)*\2
(a)*\1
(ab)*\1
(?:(?!(a))b|a\1)
(?:(?=(a))b|a\1)
(?i)(a)\1
(?iu)(é|σ)\1
(?<x>a)\k<x>
(?<x>a)(?<y>b)\k<y>
\k<x>(?<x>a)
(?<x>a)(?<x>b)
(?<1x>a)
(?<x_y>a)
\1(a)
(a)\2
(a)\11
(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\10
^a
^a$
a$
^$
^
$
\Aa
a\Z
a\z
\Ga
(?m)^a
(?m)^b
(?m)a$
(?m)^$
(?m)^
(?m)$
(?md)^b
(?md)a$
(?d)a$
(?d).
(?d)a.b
(?s).
(?s)a.b
(?s).*
.
..
.*
.+
^.$
^..$
^.*$
[^a]
[^a]b
^[^a]*$
\bfoo\b
\b
\B
\Bo
\b.
\B.
(?U)\b
(?U)\bé
\ba
a\b
\be\u0301
\b\b
\b{2}a
\b{g}
\R
\R+
\R*b
a\Rb
a\R+b
a\R\nb
(?:\R)+b
(\R)\n
(?:a|\R)+b
\R?b
\R{2}
\X
\N{LATIN SMALL LETTER A}
\d
\D
\w
\W
\s
\S
\h
\H
\v
\V
[\d]
[\D]
[^\d]
[\w.]
[\s\S]
[^\s\S]
[\h\v]
(?U)\d
(?U)\w
(?U)\s
(?U)\W
(?U)\D
(?U)\S
(?U)[\w]
(?-U)\w
\t\n\r\f\a\e
\x41
\x{41}
\x{1F600}
\x{110000}
\x{}
\x4
\xg
\u0041
\u00e9
\uD83D\uDE00
\uD83D
\uDE00
[\uD83D\uDE00]
[\uD83D]
\u004
\0101
\07
\0377
\0477
\08
\0
\cA
\ca
\c
\y
\i
\_
\-
\é
\ 
\
\\
\.
a\.b
\Qa.b\E
\Qa.b
\Qa\Eb
a\Q\E+
\Qab\E+
\Q+\E+
\Q\\E
\Q1\E2
[\Qa-c\E]
[\Q]\E]
[\Q^\E]
\E
\Q\Ea
[abc]
[a-c]
[a-]
[-a]
[a-c-e]
[]a]
[]
[^]a]
[^]
[[a]
[a[b]]
[a[bc]d]
[a[^b]]
[^a[b]]
[a&&a]
[a-c&&b-d]
[a-c&&[b-d]]
[a-z&&[^b]]
[^a&&b]
[^a-z&&[^b]]
[a&&b&&c]
[abc&&[bc]&&[c]]
[abc&&bc&&c]
[a&&&&b]
[&&a]
[a&&]
[a&b]
[&]
[&&]
[a&&[b]c]
[ab&&[b]&c]
[\w&&[^\d]]
[\w&&\D]
[\p{L}&&[^\p{Lu}]]
[a&&^a]
[\b]
[\1]
[\R]
[\A]
[\x41-\x43]
[\x{1F600}-\x{1F64F}]
[😀]
[^😀]
[😀-😂]
[a-\d]
[\d-a]
[\w-a]
[\w-]
[z-a]
[a-[b]]
[\v-a]
[\v]
[\n-\v]
[+--]
[.-]
[\.\-]
[a\]b]
[\[]
[\\]
[{}]
[$^]
[ ]
[é]
[Å]
[^é]
[^\x{0}-\x{FFFF}]
[\x{0}-\x{FFFF}]
[\x{D800}-\x{DFFF}]
[^\x{D800}-\x{DFFF}]
(?i)a
(?i)ab
(?i)AB
(?i)[a]
(?i)[A-B]
(?i)[^a]
(?i)[^A-B]
(?i)é
(?i)[é]
(?iu)é
(?iu)[é]
(?iu)É
(?iu)σ
(?iu)[σ]
(?iu)[α-ω]
(?iu)s
(?iu)ss
(?iu)[s]
(?iu)k
(?iu)[k]
(?iu)[K]
(?iu)å
(?iu)[å]
(?iu)i
(?iu)ii
(?iu)[i]
(?iu)ı
(?iu)[ı]
(?iu)İ
(?iu)ß
(?iu)aß
(?iu)ßß
(?iu)ẞ
(?iu)[ß]
(?iu)[ẞ]
(?iu)µ
(?iu)[µ]
(?iu)ÿ
(?iu)[ÿ]
(?iu)[a-z]
(?iu)[K-S]
(?iu)[^s]
(?iu)𐐀
(?iu)a𐐨
(?iu)[𐐀]
(?u)é
(?i)\p{Lower}
(?i)\p{Upper}
(?i)\p{Lu}
(?i)\p{Ll}
(?i)\p{Lt}
(?i)\p{javaLowerCase}
(?i)\p{javaUpperCase}
(?i)\p{javaTitleCase}
(?i)\p{IsLowercase}
(?i)\p{IsUppercase}
(?i)\p{IsTitlecase}
(?i)\P{Lu}
(?iU)\p{Lower}
(?iU)\p{Upper}
(?i)a(?-i)b
(?i:a)b
(?i-m:a)b
(?-i:a)b
(?i)a|b
(a(?i)b)c
((?i)a)b
(?im)^A$
(?ims)^A.B
(?a)b
(?i
(?i-)
(?-)a
(?)a
(?i)*
(?x) a b
(?x)a b # comment
(?x)a#c
(?x)[a b]
(?x)[ ^a]
(?x)a\ b
(?x)\ a
(?x)a {2}
(?x)a{2} ?
(?x)( ?:a)
(?x)(?: a)
(?x)a +
(?x)a + +
(?x:a b) c
(?x)\Qa b\E
(?x)[#]
(?x)\x 41
(?x)\# a
(?c)a
(?P<x>a)
(?#c)a
(?'x'a)
(?|a)
(?R)
a**
a*+*
a{2}{3}
a{2}*
a+{2}
{2}
{a}
a{
a{a}
a{,2}
a{2
a{2,1}
a{99999999999}
a{2,x}
a}
}
]
a]
*a
+
?
(a
a)
(
)
(*)
(?<=a
[a
[a-
[a&&
\p{L
\p
\pL
\PL
\pLu
\p{Lu}
\p{L}
\P{L}
\p{^L}
\p{Foo}
\p{}
\p{Alpha}
\p{alpha}
\p{Alnum}
\p{Digit}
\p{Punct}
\p{Graph}
\p{Print}
\p{Blank}
\p{Cntrl}
\p{XDigit}
\p{Space}
\p{ASCII}
\p{Lower}
\p{Upper}
\p{L1}
\p{all}
\p{LC}
\p{LD}
\p{M}
\p{Mn}
\p{N}
\p{Nd}
\p{P}
\p{S}
\p{So}
\p{Sm}
\p{Z}
\p{C}
\p{Cn}
\p{Cs}
\p{Co}
\p{IsL}
\p{IsLu}
\p{IsLatin}
\p{IsLATIN}
\p{Islatn}
\p{IsGreek}
\p{IsHan}
\p{IsCommon}
\p{IsAlphabetic}
\p{IsIdeographic}
\p{IsLetter}
\p{IsLowercase}
\p{IsUppercase}
\p{IsTitlecase}
\p{IsPunctuation}
\p{IsControl}
\p{IsWhite_Space}
\p{IsWhiteSpace}
\p{IsDigit}
\p{IsHex_Digit}
\p{IsJoin_Control}
\p{IsNoncharacter_Code_Point}
\p{IsAssigned}
\p{IsAlpha}
\p{IsEmoji}
\p{IsFoo}
\p{InGreek}
\p{InBasicLatin}
\p{InBasic Latin}
\p{InBASIC_LATIN}
\p{InLatin-1 Supplement}
\p{InEmoticons}
\P{InEmoticons}
\p{InFoo}
\p{script=Latin}
\p{sc=Grek}
\p{block=Emoticons}
\p{blk=BasicLatin}
\p{gc=Lu}
\p{general_category=Nd}
\p{SC=Latin}
\p{foo=bar}
\p{javaLowerCase}
\p{javaUpperCase}
\p{javaAlphabetic}
\p{javaIdeographic}
\p{javaTitleCase}
\p{javaDigit}
\p{javaDefined}
\p{javaLetter}
\p{javaLetterOrDigit}
\p{javaJavaIdentifierStart}
\p{javaJavaIdentifierPart}
\p{javaUnicodeIdentifierStart}
\p{javaUnicodeIdentifierPart}
\p{javaIdentifierIgnorable}
\p{javaSpaceChar}
\p{javaWhitespace}
\p{javaISOControl}
\p{javaMirrored}
\p{javaFoo}
(?U)\p{Alpha}
(?U)\p{alpha}
(?U)\p{Lower}
(?U)\p{Punct}
(?U)\p{Graph}
(?U)\p{Print}
(?U)\p{Blank}
(?U)\p{Space}
(?U)\p{Digit}
(?U)\p{XDigit}
(?U)\p{Alnum}
(?U)\p{Cntrl}
(?U)\p{Upper}
\P{So}
\P{So}\b
[^\p{So}]
orders\..*
orders[.-]v\d+
^(?!internal\.).*$
(?i)^order(s|ed)?[-_.]v[0-9]{1,3}$
.*\.(us|eu)-(east|west)-\d
^\S+@\S+\.\S+$
^\d{4}-\d{2}-\d{2}$
^(?=.*\d)(?=.*[a-z]).{3,}$
(\w+) \1
(a+)+b
(a|aa)+$
(?:a|b|ab){1,3}c
(?:a?){3}b
(?:a*)*b
(?:a*?)*?b
(?:|a)*b
(?:|a){2}b
(?:a|){2}b
(?:a??){2,3}b
(a??){2}b
((a)|b)*\2
(?:(a)|(b))*\1\2
(?:(a)(?!b)|ab)\1
(?:a(?=(b)))?b\1
((?:a|b)*?)c\1
(?>(a|b)*)\1
(?:(a|b)+)+\1
(a(?=(b)))*b\2
(?:^|a)+b
(?:$|a)*
(?:\b|a)+
(?<!\b)a
(?<=a(?=b))b
(?<=(?<=a)b)c
(?<=a??)b
(?<=a{2})b
(?<=a{0,3}b?)c
(?<!a{0,3}b)c
(?<=(a)(b)?)c
(?<=[a-z&&[^b]])b
(?<=\w)\b
(?:\x{1F600}|a)+b
\x{1F600}a
(?!\x{1F600}a)
(?!\x{1F600})
(?![\x{1F600}])
(?>(a|^$)++b|${0,2})??\1
(?>((^$|\W))++x|$)??\2
(?=(a|))??\1b
"""

# Constructs whose meaning is of Java's making, and what is beside them.
PECULIAR = r"""
\X\X
\X{2}
\X+
\X*b
\X+b
\X+?b
\X++b
\X?b
a\Xb
(\X)\1
(\X)*b
(?:\Xb|a)+
(?>\X)b
(?=\X)a
(?<=\X)b
(?<!\X)b
(?<=a\X)b
(?<=a|\X)b
(?i)\X
(?x)\X \X
[\X]
[a\X]
\x
\G
a\G
b\Ga
\G*a
(?<=\G)a
(?<!\G)b
(\G|b)a
\Ga|\Gb
(?:\Ga)+
(?m)\Ga
[\G]
\N{LATIN SMALL LETTER A}+
\N{latin small letter a}
\N{ Latin Small Letter A }b
(?i)\N{LATIN CAPITAL LETTER B}
(?x)\N {LATIN SMALL LETTER A}
(?x)\N{ LATIN SMALL LETTER A}
(?x)\N{LATIN #SMALL}
[\N{LATIN SMALL LETTER A}b]+
[\N{LATIN SMALL LETTER A}-\N{LATIN SMALL LETTER C}]+
[^\N{FULL STOP}]+
\N{FULL STOP}
\N{LOW LINE}
\N{HYPHEN-MINUS}
\N{NULL}
\N{LINE FEED (LF)}
\N{LINE FEED}
\N{DELETE}
\N{BEL}
\N{NOPE}
\N{}
\N{ }
\N{LATIN SMALL LETTER A
\N{
\N
\Na
a{2}{3}
a{2}{3}b
a{2}{3}+b
a{2}{3}?b
a{2}{0}
a+{2}b
a*?{2}b
a++{2}b
(a){2}{3}
(a)*{2}\1
(?:a|b)*{2}
[ab]{1}{2}
{2}a
{2}{3}
({2})a
(?:{2}|a)b
a|{2}b
^{2}a
(?=a){2}{3}a
{2}?
{2}+
{2}*
{2}**
a{2}{x}
a{2}{3
a{2}{3,1}
(?x)a {2} {3}
(?i){2}a
(?<=a{2}{3})b
(?<=.*)b
(?<=a*)b
(?<=a+)b
(?<=a{2,})b
(?<=a{0,})b
(?<=a*?)b
(?<=a+?)b
(?<=a{2,}?)b
(?<=a*+)b
(?<=a{2,}+)b
(?<=xa*)b
(?<=xa*?)b
(?<=xa{2,})b
(?<=a*x)b
(?<=x.*)b
(?<=.*x.*)b
(?<=.*.*)b
(?<!.*.*)b
(?<=.*?.*)b
(?<=.*.*?)b
(?<=.*+.*)b
(?<=.*.*.*)b
(?<!a*)b
(?<!x.*)b
(?<!.*a)b
(?<=a*|b)b
(?<=(?:a*|b)x)b
(?<=(?:a*|b)x*)b
(?<=(?:a|b)x*)b
(?<=(?:a|b)x*?)b
(?<=a(?:a|b)x*?)b
(?<=(?:a)*)b
(?<=(?:ab)*)b
(?<=(?:aab)*)b
(?<=(?:aab)*?)b
(?<=(?:aab)*+)b
(?<=(?:aabb)*)b
(?<=(aab)*)b
(?<=(a|b)*)b
(?<=(a|b)?)b
(?<=(a|b){0,1})b
(?<=(a|b){1})b
(?<=(a*)?)b
(?<=(?:a*)?x)b
(?<=(?>a*))b
(?<=(?>a*)?)b
(?<=(?>a|b)x*?)b
(?<=(?>a|aa)x*)b
(?<=(?:a|b)?+x*?)b
(?<=x(?>a|b)*?)b
(?<=(?:a*)+)b
(?<=(?=a*)a)b
(?<=(?:)*)b
(?<=\b*)b
(?<=\R*)b
(?<=\R+)b
(?<=\R*?)b
(?<=\d*)b
(?<=[ab]*)b
(?<=[^x]*)b
(?<=\x{1F600}*)b
(?<=.*)\x{1F600}
(?<=a.*)\x{1F600}
(?<=a*).b
(?<=(?<=a*)b)a
(?<=.*\.)v1
(?<!.*\.)v1
(?<=\1*)b
(?<=a{1000000})b
(?<=a{0,1000000})b
(?<=a{2147483647})b
(?<=a{2147483647}b)b
(?<=(?:a{2147483647}){2})b
"""

# One or two characters of each kind that Java tells apart in a grapheme cluster.
CLUSTERED = ["a", "\r", "\n", "\u0007", "\u200b", "\u0301", "\u20dd", "\u200d", "\U0001F1E6", "\U0001F1FF", "\u0600", "\u0d4e", "\u0903",
             "\u102b", "\u1100", "\u1161", "\u11a8", "\uac00", "\uac01", "\u00a9", "\U0001F600", "\U0001F3FB", "\u200c", "\U000E0020", "\u0378",
             "\u0e33", "\u0020", "\U0001F468"]

NAMED = (["Alphabetic", "Assigned", "Control", "Hex_Digit", "Ideographic", "Join_Control", "Letter", "Lowercase",
          "Noncharacter_Code_Point", "Titlecase", "Punctuation", "Uppercase", "White_Space", "Word"],
         ["Alpha", "Lower", "Upper", "Space", "Punct", "XDigit", "Alnum", "Cntrl", "Digit", "Blank", "Graph", "Print", "ASCII"],
         ["Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs", "Pd", "Ps",
          "Pe", "Pc", "Po", "Sm", "Sc", "Sk", "So", "Pi", "Pf", "L", "M", "N", "Z", "C", "P", "S", "LC", "LD", "L1", "all",
          "javaLowerCase", "javaUpperCase", "javaAlphabetic", "javaIdeographic", "javaTitleCase", "javaDigit", "javaDefined",
          "javaLetter", "javaLetterOrDigit", "javaJavaIdentifierStart", "javaJavaIdentifierPart", "javaUnicodeIdentifierStart",
          "javaUnicodeIdentifierPart", "javaIdentifierIgnorable", "javaSpaceChar", "javaWhitespace", "javaISOControl", "javaMirrored"])


def scalars(rng, count):
    found = []
    while len(found) < count:
        code = rng.choice([rng.randrange(0x80, 0x3000), rng.randrange(0x3000, 0x10000), rng.randrange(0x10000, 0x20000),
                           rng.randrange(0x110000)])
        if not 0xD800 <= code <= 0xDFFF:
            found.append(chr(code))
    return found


def by_hand(rng):
    for pattern in HAND.split("\n")[1:-1]:
        yield [pattern, *BASE]
    yield ["(?x)a # c\nb", *BASE]
    yield ["(?x)a # c\u0085b", *BASE, "a\u0085b"]
    yield ["(?xd)a # c\rb\nb", *BASE]
    yield ["a\x00", *BASE]
    # Every property on characters from everywhere: the tables themselves.
    for group, names in zip(("Is", "", ""), NAMED):
        for name in names:
            for flags in ("", "(?i)", "(?U)", "(?iU)"):
                yield [f"{flags}\\p{{{group}{name}}}", *scalars(rng, 12)]
    for name in ("LATIN", "GREEK", "CYRILLIC", "HAN", "ARABIC", "COMMON", "INHERITED", "UNKNOWN", "HIRAGANA"):
        yield [f"\\p{{Is{name}}}", *scalars(rng, 30)]
    for name in ("Latin1Supplement", "Latin-1 Supplement", "CJKUnifiedIdeographs", "GREEK", "Greek and Coptic", "HangulSyllables",
                 "PrivateUseArea", "HighSurrogates", "Cyrillic", "CombiningMarksforSymbols"):
        yield [f"\\p{{In{name}}}", *scalars(rng, 30)]
    # Every character that has a case, in its three readings.
    for code in range(0x110000):
        char = chr(code)
        if 0xD800 <= code <= 0xDFFF or (char.lower() == char.upper() == char) or rng.random() > 0.06:
            continue
        others = [char, char.lower(), char.upper(), char.title(), char.casefold()]
        others = [o for o in dict.fromkeys(others) if len(o) == 1]
        pattern = rng.choice(["(?iu)%s", "(?iu)[%s]", "(?iu)%s%s", "(?iu)[%s-%s]", "(?i)%s", "(?iu)(%s)\\1", "(?iu)[^%s]"])
        yield [pattern.replace("%s", char), *others, *[a + b for a in others for b in others]]


ATOMS = ["a", "b", "c", "ab", ".", "\\d", "\\w", "\\s", "[ab]", "[^a]", "[a-c&&[^b]]", "\\b", "\\B", "^", "$", "\\R", "\u00e9",
         "\U0001F600", "\\n", "\\p{L}", "\\z", "\\Z", "\\x{1F600}", "(?i)", "\\P{L}", "[\\w&&\\D]", "[^\\w]", "\\W"]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "*?", "+?", "??", "{1,2}?", "*+", "++", "?+", "{2}+"]
ALPHABET = ["a", "b", "c", "a", "b", " ", "\n", "\r", "\r\n", "1", "_", "\u00e9", "\u0301", "\U0001F600", "\U00010400", "\u0085", "A"]


PECULIAR_ATOMS = ["\\X", "\\X", "\\G", "\\N{LATIN SMALL LETTER A}", "[\\N{LATIN SMALL LETTER A}-c]", "a{2}{2}", "b*{1,2}", "(?<=a*)", "(?<=b+?)",
                  "(?<!a*b)", "(?<=a.*)", "(?<!.*.*)", "(?<=(?:a*|b)a)", "(?<=\\R*b)", "(?<=[ab]{2,})"]


def random_pattern(rng, depth=0, atoms=ATOMS):
    def piece():
        choice = rng.random()
        if choice < 0.5 or depth > 3:
            text = rng.choice(atoms)
        elif choice < 0.62:
            text = "(" + random_pattern(rng, depth + 1, atoms) + ")"
        elif choice < 0.76:
            text = "(?:" + random_pattern(rng, depth + 1, atoms) + ")"
        elif choice < 0.8:
            text = "(?=" + random_pattern(rng, depth + 1, atoms) + ")"
        elif choice < 0.84:
            text = "(?!" + random_pattern(rng, depth + 1, atoms) + ")"
        elif choice < 0.88:
            text = rng.choice(["(?<=", "(?<!"]) + random_pattern(rng, depth + 2, atoms) + ")"
        elif choice < 0.92:
            text = "(?>" + random_pattern(rng, depth + 1, atoms) + ")"
        else:
            text = rng.choice(["\\1", "\\2", "\\1", "\\3"])
        if rng.random() < 0.4 and text != "(?i)":
            text += rng.choice(QUANTIFIERS)
        return text

    branches = ["".join(piece() for _ in range(rng.randint(0 if rng.random() < 0.2 else 1, 3)))
                for _ in range(rng.choice([1, 1, 1, 2, 2, 3]))]
    return "|".join(branches)


def at_random(rng, count):
    for _ in range(count):
        prefix = rng.choice(["", "", "", "", "(?i)", "(?m)", "(?s)", "(?d)", "(?U)", "(?iu)", "(?ms)"])
        subjects = ["".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, 9))) for _ in range(8)]
        yield [prefix + random_pattern(rng), *subjects]


def peculiar(rng):
    for pattern in PECULIAR.split("\n")[1:-1]:
        yield [pattern, *BASE, "aabb", "xb", "xaab", "aaxb", "aabaabb"]
    for first in CLUSTERED:
        yield ["\\X", *[first + second for second in CLUSTERED]]
        yield ["\\X(.*)", *["".join([first, *rng.choices(CLUSTERED, k=rng.randint(1, 5))]) for _ in range(20)]]
    # What is before the last two counts where pictures are joined, and for every second letter of a flag.
    pictures, flags = ["\U0001F468", "\u00a9", "\u0301", "a"], ["\U0001F1E6", "\U0001F1FF"]
    joined = [first + mark + "\u200d" + second for first in pictures for mark in ("", "\u0301") for second in pictures]
    yield ["\\X", *joined, *[first + "\u200d" + "\U0001F468\u200d\u00a9" for first in pictures]]
    for pattern in ("\\X", "\\X\\X", "\\X{3}", "\\X+b"):
        yield [pattern, *[before + flags[0] * count + after for before in ("", "a", "\u0600") for count in range(1, 7) for after in ("", "b")]]
    for pattern in ("\\X", "\\X\\X", "\\X+b", "\\X{2,}", "a\\X", "(\\X)\\1"):
        yield [pattern, *["".join(rng.choices(CLUSTERED + ["b", "\u200d", "\U0001F1E6"], k=rng.randint(1, 6))) for _ in range(40)]]
    for code in range(0x80):
        name = unicodedata.name(chr(code), "")
        if name:
            yield [f"\\N{{{name}}}", chr(code), chr(code + 1)]
    for _ in range(500):
        subjects = ["".join(rng.choice(ALPHABET) for _ in range(rng.randint(0, 9))) for _ in range(8)]
        yield [rng.choice(["", "", "", "(?i)", "(?m)", "(?s)"]) + random_pattern(rng, 0, ATOMS + PECULIAR_ATOMS), *subjects]


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 17
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
    rng = random.Random(seed)
    questions = [*by_hand(rng), *at_random(rng, count), *peculiar(random.Random(18))] if seed == 17 else [*at_random(rng, count), *peculiar(rng)]
    for question in questions:
        print(json.dumps(question, separators=(",", ":")))


main()
