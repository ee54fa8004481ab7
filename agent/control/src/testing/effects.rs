//! Effects on the world, counted, so that a test can make the n-th one fail or end the process around it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens at one effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    #[default]
    None,
    /// It has no effect and reports an error.
    Fail(usize),
    /// It and every later one have no effect and report an error.
    FailFrom(usize),
    /// The process ends before it.
    CrashBefore(usize),
    /// The process ends after it.
    CrashAfter(usize),
}

/// The counter of one world.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    count: AtomicUsize,
    fault: std::sync::Mutex<Fault>,
}

/// The error of an effect that was made to fail.
#[derive(Debug)]
pub(crate) struct MadeToFail;

impl Effects {
    /// From now on, with the count at zero.
    pub(crate) fn arm(&self, fault: Fault) {
        self.count.store(0, Ordering::SeqCst);
        *self.fault.lock().unwrap() = fault;
    }

    /// Effects since `arm`.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Makes one effect.
    pub(crate) fn make<T>(&self, effect: impl FnOnce() -> T) -> Result<T, MadeToFail> {
        let number = self.count.fetch_add(1, Ordering::SeqCst);
        let fault = *self.fault.lock().unwrap();
        match fault {
            Fault::Fail(at) if at == number => return Err(MadeToFail),
            Fault::FailFrom(at) if at <= number => return Err(MadeToFail),
            Fault::CrashBefore(at) if at == number => panic!("the process ends before effect {number}"),
            _ => {}
        }
        let result = effect();
        assert!(fault != Fault::CrashAfter(number), "the process ends after effect {number}");
        Ok(result)
    }
}
