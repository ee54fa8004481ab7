package registry;

import io.apicurio.common.apps.config.DynamicConfigPropertyList;
import java.util.ArrayList;
import javax.enterprise.context.ApplicationScoped;
import javax.enterprise.inject.Produces;

/** The list of settings that may be changed while the registry runs: none. */
public class Settings {
    @Produces
    @ApplicationScoped
    public DynamicConfigPropertyList changeable() {
        return new DynamicConfigPropertyList(new ArrayList<>());
    }
}
