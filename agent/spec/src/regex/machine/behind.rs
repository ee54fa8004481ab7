//! Look-behind: a match that ends where the machine is. Where it may begin is Java's count of its length.

use super::Machine;
use crate::regex::TooMuchWork;
use crate::regex::length::Length;
use crate::regex::tree::Behind;

impl Machine<'_> {
    /// The farthest and the nearest begin, if there are any.
    fn begins_behind(&mut self, behind: Behind, at: usize) -> Result<(Option<usize>, Option<usize>), TooMuchWork> {
        let Length { min, max } = behind.length;
        if behind.by_code_points {
            let far = |count: i32| self.text.units_before(at, usize::try_from(count).unwrap_or(0));
            let (nearest, farthest) = (far(min), far(max));
            self.spend(farthest as u64)?;
            return Ok((at.checked_sub(farthest), at.checked_sub(nearest)));
        }
        // Goes round as Java's does, whose greatest length is beyond all numbers where two repetitions have no greatest.
        let place = i32::try_from(at).unwrap_or(i32::MAX);
        let first = usize::try_from(place.wrapping_sub(max)).unwrap_or(0);
        Ok((Some(first), usize::try_from(min).ok().and_then(|nearest| at.checked_sub(nearest))))
    }

    /// Tries each begin from the nearest to the farthest, unit by unit or code point by code point.
    pub(super) fn looks_behind(&mut self, step: usize, behind: Behind, at: usize) -> Result<bool, TooMuchWork> {
        let (Some(first), Some(mut begin)) = self.begins_behind(behind, at)? else {
            return Ok(false);
        };
        loop {
            if begin < first {
                return Ok(false);
            }
            if self.run(step, begin, Some(at))?.is_some() {
                return Ok(true);
            }
            let back = if behind.by_code_points && begin > first {
                self.text.width_before(begin)
            } else {
                1
            };
            let Some(before) = begin.checked_sub(back) else { return Ok(false) };
            begin = before;
        }
    }
}
