//! Keeps web pages away. A browser on this machine reaches loopback for any page it shows; what gives a page away is the host that
//! it asked for (DNS rebinding) and the origin that it comes from. A browser shows its user's certificate for any page, too.

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use stream_spec::place::is_loopback;

/// What a request may ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guard {
    /// Only hosts that are this machine.
    pub(super) loopback: bool,
    /// How the port's own origins begin.
    pub(super) scheme: &'static str,
}

/// Lets a request through if it asks for a host that is the port's and comes from no other origin than that.
pub(super) async fn own_only(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    // HTTP/2 has the host in the URI, HTTP/1.1 in a header.
    let host = match request.uri().authority() {
        Some(authority) => Some(authority.clone()),
        None => single(request.headers(), header::HOST.as_str()).and_then(|host| host.parse().ok()),
    };
    match check(guard, host.as_ref(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            tracing::warn!(refusal, "refused a request");
            (StatusCode::FORBIDDEN, refusal).into_response()
        }
    }
}

fn check(guard: Guard, host: Option<&Authority>, headers: &HeaderMap) -> Result<(), &'static str> {
    let host = host.ok_or("forbidden: the request names no host")?;
    if guard.loopback && !is_loopback(host.host()) {
        return Err("forbidden: the request asks for a host that is not this machine's loopback");
    }
    if !headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = single(headers, header::ORIGIN.as_str());
    let same = origin
        .and_then(|origin| origin.strip_prefix(guard.scheme))
        .is_some_and(|origin| origin.eq_ignore_ascii_case(host.as_str()));
    if same {
        Ok(())
    } else {
        Err("forbidden: the request comes from another origin")
    }
}

/// The header's value if it is there once.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_hosts_and_their_own_origin_pass() {
        let cases = [
            (Some("127.0.0.1:7070"), None, true),
            (Some("localhost:7070"), None, true),
            (Some("[::1]:7070"), None, true),
            (Some("127.0.0.1:7070"), Some("http://127.0.0.1:7070"), true),
            (Some("127.0.0.1:7070"), Some("http://evil.example"), false),
            (Some("127.0.0.1:7070"), Some("http://localhost:7070"), false),
            (Some("127.0.0.1:7070"), Some("null"), false),
            (Some("evil.example:7070"), None, false),
            (Some("127.0.0.1.evil.example"), None, false),
            (Some("192.168.0.1:7070"), None, false),
            (None, None, false),
        ];
        for (host, origin, passes) in cases {
            let host: Option<Authority> = host.map(|host| host.parse().unwrap());
            let mut headers = HeaderMap::new();
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            let guard = Guard {
                loopback: true,
                scheme: "http://",
            };
            assert_eq!(check(guard, host.as_ref(), &headers).is_ok(), passes, "{host:?} {origin:?}");
        }
    }

    #[test]
    fn a_port_for_others_has_any_host_and_its_own_origin() {
        let guard = Guard {
            loopback: false,
            scheme: "https://",
        };
        let cases = [
            ("agent.example:7070", None, true),
            ("agent.example:7070", Some("https://agent.example:7070"), true),
            ("agent.example:7070", Some("http://agent.example:7070"), false),
            ("agent.example:7070", Some("https://evil.example"), false),
        ];
        for (host, origin, passes) in cases {
            let mut headers = HeaderMap::new();
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(
                check(guard, Some(&host.parse().unwrap()), &headers).is_ok(),
                passes,
                "{host} {origin:?}"
            );
        }
    }
}
