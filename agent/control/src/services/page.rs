//! Pages of lists: bounded sizes and opaque tokens. A token names the list it belongs to and the last name of the page
//! before, so that names that come and go between two pages are neither lost nor repeated.

use super::error::ServiceError;
use crate::limits::{PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, PAGE_TOKEN_BYTES_MAX};

/// One page.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// In order of their names.
    pub items: Vec<T>,
    /// Token of the next page; empty on the last one.
    pub next_page_token: String,
}

impl<T> Page<T> {
    /// The same page of other items.
    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(change).collect(),
            next_page_token: self.next_page_token,
        }
    }
}

/// Which page is wanted.
#[derive(Clone, Debug, Default)]
pub struct PageRequest {
    /// 0: the default.
    pub size: i32,
    /// From the page before; empty for the first one.
    pub token: String,
}

impl PageRequest {
    /// Number of items of a page.
    pub(super) fn limit(&self) -> Result<usize, ServiceError> {
        match usize::try_from(self.size) {
            Ok(0) => Ok(PAGE_SIZE_DEFAULT),
            Ok(size) if size <= PAGE_SIZE_MAX => Ok(size),
            _ => Err(ServiceError::invalid(
                "page_size",
                &self.size.to_string(),
                "the page size is out of range",
                format!("use 1 to {PAGE_SIZE_MAX}, or 0 for {PAGE_SIZE_DEFAULT}"),
            )),
        }
    }

    /// The name that the page starts after, `None` for the first page of `list`.
    pub(super) fn after(&self, list: &str) -> Result<Option<String>, ServiceError> {
        if self.token.is_empty() {
            return Ok(None);
        }
        let refused = |problem: &str| {
            Err(ServiceError::invalid(
                "page_token",
                &self.token,
                problem,
                "use the token of the page before, with the same request",
            ))
        };
        if self.token.len() > PAGE_TOKEN_BYTES_MAX {
            return refused("the token is too long to be one of this agent's");
        }
        let Some(text) = from_hex(&self.token) else {
            return refused("the token is none of this agent's");
        };
        match text.split_once('\n') {
            Some((of, after)) if of == list => Ok(Some(after.to_owned())),
            Some(_) => refused("the token belongs to another list"),
            None => refused("the token is none of this agent's"),
        }
    }
}

/// The token of the page of `list` that starts after `last`.
pub(super) fn token(list: &str, last: &str) -> String {
    format!("{list}\n{last}").bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(token: &str) -> Option<String> {
    let digits: Vec<u8> = token
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(high << 4 | low),
        _ => None,
    });
    String::from_utf8(bytes.collect::<Option<_>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_round_and_only_in_its_own_list() {
        let request = PageRequest {
            size: 0,
            token: token("main.pay", "main.pay.orders"),
        };
        assert_eq!(request.after("main.pay").unwrap().as_deref(), Some("main.pay.orders"));
        assert!(request.after("main.other").is_err());
        for bad in ["x", "0", "é", "00ff", "6d61696e", &"00".repeat(PAGE_TOKEN_BYTES_MAX)] {
            assert!(
                PageRequest {
                    size: 0,
                    token: bad.to_owned()
                }
                .after("main")
                .is_err(),
                "{bad}"
            );
        }
    }

    #[test]
    fn page_sizes_are_bounded() {
        for (size, limit) in [(0, Some(100)), (1, Some(1)), (1_000, Some(1_000)), (1_001, None), (-1, None)] {
            assert_eq!(
                PageRequest {
                    size,
                    token: String::new()
                }
                .limit()
                .ok(),
                limit,
                "{size}"
            );
        }
    }
}
