//! Numbers that look random and repeat with their seed: SplitMix64, which needs no dependency and is plenty for test data.

/// A generator of 64-bit numbers.
pub struct Random(u64);

impl Random {
    /// The one of that seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One below a bound, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.any() % u64::try_from(bound).unwrap()).unwrap()
    }

    /// Puts some things into any order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for end in (1..things.len()).rev() {
            things.swap(end, self.below(end + 1));
        }
    }

    /// Between zero and one.
    pub fn fraction(&mut self) -> f64 {
        f64::from(u32::try_from(self.any() >> 32).unwrap()) / f64::from(u32::MAX)
    }
}
