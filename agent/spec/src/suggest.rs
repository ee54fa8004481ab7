//! "Did you mean": the known name nearest to an unknown one. Knows nothing of what is named.

/// The known name that `seen` was probably meant to be: equal but for case, or at most two fifths of its letters away.
pub(crate) fn nearest<'a>(seen: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (seen.chars().count() * 2 / 5).max(1);
    known
        .into_iter()
        .map(|name| (distance(&seen.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Insertions, deletions and replacements of characters between two texts (Levenshtein).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut costs: Vec<usize> = (0..=right.len()).collect();
    for (row, left_char) in left.chars().enumerate() {
        let mut next = Vec::with_capacity(costs.len());
        let mut last = row + 1;
        next.push(last);
        for (right_char, pair) in right.iter().zip(costs.windows(2)) {
            let [diagonal, above] = pair else { continue };
            let replaced = diagonal + usize::from(left_char != *right_char);
            last = replaced.min(above + 1).min(last + 1);
            next.push(last);
        }
        costs = next;
    }
    costs.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_close_or_absent() {
        let known = ["startingOffsets", "maxOffsetsPerTrigger", "includeHeaders"];
        for (seen, expected) in [
            ("startingoffsets", Some("startingOffsets")),
            ("startingOffset", Some("startingOffsets")),
            ("includeHeader", Some("includeHeaders")),
            ("minPartitions", None),
            ("", None),
        ] {
            assert_eq!(nearest(seen, known), expected, "{seen}");
        }
    }
}
