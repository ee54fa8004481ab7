//! Every bound of this package, with its reason.

use std::time::Duration;

/// Digits of one number. Terraform computes with 512 bits, some 155 digits; a longer text is not a number of its making.
pub const NUMBER_DIGITS_MAX: usize = 1024;

/// Bytes of one refinement's encoding. Terraform reads no longer ones; without it a value is simply unknown.
pub const REFINEMENT_BYTES_MAX: usize = 1024;

/// How deep values may nest where no type bounds them: inside facts of a refinement that we do not know.
pub const NESTING_DEPTH_MAX: usize = 32;

/// One message in either direction, as providers written in Go have it. A schema text may be megabytes.
pub const MESSAGE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Tries at a name for the socket's folder. The name holds our process id, so a taken one is a leftover of a killed process.
pub const SOCKET_FOLDER_ATTEMPTS_MAX: u32 = 100;

/// Connections that have shaken hands and wait for the server. Terraform opens one.
pub const CONNECTIONS_WAITING_MAX: usize = 16;

/// One TLS handshake over a local socket. It takes milliseconds; this only bounds a peer that says nothing.
pub const TLS_HANDSHAKE_WAIT_MAX: Duration = Duration::from_secs(10);

/// From the order to exit until we do, whatever is still open. go-plugin kills after two seconds.
pub const EXIT_WAIT_MAX: Duration = Duration::from_secs(1);

/// After a failed accept. Most likely there are no file handles left, and others need the time to close theirs.
pub const ACCEPT_RETRY_WAIT: Duration = Duration::from_millis(100);

/// Between two looks at whether the Terraform that started this process still lives. A look is one system call.
pub const PARENT_LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// From a panic until the call that it broke is answered. Terraform shows a panic only if it has read it from standard error before it
/// ends, and it may end as soon as it has the answer, which comes by another way.
pub const PANIC_READ_WAIT: Duration = Duration::from_millis(250);
