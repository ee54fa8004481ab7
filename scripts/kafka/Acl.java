// Acl BOOTSTRAP (DENY | FORGET) USER OPERATION RESOURCE_TYPE RESOURCE: what a user may not do, while everybody may do anything else with it;
// FORGET takes the user's rule away. Run from its source.
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AccessControlEntryFilter;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

public class Acl {
    public static void main(String[] arguments) throws Exception {
        String user = "User:" + arguments[2];
        AclOperation operation = AclOperation.valueOf(arguments[3]);
        var resource = new ResourcePattern(ResourceType.valueOf(arguments[4]), arguments[5], PatternType.LITERAL);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            if (arguments[1].equals("FORGET")) {
                var ofUser = new AccessControlEntryFilter(user, null, operation, AclPermissionType.ANY);
                admin.deleteAcls(List.of(new AclBindingFilter(resource.toFilter(), ofUser))).all().get();
            } else {
                // Whatever has a rule is closed to everybody whom no rule lets in.
                var others = new AccessControlEntry("User:*", "*", AclOperation.ALL, AclPermissionType.ALLOW);
                var entry = new AccessControlEntry(user, "*", operation, AclPermissionType.valueOf(arguments[1]));
                admin.createAcls(List.of(new AclBinding(resource, others), new AclBinding(resource, entry))).all().get();
            }
        }
    }
}
