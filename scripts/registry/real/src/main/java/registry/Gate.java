package registry;

import io.quarkus.vertx.http.runtime.filters.Filters;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import javax.enterprise.context.ApplicationScoped;
import javax.enterprise.event.Observes;

/**
 * Asks for a user's name and password before anything else, as Confluent's registry does. Quarkus' own way leaves refused
 * requests without an answer here.
 */
@ApplicationScoped
public class Gate {
    private static final int FIRST = 1000;

    void stand(@Observes Filters filters) {
        String user = System.getProperty("registry.user", "");
        if (user.isEmpty()) {
            return;
        }
        String expected = "Basic " + Base64.getEncoder().encodeToString(user.getBytes(StandardCharsets.UTF_8));
        filters.register(exchange -> {
            if (expected.equals(exchange.request().getHeader("Authorization"))) {
                // Apicurio would try to make something of it.
                exchange.request().headers().remove("Authorization");
                exchange.next();
                return;
            }
            exchange.response()
                .setStatusCode(401)
                .putHeader("WWW-Authenticate", "Basic realm=\"schemas\"")
                .putHeader("Content-Type", "application/vnd.schemaregistry.v1+json")
                .end("{\"error_code\":401,\"message\":\"unknown user or password\"}");
        }, FIRST);
    }
}
