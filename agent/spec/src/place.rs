//! Where an agent keeps its data unless it is told otherwise, so that what runs on the same machine finds its admin token
//! without being told. Only names are worked out here; who calls looks.

use std::path::PathBuf;

/// The environment variable that names an agent's data folder.
pub const DATA_DIR_VARIABLE: &str = "FEATURESTORE_AGENT_DATA_DIR";

/// The file in the data folder that holds the admin token.
pub const ADMIN_TOKEN_FILE: &str = "admin.token";

/// `featurestore` in the user's data directory, as the XDG base directory specification has it; `None` where the environment
/// names none.
pub fn default_data_dir(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    // The specification says to ignore relative paths.
    let absolute = |name| variable(name).filter(|path: &PathBuf| path.is_absolute());
    match absolute("XDG_DATA_HOME") {
        Some(data) => Some(data.join("featurestore")),
        None => absolute("HOME").map(|home| home.join(".local/share/featurestore")),
    }
}

/// Where the admin token is of an agent that uses this environment: in the data folder that is set, else in the default one.
pub fn admin_token_file(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let set = variable(DATA_DIR_VARIABLE).filter(|path| !path.as_os_str().is_empty());
    let folder = set.or_else(|| default_data_dir(variable))?;
    Some(folder.join(ADMIN_TOKEN_FILE))
}

/// True if what is sent to this host of a URI does not leave the machine.
pub fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    address.eq_ignore_ascii_case("localhost") || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_folder_follows_the_xdg_specification() {
        let cases = [
            (None, Some("/data"), Some("/home/u"), Some("/data/featurestore")),
            (None, Some("relative"), Some("/home/u"), Some("/home/u/.local/share/featurestore")),
            (None, None, Some("/home/u"), Some("/home/u/.local/share/featurestore")),
            (None, None, None, None),
            (Some("/set"), Some("/data"), None, Some("/set")),
            (Some(""), Some("/data"), None, Some("/data/featurestore")),
        ];
        for (set, data, home, folder) in cases {
            let variable = |name: &str| match name {
                DATA_DIR_VARIABLE => set.map(PathBuf::from),
                "HOME" => home.map(PathBuf::from),
                _ => data.map(PathBuf::from),
            };
            let expected = folder.map(|folder| PathBuf::from(folder).join("admin.token"));
            assert_eq!(admin_token_file(variable), expected, "{set:?} {data:?} {home:?}");
        }
    }

    #[test]
    fn loopback_is_this_machine_only() {
        let cases = [
            ("127.0.0.1", true),
            ("127.8.8.8", true),
            ("localhost", true),
            ("LOCALHOST", true),
            ("::1", true),
            ("[::1]", true),
            ("10.0.0.1", false),
            ("localhost.example", false),
            ("127.0.0.1.example", false),
            ("", false),
        ];
        for (host, local) in cases {
            assert_eq!(is_loopback(host), local, "{host}");
        }
    }
}
