//! What the process takes of the machine, and of Kafka clusters, at a moment: for whoever watches the agent.
//!
//! Invariant: looking changes nothing, contacts nobody, and never fails; what cannot be told is zero.

use crate::kafka::client_count::ClientCount;

/// What is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Kafka clients that are open, those that are being closed among them.
    pub kafka_clients: usize,
    /// As many as may be open.
    pub kafka_clients_max: usize,
    /// Questions about topics that they asked since the agent's start.
    pub kafka_metadata_requests: u64,
    /// Questions about offsets that they asked since the agent's start.
    pub kafka_offset_requests: u64,
    /// Threads of the process.
    pub threads: u64,
    /// Memory that the process holds.
    pub memory_bytes: u64,
}

impl Usage {
    pub(crate) fn of(clients: &ClientCount) -> Self {
        // Written by the kernel, from memory.
        let process = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self {
            kafka_clients: clients.open(),
            kafka_clients_max: clients.max(),
            kafka_metadata_requests: clients.metadata_requests(),
            kafka_offset_requests: clients.offset_requests(),
            threads: number(&process, "Threads:"),
            memory_bytes: 1024 * number(&process, "VmRSS:"),
        }
    }
}

/// The number behind a name at the beginning of a line.
fn number(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value
        .and_then(|value| value.split_whitespace().next())
        .and_then(|value| value.parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_threads_and_memory() {
        let usage = Usage::of(&ClientCount::new(7));
        assert!(usage.threads > 0 && usage.memory_bytes > 1 << 20, "{usage:?}");
        assert_eq!((usage.kafka_clients, usage.kafka_clients_max), (0, 7));
        assert_eq!(number("VmHWM:\t 5 kB\nVmRSS:\t 1234 kB\n", "VmRSS:"), 1234);
        assert_eq!(number("VmRSS: none", "VmRSS:"), 0);
    }
}
