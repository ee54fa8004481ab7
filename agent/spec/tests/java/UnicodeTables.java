// Writes agent/spec/src/regex/unicode.txt: what Java 17's `Character` says of every code point, as far as its regular
// expressions ask. The form of the lines is described in agent/spec/src/regex/unicode.rs.
//
//   java --add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.util.regex=ALL-UNNAMED \
//       UnicodeTables.java > ../../src/regex/unicode.txt
//
// The opened packages are needed for what Java keeps to itself: the names by which scripts and blocks are known, and what a
// character is in a grapheme cluster.

import java.lang.Character.UnicodeBlock;
import java.lang.Character.UnicodeScript;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntPredicate;
import java.util.function.IntUnaryOperator;

public class UnicodeTables {
    static final int LAST = Character.MAX_CODE_POINT;

    public static void main(String[] arguments) throws Exception {
        System.setOut(new java.io.PrintStream(System.out, true, StandardCharsets.US_ASCII));
        String[] categories = {
            "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Me", "Mc", "Nd", "Nl", "No", "Zs", "Zl", "Zp", "Cc", "Cf", null, "Co", "Cs",
            "Pd", "Ps", "Pe", "Pc", "Po", "Sm", "Sc", "Sk", "So", "Pi", "Pf"
        };
        for (int type = 0; type < categories.length; type++) {
            int wanted = type;
            if (categories[type] != null) set("category", categories[type], cp -> Character.getType(cp) == wanted);
        }
        set("property", "Alphabetic", Character::isAlphabetic);
        set("property", "Ideographic", Character::isIdeographic);
        set("property", "Lowercase", Character::isLowerCase);
        set("property", "Uppercase", Character::isUpperCase);
        set("property", "JavaIdentifierStart", Character::isJavaIdentifierStart);
        set("property", "JavaIdentifierPart", Character::isJavaIdentifierPart);
        set("property", "UnicodeIdentifierStart", Character::isUnicodeIdentifierStart);
        set("property", "UnicodeIdentifierPart", Character::isUnicodeIdentifierPart);
        set("property", "IdentifierIgnorable", Character::isIdentifierIgnorable);
        set("property", "JavaWhitespace", Character::isWhitespace);
        set("property", "Mirrored", Character::isMirrored);
        for (Map.Entry<Object, TreeSet<String>> script : names(UnicodeScript.class, "aliases").entrySet()) {
            set("script", String.join("|", script.getValue()), cp -> UnicodeScript.of(cp) == script.getKey());
        }
        for (Map.Entry<Object, TreeSet<String>> block : names(UnicodeBlock.class, "map").entrySet()) {
            set("block", String.join("|", block.getValue()), cp -> UnicodeBlock.of(cp) == block.getKey());
        }
        Method kind = Class.forName("java.util.regex.Grapheme").getDeclaredMethod("getType", int.class);
        kind.setAccessible(true);
        // In the order in which Java numbers them, from 0.
        String[] kinds = {
            null, "CR", "LF", "Control", "Extend", "ZWJ", "Regional_Indicator", "Prepend", "SpacingMark", "L", "V", "T", "LV", "LVT",
            "Extended_Pictographic"
        };
        int[] kindOf = new int[LAST + 1];
        for (int cp = 0; cp <= LAST; cp++) kindOf[cp] = (int) kind.invoke(null, cp);
        for (int index = 1; index < kinds.length; index++) {
            int wanted = index;
            set("grapheme", kinds[index], cp -> kindOf[cp] == wanted);
        }
        for (int ascii = 0; ascii < 0x80; ascii++) {
            int wanted = ascii;
            set("name", Character.getName(ascii), cp -> cp == wanted);
        }
        runs("upper", Character::toUpperCase);
        runs("lower", Character::toLowerCase);
    }

    /** The names of each script or block: the ones in Java's private map, and a script's own. */
    static Map<Object, TreeSet<String>> names(Class<?> owner, String field) throws Exception {
        Field known = owner.getDeclaredField(field);
        known.setAccessible(true);
        Map<Object, TreeSet<String>> found = new TreeMap<>((left, right) -> left.toString().compareTo(right.toString()));
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) known.get(null)).entrySet()) {
            found.computeIfAbsent(entry.getValue(), key -> new TreeSet<>()).add(entry.getKey().toString());
        }
        if (owner == UnicodeScript.class) {
            for (UnicodeScript script : UnicodeScript.values()) {
                found.computeIfAbsent(script, key -> new TreeSet<>()).add(script.name());
            }
        }
        return found;
    }

    static void set(String kind, String name, IntPredicate in) {
        StringBuilder line = new StringBuilder(kind + "\t" + name + "\t");
        int after = 0;
        for (int cp = 0; cp <= LAST; cp++) {
            if (!in.test(cp)) continue;
            int start = cp;
            while (cp < LAST && in.test(cp + 1)) cp++;
            line.append(after == 0 && line.charAt(line.length() - 1) == '\t' ? "" : " ").append(Integer.toHexString(start - after));
            if (cp > start) line.append('+').append(Integer.toHexString(cp - start));
            after = cp + 1;
        }
        System.out.println(line);
    }

    /** Runs of code points, one or two apart, that a mapping moves by the same distance. */
    static void runs(String name, IntUnaryOperator map) {
        List<String> runs = new ArrayList<>();
        int cp = 0;
        while (cp <= LAST) {
            int moved = map.applyAsInt(cp) - cp;
            if (moved == 0) {
                cp++;
                continue;
            }
            int best = 1;
            int step = 1;
            for (int candidate = 1; candidate <= 2; candidate++) {
                int count = 1;
                while (cp + count * candidate <= LAST
                        && map.applyAsInt(cp + count * candidate) == cp + count * candidate + moved
                        && (candidate == 1 || map.applyAsInt(cp + count * candidate - 1) == cp + count * candidate - 1)) count++;
                if (count > best) {
                    best = count;
                    step = candidate;
                }
            }
            runs.add(Integer.toHexString(cp) + ":" + Integer.toHexString(best) + ":" + step + ":" + moved);
            cp += (best - 1) * step + 1;
        }
        System.out.println("map\t" + name + "\t" + String.join(" ", runs));
    }
}
