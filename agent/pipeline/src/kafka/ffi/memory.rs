//! Where the memory of fetched records comes from: the C library's allocator, which librdkafka uses.

use crate::limits;

/// Lets the threads of this process share few arenas of the C library's allocator, where it has such. Records are allocated by
/// a client's thread and freed by the one that has decoded them: with an arena for each thread, each keeps what was freed for
/// itself. Threads that run already keep the arena that they have.
pub fn share_arenas() {
    // SAFETY: writes a number of the allocator's, under its lock.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, limits::MALLOC_ARENAS_MAX);
    }
}
