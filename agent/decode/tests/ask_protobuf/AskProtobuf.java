import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.UninitializedMessageException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Answers what Spark's from_protobuf makes of messages: protobuf-java parses, as in Spark; the layer on top follows the rules in
 * the head of generate.py.
 *
 * Standard input: lines "schema BASE64_OF_A_FILE_DESCRIPTOR_SET MESSAGE_NAME" and "message BASE64". Standard output: one line of
 * JSON for each message.
 */
public final class AskProtobuf {
    private static final Set<String> WRAPPERS = Set.of(
            "google.protobuf.BoolValue", "google.protobuf.Int32Value", "google.protobuf.Int64Value",
            "google.protobuf.UInt32Value", "google.protobuf.UInt64Value", "google.protobuf.FloatValue",
            "google.protobuf.DoubleValue", "google.protobuf.StringValue", "google.protobuf.BytesValue");

    private AskProtobuf() {}

    public static void main(String[] arguments) throws Exception {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new StringBuilder();
        Descriptor type = null;
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ", -1);
            byte[] bytes = Base64.getDecoder().decode(words[1]);
            if (words[0].equals("schema")) {
                type = find(FileDescriptorSet.parseFrom(bytes), words[2]);
            } else {
                output.append(answer(type, bytes)).append('\n');
            }
        }
        System.out.write(output.toString().getBytes(StandardCharsets.UTF_8));
        System.out.flush();
    }

    private static Descriptor find(FileDescriptorSet files, String name) throws Exception {
        Map<String, FileDescriptor> built = new HashMap<>();
        Descriptor found = null;
        for (FileDescriptorProto file : files.getFileList()) {
            List<FileDescriptor> imports = new ArrayList<>();
            for (String imported : file.getDependencyList()) {
                imports.add(built.get(imported));
            }
            FileDescriptor descriptor = FileDescriptor.buildFrom(file, imports.toArray(new FileDescriptor[0]));
            built.put(file.getName(), descriptor);
            String prefix = file.getPackage().isEmpty() ? "" : file.getPackage() + ".";
            if (name.startsWith(prefix)) {
                Descriptor candidate = descriptor.findMessageTypeByName(name.substring(prefix.length()));
                found = candidate == null ? found : candidate;
            }
        }
        return found;
    }

    private static String answer(Descriptor type, byte[] bytes) {
        try {
            DynamicMessage message = DynamicMessage.parseFrom(type, bytes);
            for (Integer number : message.getUnknownFields().asMap().keySet()) {
                if (type.findFieldByNumber(number) != null) {
                    return "null";
                }
            }
            var out = new StringBuilder();
            struct(message, out);
            return out.toString();
        } catch (InvalidProtocolBufferException | UninitializedMessageException | ArithmeticException unreadable) {
            return "null";
        }
    }

    private static void struct(Message message, StringBuilder out) {
        String before = "{";
        for (FieldDescriptor field : message.getDescriptorForType().getFields()) {
            if (!hasColumn(field)) {
                continue;
            }
            out.append(before);
            before = ",";
            text(field.getName(), out);
            out.append(':');
            value(message, field, out);
        }
        out.append(before.equals("{") ? "{}" : "}");
    }

    private static boolean hasColumn(FieldDescriptor field) {
        if (field.isMapField()) {
            return hasColumn(field.getMessageType().findFieldByNumber(2));
        }
        return field.getJavaType() != FieldDescriptor.JavaType.MESSAGE
                || field.getMessageType().getFields().stream().anyMatch(AskProtobuf::hasColumn);
    }

    private static void value(Message message, FieldDescriptor field, StringBuilder out) {
        if (field.isMapField()) {
            list((List<?>) message.getField(field), out, entry -> {
                var pair = (Message) entry;
                out.append('[');
                one(field.getMessageType().findFieldByNumber(1), pair.getField(field.getMessageType().findFieldByNumber(1)), out);
                out.append(',');
                one(field.getMessageType().findFieldByNumber(2), pair.getField(field.getMessageType().findFieldByNumber(2)), out);
                out.append(']');
            });
        } else if (field.isRepeated()) {
            list((List<?>) message.getField(field), out, element -> one(field, element, out));
        } else if (field.hasDefaultValue() || message.hasField(field)) {
            one(field, message.getField(field), out);
        } else {
            out.append("null");
        }
    }

    private static void list(List<?> elements, StringBuilder out, java.util.function.Consumer<Object> each) {
        out.append('[');
        for (int index = 0; index < elements.size(); index++) {
            if (index > 0) {
                out.append(',');
            }
            each.accept(elements.get(index));
        }
        out.append(']');
    }

    private static void one(FieldDescriptor field, Object value, StringBuilder out) {
        switch (field.getType()) {
            case UINT32 -> out.append(Integer.toUnsignedLong((Integer) value));
            case UINT64 -> text(new BigInteger(Long.toUnsignedString((Long) value)).toString(), out);
            case FLOAT -> number((double) (Float) value, out);
            case DOUBLE -> number((Double) value, out);
            case STRING -> text((String) value, out);
            case BYTES -> text(Base64.getEncoder().encodeToString(((ByteString) value).toByteArray()), out);
            case ENUM -> text(((EnumValueDescriptor) value).getName(), out);
            case MESSAGE, GROUP -> message((Message) value, out);
            default -> out.append(value);
        }
    }

    private static void message(Message message, StringBuilder out) {
        Descriptor type = message.getDescriptorForType();
        List<String> names = type.getFields().stream().map(FieldDescriptor::getName).toList();
        boolean isTime = type.getName().equals("Timestamp") || type.getName().equals("Duration");
        if (WRAPPERS.contains(type.getFullName())) {
            value(message, type.findFieldByName("value"), out);
        } else if (isTime && names.equals(List.of("seconds", "nanos"))) {
            long seconds = (Long) message.getField(type.getFields().get(0));
            int nanos = (Integer) message.getField(type.getFields().get(1));
            out.append(Math.multiplyExact(seconds * 1000, 1000L) + TimeUnit.NANOSECONDS.toMicros(nanos));
        } else {
            struct(message, out);
        }
    }

    private static void number(double value, StringBuilder out) {
        if (Double.isNaN(value) || Double.isInfinite(value)) {
            text(Double.toString(value), out);
        } else {
            out.append(value);
        }
    }

    private static void text(String text, StringBuilder out) {
        out.append('"');
        for (int index = 0; index < text.length(); index++) {
            char unit = text.charAt(index);
            if (unit == '"' || unit == '\\') {
                out.append('\\').append(unit);
            } else if (unit < ' ') {
                out.append(String.format("\\u%04x", (int) unit));
            } else {
                out.append(unit);
            }
        }
        out.append('"');
    }
}
