//! Keys of the maps that are being read, to find those that come again: the last value of a key wins, as in Java's maps.
//!
//! One stack for all open maps and all messages. Keys are kept as places in what is read, so that nothing is copied.

use std::ops::Range;

use crate::limits::SCRATCH_BYTES_KEPT_MAX;

/// Keys up to which all pairs are compared; more are sorted.
const PAIRS_COMPARED_MAX: usize = 8;

/// The stack of keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    keys: Vec<Key>,
    /// Indexes of keys, for sorting.
    order: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Key {
    place: Range<usize>,
    superseded: bool,
}

impl Keys {
    /// Forgets what a message left behind that was given up, and the room that only a rare one needs.
    #[inline]
    pub(super) fn end_message(&mut self) {
        self.keys.clear();
        if self.keys.capacity() > SCRATCH_BYTES_KEPT_MAX / size_of::<Key>() {
            *self = Self::default();
        }
    }

    /// Begins a map: the index of its first key.
    pub(super) fn open(&self) -> usize {
        self.keys.len()
    }

    /// Ends a map.
    pub(super) fn close(&mut self, first: usize) {
        self.keys.truncate(first);
    }

    /// Adds a key of the map that was begun last.
    pub(super) fn add(&mut self, place: Range<usize>) {
        self.keys.push(Key { place, superseded: false });
    }

    pub(super) fn is_superseded(&self, index: usize) -> bool {
        self.keys.get(index).is_some_and(|key| key.superseded)
    }

    /// Marks the keys from `first` on that come again; true if there is one.
    pub(super) fn supersede(&mut self, first: usize, source: &[u8]) -> bool {
        let keys = self.keys.get_mut(first..).unwrap_or_default();
        let text = |place: &Range<usize>| source.get(place.clone()).unwrap_or_default();
        let mut found = false;
        if keys.len() <= PAIRS_COMPARED_MAX {
            let mut rest = keys;
            while let Some((key, later)) = rest.split_first_mut() {
                key.superseded = later.iter().any(|later| text(&later.place) == text(&key.place));
                found |= key.superseded;
                rest = later;
            }
            return found;
        }
        self.order.clear();
        self.order.extend(0..keys.len());
        let place = |index: &usize| keys.get(*index).map_or(&[][..], |key| text(&key.place));
        self.order
            .sort_unstable_by(|left, right| place(left).cmp(place(right)).then(left.cmp(right)));
        // Of equal ones only the last stays.
        self.order.dedup_by(|later, kept| {
            let same = place(later) == place(kept);
            if same {
                *kept = *later;
            }
            same
        });
        found = self.order.len() < keys.len();
        if found {
            keys.iter_mut().for_each(|key| key.superseded = true);
            for index in &self.order {
                if let Some(key) = keys.get_mut(*index) {
                    key.superseded = false;
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Keys;

    #[test]
    fn of_equal_keys_the_last_one_stays_whatever_their_number() {
        for (source, expected) in [
            ("abc", "..."),
            ("aba", "x.."),
            ("aaaa", "xxx."),
            ("", ""),
            ("abcdefghijklm", "............."),
            ("abcabcabcabcz", "xxxxxxxxx...."),
            ("zbcdefghijklmz", "x............."),
        ] {
            let mut keys = Keys::default();
            keys.add(0..0);
            let first = keys.open();
            (0..source.len()).for_each(|index| keys.add(index..index + 1));
            let found = keys.supersede(first, source.as_bytes());
            let shown: String = (0..source.len())
                .map(|index| if keys.is_superseded(first + index) { 'x' } else { '.' })
                .collect();
            assert_eq!((shown.as_str(), found), (expected, expected.contains('x')), "{source}");
            keys.close(first);
            assert_eq!(keys.open(), 1);
        }
    }
}
