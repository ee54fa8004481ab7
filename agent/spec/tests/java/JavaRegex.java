// Asks Java's own java.util.regex: reads questions from standard input, writes answers to standard output.
//
//   python3 questions.py | java JavaRegex.java > ../data/java_regex.jsonl
//
// A question is a line ["pattern", "subject", …]. An answer repeats it and says whether `find` and `matches` hold, a digit for each
// subject in order (`x` where Java itself gives up with an overflow of its stack), or what Java has against the pattern.
// Everything is ASCII; other characters are escaped by UTF-16 units.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

public class JavaRegex {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            List<String> question = texts(line);
            out.println(answer(question.get(0), question.subList(1, question.size())));
        }
        out.flush();
    }

    static String answer(String text, List<String> subjects) {
        StringBuilder line = new StringBuilder("{\"pattern\":" + quoted(text));
        Pattern pattern;
        try {
            pattern = Pattern.compile(text);
        } catch (PatternSyntaxException problem) {
            return line + ",\"error\":" + quoted(problem.getDescription()) + "}";
        } catch (RuntimeException | StackOverflowError problem) {
            return line + ",\"error\":" + quoted(problem.getClass().getSimpleName()) + "}";
        }
        StringBuilder find = new StringBuilder();
        StringBuilder matches = new StringBuilder();
        line.append(",\"subjects\":[");
        for (String subject : subjects) {
            if (find.length() > 0) line.append(',');
            line.append(quoted(subject));
            find.append(one(() -> pattern.matcher(subject).find()));
            matches.append(one(() -> pattern.matcher(subject).matches()));
        }
        return line + "],\"find\":\"" + find + "\",\"matches\":\"" + matches + "\"}";
    }

    interface Asked {
        boolean ask();
    }

    static char one(Asked asked) {
        try {
            return asked.ask() ? '1' : '0';
        } catch (StackOverflowError | RuntimeException problem) {
            return 'x';
        }
    }

    /** The strings of a JSON array of strings. */
    static List<String> texts(String line) {
        List<String> found = new ArrayList<>();
        StringBuilder text = null;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (text == null) {
                if (c == '"') text = new StringBuilder();
            } else if (c == '"') {
                found.add(text.toString());
                text = null;
            } else if (c != '\\') {
                text.append(c);
            } else {
                c = line.charAt(++i);
                switch (c) {
                    case 'n' -> text.append('\n');
                    case 'r' -> text.append('\r');
                    case 't' -> text.append('\t');
                    case 'b' -> text.append('\b');
                    case 'f' -> text.append('\f');
                    case 'u' -> {
                        text.append((char) Integer.parseInt(line.substring(i + 1, i + 5), 16));
                        i += 4;
                    }
                    default -> text.append(c);
                }
            }
        }
        return found;
    }

    static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < 0x20 || c > 0x7E) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        return out.append('"').toString();
    }
}
