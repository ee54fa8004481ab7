//! What to do about storage that fails, by the operating system's own word for it. Pure.
//!
//! Invariant: the words end an error's text; an error that no operating system gave has said itself what to do.

use std::error::Error;
use std::io::{self, ErrorKind};

/// The end of the text of a storage error with that source; empty where there is nothing to add.
pub(super) fn of(source: &(dyn Error + 'static)) -> &'static str {
    match system_error(source).map(io::Error::kind) {
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => "; free space there, it is tried again by itself",
        Some(ErrorKind::FileTooLarge) => "; raise the limit on the size of files, it is tried again by itself",
        Some(ErrorKind::PermissionDenied) => "; let the agent's user write there, it is tried again by itself",
        Some(ErrorKind::ReadOnlyFilesystem) => "; mount it for writing, it is tried again by itself",
        Some(_) => "; see whether the disk is well, it is tried again by itself",
        None => "",
    }
}

/// Whether a storage error with that source says that there is no space.
pub(super) fn is_full(source: &(dyn Error + 'static)) -> bool {
    let kind = system_error(source).map(io::Error::kind);
    matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

/// The operating system's error that this one comes from, if it does.
fn system_error<'error>(error: &'error (dyn Error + 'static)) -> Option<&'error io::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        match error.downcast_ref::<io::Error>() {
            Some(io) if io.raw_os_error().is_some() || io.get_ref().is_none() => return Some(io),
            // One that carries another: that one may be the system's.
            Some(io) => next = io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
            None => next = error.source(),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use parquet::errors::ParquetError;

    use super::*;

    #[test]
    fn an_error_of_the_system_says_what_to_do_however_deep_it_is() {
        let of_system = |errno: rustix::io::Errno| io::Error::from(errno);
        for (errno, remedy) in [
            (rustix::io::Errno::NOSPC, "free space"),
            (rustix::io::Errno::DQUOT, "free space"),
            (rustix::io::Errno::FBIG, "limit on the size of files"),
            (rustix::io::Errno::ACCESS, "let the agent's user write there"),
            (rustix::io::Errno::PERM, "let the agent's user write there"),
            (rustix::io::Errno::ROFS, "mount it for writing"),
            (rustix::io::Errno::IO, "see whether the disk is well"),
        ] {
            assert!(of(&of_system(errno)).contains(remedy), "{errno}");
            let wrapped = ParquetError::External(Box::new(io::Error::other(of_system(errno))));
            assert!(of(&wrapped).contains(remedy), "{errno} inside two others");
        }
        let text: Box<dyn Error + Send + Sync> = "the mark is missing".into();
        assert_eq!(of(text.as_ref()), "");
        assert_eq!(of(&io::Error::other("too large to be read")), "");
    }
}
