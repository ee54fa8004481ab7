//! Who may reach the agent and how callers show who they are: the settings of that, and which of them go together. Invariant: an
//! agent that others can reach is encrypted and asks who calls, or does not start.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use agent_control::governance::authentication::certificate::NameField;
use agent_control::governance::authentication::oidc::IssuerSettings;
use agent_control::http::tls::TlsFiles;
use anyhow::bail;
use serde::Deserialize;

use crate::duration;
use crate::limits::{CLOCK_SKEW, CLOCK_SKEW_MAX};

/// An issuer in the configuration file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IssuerInFile {
    issuer: String,
    audience: String,
    discovery: Option<String>,
    ca_file: Option<PathBuf>,
    #[serde(default = "subject")]
    principal_claim: String,
    #[serde(default)]
    principal_prefix: String,
    groups_claim: Option<String>,
    #[serde(default)]
    may_name_admins: bool,
    #[serde(default, deserialize_with = "duration::from_file")]
    clock_skew: Option<Duration>,
}

fn subject() -> String {
    "sub".to_owned()
}

/// Everything about who may call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    pub(crate) insecure_local: bool,
    pub(crate) tls_cert_file: Option<PathBuf>,
    pub(crate) tls_key_file: Option<PathBuf>,
    pub(crate) client_ca_file: Option<PathBuf>,
    pub(crate) client_principal: NameField,
    pub(crate) issuers: Vec<IssuerInFile>,
}

impl Access {
    /// Refuses settings that contradict one another, or that would let in whoever comes.
    pub(crate) fn check(&self, listen: SocketAddr) -> anyhow::Result<()> {
        let local = listen.ip().is_loopback();
        if self.tls_cert_file.is_some() != self.tls_key_file.is_some() {
            bail!("tls_cert_file and tls_key_file go together; set both or neither");
        }
        let encrypted = self.tls_cert_file.is_some();
        if self.insecure_local {
            if !local {
                bail!(
                    "insecure_local lets everybody in who reaches the agent, and the listen address {listen} is not a loopback address; \
                     leave insecure_local out, or listen on 127.0.0.1 or [::1]"
                );
            }
            if encrypted || self.client_ca_file.is_some() || !self.issuers.is_empty() {
                bail!("insecure_local asks nobody who they are; leave it out, or take tls_cert_file, client_ca_file and [[oidc]] out");
            }
        }
        if !local && !encrypted {
            bail!(
                "the listen address {listen} is not a loopback address, and without TLS tokens would travel readable for everyone; \
                 set tls_cert_file and tls_key_file, or listen on 127.0.0.1 or [::1]"
            );
        }
        if self.client_ca_file.is_some() && !encrypted {
            bail!("client_ca_file is for certificates of callers, which come by TLS only; set tls_cert_file and tls_key_file too");
        }
        self.check_issuers()
    }

    /// Refuses issuers that tokens of anybody would be for, or of which one could name the principals of another.
    fn check_issuers(&self) -> anyhow::Result<()> {
        for (position, issuer) in self.issuers.iter().enumerate() {
            for other in self.issuers.iter().take(position) {
                if other.issuer == issuer.issuer {
                    bail!(
                        "the issuer `{}` has two [[oidc]], and the second would never be used; take one out",
                        issuer.issuer
                    );
                }
                let (one, two) = (&other.principal_prefix, &issuer.principal_prefix);
                if one.starts_with(two.as_str()) || two.starts_with(one.as_str()) {
                    bail!(
                        "the principal_prefix `{one}` of the issuer `{}` and `{two}` of `{}` let one name the principals of the other; \
                         use two of which none begins with the other",
                        other.issuer,
                        issuer.issuer
                    );
                }
            }
            if issuer.issuer.is_empty() || issuer.audience.is_empty() {
                bail!("an [[oidc]] needs an issuer and an audience that are not empty: whatever is for no one would be for this agent");
            }
            if issuer.clock_skew.is_some_and(|skew| skew > CLOCK_SKEW_MAX) {
                bail!(
                    "the clock_skew of the issuer `{}` is more than {CLOCK_SKEW_MAX:?}, and an expired token would be good for so long; use less",
                    issuer.issuer
                );
            }
        }
        Ok(())
    }

    /// Where certificates are; `None` without TLS.
    pub(crate) fn tls(&self) -> Option<TlsFiles> {
        Some(TlsFiles {
            certificate: self.tls_cert_file.clone()?,
            key: self.tls_key_file.clone()?,
            client_authorities: self.client_ca_file.clone(),
            principal: self.client_principal,
        })
    }

    /// Whose JSON web tokens are taken.
    pub(crate) fn issuers(&self) -> Vec<IssuerSettings> {
        let settings = self.issuers.iter().cloned().map(|issuer| IssuerSettings {
            issuer: issuer.issuer,
            audience: issuer.audience,
            discovery: issuer.discovery,
            authorities: issuer.ca_file,
            principal_claim: issuer.principal_claim,
            principal_prefix: issuer.principal_prefix,
            groups_claim: issuer.groups_claim,
            may_name_admins: issuer.may_name_admins,
            clock_skew: issuer.clock_skew.unwrap_or(CLOCK_SKEW),
        });
        settings.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(insecure_local: bool, encrypted: bool) -> Access {
        let file = encrypted.then(|| PathBuf::from("/f.pem"));
        Access {
            insecure_local,
            tls_cert_file: file.clone(),
            tls_key_file: file,
            ..Access::default()
        }
    }

    fn check(access: Access, listen: &str, expected: Result<(), &str>) {
        match (access.check(listen.parse().unwrap()), expected) {
            (Ok(()), expected) => assert_eq!(Ok(()), expected, "{access:?} {listen}"),
            (Err(error), Err(said)) => assert!(error.to_string().contains(said), "{error}"),
            (Err(error), Ok(())) => panic!("{access:?} {listen}: {error}"),
        }
    }

    #[test]
    fn an_agent_that_others_reach_is_encrypted_and_asks_who_calls() {
        let cases = [
            (access(false, false), "127.0.0.1:0", Ok(())),
            (access(false, false), "[::1]:0", Ok(())),
            (access(true, false), "127.0.0.1:0", Ok(())),
            (access(false, true), "127.0.0.1:0", Ok(())),
            (access(false, true), "0.0.0.0:0", Ok(())),
            (access(false, false), "0.0.0.0:0", Err("set tls_cert_file")),
            (access(false, false), "10.0.0.1:0", Err("set tls_cert_file")),
            (access(false, false), "[::]:0", Err("set tls_cert_file")),
            (access(true, false), "0.0.0.0:0", Err("leave insecure_local out")),
            (access(true, true), "0.0.0.0:0", Err("leave insecure_local out")),
            (access(true, true), "127.0.0.1:0", Err("leave it out")),
        ];
        for (access, listen, expected) in cases {
            check(access, listen, expected);
        }
        let half = Access {
            tls_key_file: None,
            ..access(false, true)
        };
        check(half, "127.0.0.1:0", Err("go together"));
        let authorities = Access {
            client_ca_file: Some("/ca.pem".into()),
            ..access(false, false)
        };
        check(authorities, "127.0.0.1:0", Err("by TLS only"));
    }

    #[test]
    fn an_issuer_has_sound_defaults_and_no_key_that_is_not_known() {
        let read = |text: &str| toml::from_str::<IssuerInFile>(text);
        let least = read("issuer = 'https://i'\naudience = 'a'").unwrap();
        let access = Access {
            issuers: vec![least],
            ..access(false, false)
        };
        let settings = access.issuers().remove(0);
        assert_eq!(
            (settings.principal_claim.as_str(), settings.clock_skew, settings.may_name_admins),
            ("sub", CLOCK_SKEW, false)
        );
        for text in ["issuer = 'https://i'", "issuer = 'https://i'\naudience = 'a'\nadmins = true"] {
            assert!(read(text).is_err(), "{text}");
        }
        for (text, said) in [
            ("issuer = 'https://i'\naudience = ''", "not empty"),
            ("issuer = 'https://i'\naudience = 'a'\nclock_skew = '1h'", "clock_skew"),
        ] {
            let access = Access {
                issuers: vec![read(text).unwrap()],
                ..access.clone()
            };
            check(access, "127.0.0.1:0", Err(said));
        }
    }

    #[test]
    fn no_issuer_names_the_principals_of_another() {
        let issuer = |name: &str, prefix: &str| {
            let text = format!("issuer = '{name}'\naudience = 'a'\nprincipal_prefix = '{prefix}'");
            toml::from_str::<IssuerInFile>(&text).unwrap()
        };
        for (first, second, expected) in [
            (("https://i", "i:"), ("https://j", "j:"), Ok(())),
            (("https://i", "i:"), ("https://i", "j:"), Err("two [[oidc]]")),
            (("https://i", "i:"), ("https://j", "i:"), Err("principal_prefix")),
            (("https://i", ""), ("https://j", "j:"), Err("principal_prefix")),
            (("https://i", "i:j"), ("https://j", "i:"), Err("principal_prefix")),
        ] {
            let access = Access {
                issuers: vec![issuer(first.0, first.1), issuer(second.0, second.1)],
                ..access(false, false)
            };
            check(access, "127.0.0.1:0", expected);
        }
    }
}
