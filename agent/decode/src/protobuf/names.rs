//! Names of an enum's values by their numbers, as Spark shows them.
//!
//! The one invariant: of several names of one number the first declared one is shown.

use stream_spec::schema::protobuf::tree::ProtoEnum;

use crate::builders::Literal;

/// Numbers from zero up to here are looked up by position.
const BY_POSITION_MAX: i32 = 1023;

/// Positions for each value; where the numbers lie further apart, all are searched for. A table is made per field.
const POSITIONS_PER_VALUE_MAX: usize = 4;

#[derive(Clone, Debug)]
pub(super) struct EnumNames {
    /// Of the numbers from zero on; empty where there is none.
    by_position: Box<[Literal]>,
    /// Of all other numbers, ascending.
    others: Box<[(i32, Literal)]>,
    /// What the made-up name of an undeclared number begins with; none if such a number is an unknown field.
    made_up: Option<Box<[u8]>>,
}

impl EnumNames {
    pub(super) fn new(declared: &ProtoEnum) -> Self {
        let mut values: Vec<(i32, Literal)> = Vec::with_capacity(declared.values.len());
        values.extend(declared.values.iter().map(|(name, number)| (*number, Literal::new(name))));
        // The sort keeps the order of equals, so the first declared one stays.
        values.sort_by_key(|(number, _)| *number);
        values.dedup_by_key(|(number, _)| *number);
        let (mut small, mut others): (Vec<_>, Vec<_>) = values.into_iter().partition(|(number, _)| (0..=BY_POSITION_MAX).contains(number));
        let mut last = small.last().map_or(0, |(number, _)| usize::try_from(*number).unwrap_or(0) + 1);
        if last > POSITIONS_PER_VALUE_MAX * small.len() {
            others.append(&mut small);
            others.sort_unstable_by_key(|(number, _)| *number);
            last = 0;
        }
        let mut by_position = vec![Literal::default(); last];
        for (number, name) in small {
            if let Some(place) = usize::try_from(number).ok().and_then(|number| by_position.get_mut(number)) {
                *place = name;
            }
        }
        let short_name = declared.full_name.rsplit('.').next().unwrap_or_default();
        Self {
            by_position: by_position.into(),
            others: others.into(),
            made_up: (!declared.closed).then(|| format!("UNKNOWN_ENUM_VALUE_{short_name}_").into_bytes().into()),
        }
    }

    #[inline]
    pub(super) fn of(&self, number: i32) -> Option<&Literal> {
        match usize::try_from(number).ok().and_then(|number| self.by_position.get(number)) {
            Some(name) if !name.text().is_empty() => Some(name),
            _ => self.search(number),
        }
    }

    fn search(&self, number: i32) -> Option<&Literal> {
        let found = self.others.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.others.get(found).map(|(_, name)| name)
    }

    /// The beginning of an undeclared number's name, unless the enum is closed.
    pub(super) fn made_up(&self) -> Option<&[u8]> {
        self.made_up.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use stream_spec::schema::protobuf::tree::ProtoEnum;

    use super::EnumNames;
    use crate::builders::Literal;

    fn text(name: &Literal) -> &str {
        std::str::from_utf8(name.text()).unwrap()
    }

    #[test]
    fn numbers_have_their_first_declared_name() {
        let values = [
            ("NEG", -1),
            ("ONE", 1),
            ("UNO", 1),
            ("FAR", 100_000),
            ("ZERO", 0),
            ("MIN", i32::MIN),
            ("NULL", 0),
        ];
        let names = EnumNames::new(&ProtoEnum {
            full_name: "p.M.E".into(),
            values: values.map(|(name, number)| (name.into(), number)).into(),
            closed: false,
        });
        let name = |number| names.of(number).map(text);
        assert_eq!(name(-1), Some("NEG"));
        assert_eq!(name(1), Some("ONE"));
        assert_eq!(name(0), Some("ZERO"));
        assert_eq!(name(100_000), Some("FAR"));
        assert_eq!(name(i32::MIN), Some("MIN"));
        assert_eq!([2, -2, i32::MAX].map(name), [None; 3]);
        assert_eq!(names.made_up(), Some(b"UNKNOWN_ENUM_VALUE_E_".as_slice()));
    }

    #[test]
    fn numbers_far_apart_take_no_table() {
        for (last, positions) in [(7, 8), (8, 0), (1023, 0)] {
            let names = EnumNames::new(&ProtoEnum {
                full_name: "E".into(),
                values: [("NEG", -1), ("B", last), ("A", 0)]
                    .map(|(name, number)| (name.into(), number))
                    .into(),
                closed: true,
            });
            assert_eq!(names.by_position.len(), positions, "{last}");
            for (number, name) in [(-1, Some("NEG")), (0, Some("A")), (last, Some("B")), (1, None), (last + 1, None)] {
                assert_eq!(names.of(number).map(text), name, "{number}");
            }
        }
    }
}
