// ScramUser BOOTSTRAP USER MECHANISM: gives a user a password of SCRAM, which is read from standard input. Run from its source.
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;

public class ScramUser {
    public static void main(String[] arguments) throws Exception {
        String password = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        ScramMechanism mechanism = ScramMechanism.fromMechanismName(arguments[2]);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            var change = new UserScramCredentialUpsertion(arguments[1], new ScramCredentialInfo(mechanism, 4096), password);
            admin.alterUserScramCredentials(List.of(change)).all().get();
        }
    }
}
