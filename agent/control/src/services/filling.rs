//! Fills a page of a list with what the caller may see, by reading on past what it may not. Pure: the caller reads and judges.
//! The invariant: neither items nor tokens tell of a name that the caller may not see.

use super::error::ServiceError;
use super::page::{self, Page, PageRequest};
use crate::limits::LIST_PASSED_OVER_MAX;

/// A page that is being filled.
pub(super) struct Filling<T> {
    list: String,
    limit: usize,
    /// Last name that was read, seen or not.
    after: Option<String>,
    items: Vec<T>,
    last_seen: String,
    passed_over: usize,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Reading,
    /// There is nothing more.
    AtEnd,
    /// The page is full, and there is more.
    Full,
}

impl<T> Filling<T> {
    /// The page of `list` that is asked for.
    pub(super) fn begin(list: impl Into<String>, request: &PageRequest) -> Result<Self, ServiceError> {
        let list = list.into();
        Ok(Self {
            limit: request.limit()?,
            after: request.after(&list)?,
            list,
            items: Vec::new(),
            last_seen: String::new(),
            passed_over: 0,
            state: State::Reading,
        })
    }

    /// What to read next: names after this one, so many of them; `None` when the page is filled.
    pub(super) fn next(&self) -> Result<Option<(Option<&str>, usize)>, ServiceError> {
        if self.state != State::Reading {
            return Ok(None);
        }
        if self.passed_over > LIST_PASSED_OVER_MAX {
            return Err(ServiceError::precondition(
                "parent",
                &self.list,
                format!("more than {LIST_PASSED_OVER_MAX} names are passed over that the caller may not see"),
                "list a schema instead of a catalog, or get what is known by name",
            ));
        }
        // One more than fits tells whether there is another page.
        Ok(Some((self.after.as_deref(), self.limit + 1)))
    }

    /// Takes what was read, with the caller's right to see each.
    pub(super) fn take(&mut self, read: Vec<T>, visible: &[bool], name: impl Fn(&T) -> String) {
        let is_last = read.len() <= self.limit;
        for (item, is_visible) in read.into_iter().zip(visible) {
            let name = name(&item);
            if *is_visible && self.items.len() == self.limit {
                self.state = State::Full;
                return;
            }
            if *is_visible {
                self.last_seen.clone_from(&name);
                self.items.push(item);
            } else {
                self.passed_over += 1;
            }
            self.after = Some(name);
        }
        if is_last {
            self.state = State::AtEnd;
        }
    }

    /// The page.
    pub(super) fn page(self) -> Page<T> {
        let next_page_token = match self.state {
            State::Full => page::token(&self.list, &self.last_seen),
            State::Reading | State::AtEnd => String::new(),
        };
        Page {
            items: self.items,
            next_page_token,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of `all`, of which what ends in `-` cannot be seen.
    fn pages(all: &[&str], size: i32) -> Vec<Vec<String>> {
        let mut pages = Vec::new();
        let mut token = String::new();
        loop {
            let mut filling = Filling::begin("names", &PageRequest { size, token }).unwrap();
            while let Some((after, count)) = filling.next().unwrap() {
                let after = after.unwrap_or_default().to_owned();
                let read: Vec<String> = all
                    .iter()
                    .filter(|name| **name > after.as_str())
                    .take(count)
                    .map(|name| (*name).to_owned())
                    .collect();
                let visible: Vec<bool> = read.iter().map(|name| !name.ends_with('-')).collect();
                filling.take(read, &visible, Clone::clone);
            }
            let page = filling.page();
            pages.push(page.items);
            token = page.next_page_token;
            if token.is_empty() {
                return pages;
            }
            for hidden in all.iter().filter(|name| name.ends_with('-')) {
                assert_ne!(token, page::token("names", hidden), "a token names what cannot be seen");
            }
        }
    }

    #[test]
    fn pages_are_full_whatever_lies_between_and_end_where_nothing_more_can_be_seen() {
        for (all, expected) in [
            (&[][..], &[&[][..]][..]),
            (&["a", "b"], &[&["a", "b"]]),
            (&["a", "b", "c"], &[&["a", "b"], &["c"]]),
            (&["a", "b-", "c-", "d-", "e-", "f", "g-", "h"], &[&["a", "f"], &["h"]]),
            (&["a", "b", "c-", "d-", "e-"], &[&["a", "b"]]),
            (&["a-", "b-", "c-", "d-"], &[&[]]),
            (&["a-", "b-", "c-", "d"], &[&["d"]]),
        ] {
            assert_eq!(pages(all, 2), expected, "{all:?}");
        }
    }

    #[test]
    fn a_list_of_what_cannot_be_seen_is_given_up_at_its_bound() {
        let mut filling = Filling::begin(
            "names",
            &PageRequest {
                size: 1_000,
                token: String::new(),
            },
        )
        .unwrap();
        let mut reads = 0;
        let error = loop {
            match filling.next() {
                Ok(Some((_, count))) => {
                    reads += 1;
                    let read = (0..count).map(|number| format!("{reads:06}-{number:06}")).collect();
                    filling.take(read, &vec![false; count], Clone::clone);
                }
                Ok(None) => panic!("the list has no end"),
                Err(error) => break error,
            }
        };
        assert!(reads <= LIST_PASSED_OVER_MAX / 1_000 + 1, "{reads}");
        assert!(matches!(error, ServiceError::Precondition(_)), "{error}");
    }
}
