//! Where the memory of fetched records comes from, and all other: the C library's allocator, which librdkafka uses.

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

/// Gives memory that was freed back to the system: the allocator keeps what lies below the last piece that is in use, for as long as
/// the process lives. For after work that took much for a short time and comes seldom; it takes milliseconds.
pub(crate) fn give_back_memory() {
    // SAFETY: looks through the allocator's own lists, under their locks, and touches free pages only.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}
