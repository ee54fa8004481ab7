//! Every bound of the binary, with its reason.

use std::time::Duration;

/// Longest shutdown. Pipelines bound their own last commits well below this; supervisors commonly kill after 30 s.
pub(crate) const SHUTDOWN_WAIT: Duration = Duration::from_secs(25);

/// How long a deleted table can be restored unless the configuration says otherwise.
pub(crate) const TRASH_RETENTION: Duration = Duration::from_secs(7 * 24 * 3600);

/// Largest configuration file that is read: a larger one is a mistake in the path.
pub(crate) const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Longest span of time that a setting may have: ten years. Beyond it, arithmetic on times stops being safe.
pub(crate) const SETTING_SECS_MAX: u64 = 10 * 366 * 24 * 3600;
