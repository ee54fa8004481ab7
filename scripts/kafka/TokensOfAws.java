import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * Lets in whoever shows a token of AWS IAM, as Amazon MSK does: the token is a signed request, and the AWS of the test, whose address
 * is in the system property tokens.verifier, says whose it is.
 */
public class TokensOfAws implements AuthenticateCallbackHandler {
    private final HttpClient client = HttpClient.newHttpClient();

    @Override
    public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {}

    @Override
    public void handle(Callback[] callbacks) {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerValidatorCallback asked) {
                verify(asked);
            }
        }
    }

    private void verify(OAuthBearerValidatorCallback asked) {
        try {
            // A token is of letters, digits, `-` and `_`.
            URI verifier = URI.create(System.getProperty("tokens.verifier") + asked.tokenValue());
            HttpResponse<String> answer =
                    client.send(HttpRequest.newBuilder(verifier).build(), HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                asked.error("invalid_token", null, null);
                return;
            }
            // Its end in milliseconds, and whose it is.
            String[] parts = answer.body().split(" ");
            asked.token(new Token(asked.tokenValue(), Long.parseLong(parts[0]), parts[1]));
        } catch (Exception error) {
            asked.error("invalid_token", null, null);
        }
    }

    @Override
    public void close() {}

    private record Token(String value, long lifetimeMs, String principalName) implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }

        @Override
        public Long startTimeMs() {
            return null;
        }
    }
}
