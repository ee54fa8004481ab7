//! The path of a file in a volume, `/Volumes/<catalog>/<schema>/<volume>/<file>`. Plans and the agent read it by the same rules.

use crate::name::VolumeName;

/// Where volumes are.
const ROOT: &str = "/Volumes/";

/// How a path is written.
pub const VOLUME_PATH_FORM: &str = "/Volumes/<catalog>/<schema>/<volume>/<file>";

/// A file in a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumePath {
    /// The volume.
    pub volume: VolumeName,
    /// The parts below it: none is empty, `.` or `..`.
    parts: Vec<String>,
}

impl VolumePath {
    /// Parses a path; says what is wrong with it.
    pub fn parse(path: &str) -> Result<Self, String> {
        let below = path.strip_prefix(ROOT).ok_or("it does not begin with /Volumes/")?;
        let parts: Vec<&str> = below.split('/').collect();
        let [catalog, schema, volume, rest @ ..] = parts.as_slice() else {
            return Err("it names no file".to_owned());
        };
        let volume = VolumeName::parse(&format!("{catalog}.{schema}.{volume}")).map_err(|error| error.problem)?;
        if rest.is_empty() {
            return Err("it names no file".to_owned());
        }
        for part in rest {
            let problem = match *part {
                "" => "a part of it is empty",
                "." | ".." => "a part of it is `.` or `..`",
                part if part.chars().any(char::is_control) => "it holds a control character",
                part if is_percent_encoded(part) => "it is percent-encoded, and paths are read as they are",
                _ => continue,
            };
            return Err(problem.to_owned());
        }
        Ok(Self {
            volume,
            parts: rest.iter().map(|part| (*part).to_owned()).collect(),
        })
    }

    /// The file relative to its volume.
    pub fn below(&self) -> String {
        self.parts.join("/")
    }
}

/// The folder in which a volume's files are, as paths name it.
pub fn folder_of(volume: &VolumeName) -> String {
    format!("{ROOT}{}/", volume.as_str().replace('.', "/"))
}

fn is_percent_encoded(part: &str) -> bool {
    part.as_bytes()
        .windows(3)
        .any(|window| matches!(window, [b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit()))
}
