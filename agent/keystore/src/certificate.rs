//! What a certificate says of itself: since when and until when it is good, for which hosts, and who issued it. Nothing is verified
//! here: it is for saying why a certificate was not accepted.

use std::net::IpAddr;

use jiff::Timestamp;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::error::{self, KeystoreError, damaged};

/// What a certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// Seconds since 1970.
    pub not_before: i64,
    /// Seconds since 1970.
    pub not_after: i64,
    /// Whom it is for, as far as a message shows it.
    pub subject: String,
    /// Who issued it, as far as a message shows it.
    pub issuer: String,
    hosts: Vec<String>,
    addresses: Vec<IpAddr>,
}

impl CertificateFacts {
    /// Reads a certificate, DER.
    pub fn read(certificate: &[u8]) -> Result<Self, KeystoreError> {
        let (_, read) = X509Certificate::from_der(certificate).map_err(|_| damaged("a certificate in it cannot be read"))?;
        let (mut hosts, mut addresses) = (Vec::new(), Vec::new());
        let names = read.subject_alternative_name().ok().flatten();
        for name in names.iter().flat_map(|names| &names.value.general_names) {
            match name {
                GeneralName::DNSName(name) => hosts.push((*name).to_owned()),
                GeneralName::IPAddress(bytes) => addresses.extend(address_of(bytes)),
                _ => {}
            }
        }
        // As OpenSSL has it: the common name counts where no alternative name is a host.
        if hosts.is_empty() {
            let common = read.subject().iter_common_name().filter_map(|name| name.as_str().ok());
            hosts.extend(common.map(str::to_owned));
        }
        Ok(Self {
            not_before: read.validity().not_before.timestamp(),
            not_after: read.validity().not_after.timestamp(),
            subject: error::plain(&read.subject().to_string()),
            issuer: error::plain(&read.issuer().to_string()),
            hosts,
            addresses,
        })
    }

    /// Why it is not good at a moment, in seconds since 1970; nothing if it is.
    pub fn out_of_date(&self, now: i64) -> Option<OutOfDate> {
        if now > self.not_after {
            return Some(OutOfDate::ExpiredOn(moment(self.not_after)));
        }
        (now < self.not_before).then(|| OutOfDate::NotValidUntil(moment(self.not_before)))
    }

    /// The last moment at which it is good, as in `2026-03-01T00:00:00Z`.
    pub fn until(&self) -> String {
        moment(self.not_after)
    }

    /// Whether it is for that host or address.
    pub fn is_for(&self, host: &str) -> bool {
        match host.parse::<IpAddr>() {
            Ok(address) => self.addresses.contains(&address),
            Err(_) => self.hosts.iter().any(|name| covers(name, host)),
        }
    }

    /// The hosts and addresses that it is for, for a message.
    pub fn hosts(&self) -> String {
        let addresses = self.addresses.iter().map(IpAddr::to_string);
        let all: Vec<String> = self.hosts.iter().cloned().chain(addresses).collect();
        match all.is_empty() {
            true => "no host".to_owned(),
            false => error::names(all.iter().map(String::as_str)),
        }
    }
}

/// Why a client whose certificates are these, its own first, is let in nowhere at a moment: a CamelCase word for machines, and whose
/// certificate has which problem. Nothing if all of them are good.
pub fn client_fault(chain: &[CertificateFacts], now: i64) -> Option<(&'static str, String)> {
    chain.iter().enumerate().find_map(|(number, facts)| {
        let problem = facts.out_of_date(now)?;
        let reason = match problem {
            OutOfDate::ExpiredOn(_) => "ClientCertificateExpired",
            OutOfDate::NotValidUntil(_) => "ClientCertificateNotYetValid",
        };
        let whose = match number {
            0 => "the client's certificate",
            _ => "a certificate that the client's is signed by",
        };
        Some((reason, format!("{whose}, `{}`, {problem}", facts.subject)))
    })
}

/// Why a certificate is not good at the moment; each with a date as in `2026-03-01T00:00:00Z`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutOfDate {
    /// It was good until then.
    ExpiredOn(String),
    /// It will be good from then on.
    NotValidUntil(String),
}

impl std::fmt::Display for OutOfDate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ExpiredOn(date) => write!(f, "has expired on {date}"),
            Self::NotValidUntil(date) => write!(f, "is not valid until {date}"),
        }
    }
}

fn moment(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| "a date that no calendar has".to_owned(), |moment| moment.to_string())
}

fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        _ => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
    }
}

/// A star stands for the first part of a name, and for nothing else.
fn covers(name: &str, host: &str) -> bool {
    if name.eq_ignore_ascii_case(host) {
        return true;
    }
    match (name.strip_prefix("*."), host.split_once('.')) {
        (Some(name), Some((first, rest))) => !first.is_empty() && name.contains('.') && name.eq_ignore_ascii_case(rest),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType, date_time_ymd};

    use super::*;

    fn facts(change: impl FnOnce(&mut CertificateParams)) -> CertificateFacts {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.not_before = date_time_ymd(2024, 1, 2);
        params.not_after = date_time_ymd(2026, 3, 1);
        change(&mut params);
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        CertificateFacts::read(certificate.der()).unwrap()
    }

    #[test]
    fn a_certificate_is_out_of_date_before_and_after_and_says_when() {
        let facts = facts(|_| {});
        let said = |now| facts.out_of_date(now).map(|problem| problem.to_string());
        assert_eq!(
            said(facts.not_before - 1).as_deref(),
            Some("is not valid until 2024-01-02T00:00:00Z")
        );
        assert_eq!(said(facts.not_before), None);
        assert_eq!(said(facts.not_after), None);
        assert_eq!(said(facts.not_after + 1).as_deref(), Some("has expired on 2026-03-01T00:00:00Z"));
    }

    #[test]
    fn the_first_certificate_of_a_client_that_is_out_of_date_is_named() {
        let named = |name: &str, until: i32| {
            facts(|params| {
                params.distinguished_name.push(DnType::CommonName, name);
                params.not_after = date_time_ymd(until, 3, 1);
            })
        };
        let (now, good) = (named("own", 2025).not_after, named("own", 2026));
        assert_eq!(client_fault(&[good.clone(), named("between", 2026)], now), None);
        assert_eq!(client_fault(&[], now), None);
        for (chain, reason, said) in [
            (
                [named("own", 2024), named("between", 2024)],
                "ClientCertificateExpired",
                "the client's certificate, `CN=own`, has expired on 2024-03-01T00:00:00Z",
            ),
            (
                [good.clone(), named("between", 2024)],
                "ClientCertificateExpired",
                "a certificate that the client's is signed by, `CN=between`, has expired on 2024-03-01T00:00:00Z",
            ),
        ] {
            assert_eq!(client_fault(&chain, now), Some((reason, said.to_owned())));
        }
        let early = client_fault(std::slice::from_ref(&good), good.not_before - 1);
        assert_eq!(early.map(|(reason, _)| reason), Some("ClientCertificateNotYetValid"));
    }

    #[test]
    fn a_certificate_is_for_the_hosts_that_it_names() {
        let named = facts(|params| {
            params.distinguished_name.push(DnType::CommonName, "common");
            params.subject_alt_names = vec![
                SanType::DnsName("Broker.example".try_into().unwrap()),
                SanType::DnsName("*.shop.example".try_into().unwrap()),
                SanType::IpAddress("::1".parse().unwrap()),
            ];
        });
        for (host, expected) in [
            ("broker.EXAMPLE", true),
            ("a.shop.example", true),
            ("a.b.shop.example", false),
            ("shop.example", false),
            (".shop.example", false),
            ("::1", true),
            ("127.0.0.1", false),
            ("common", false),
        ] {
            assert_eq!(named.is_for(host), expected, "{host}");
        }
        assert_eq!(named.hosts(), "`*.shop.example`, `::1`, `Broker.example`");
        let old = facts(|params| params.distinguished_name.push(DnType::CommonName, "old.example"));
        assert!(old.is_for("old.example") && !old.is_for("127.0.0.1"), "{old:?}");
        assert_eq!(facts(|_| {}).hosts(), "no host");
        assert!(!facts(|params| params.subject_alt_names = vec![SanType::DnsName("*.example".try_into().unwrap())]).is_for("a.example"));
    }
}
