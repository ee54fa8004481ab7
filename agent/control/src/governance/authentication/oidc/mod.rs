//! JSON web tokens of OpenID Connect issuers that are configured. Invariant: nothing that a token says is believed before its
//! signature was checked with a key of its issuer; before that, its text only says which issuer's keys to check it with.

mod keys;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation, dangerous, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::directory::is_built_in;
use crate::governance::principal::ADMIN_GROUP;
use crate::limits::{GROUPS_OF_A_CALLER_MAX, JWT_PARTS};
use keys::{Keys, KeysError};

/// Signatures with a public key, of which none is known to be weak. Whatever is not here is refused before a key is looked for:
/// no signature at all, and those whose key is a shared secret.
const ALGORITHMS: [Algorithm; 4] = [Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA];

/// One issuer, as it is configured.
#[derive(Clone, Debug)]
pub struct IssuerSettings {
    /// Its name in tokens, to the letter.
    pub issuer: String,
    /// What tokens for this agent name as their audience.
    pub audience: String,
    /// Where its discovery document is, `https://` or `file://`; `None`: where OpenID Connect has it.
    pub discovery: Option<String>,
    /// PEM file of the certificate authorities that its addresses are checked against; `None`: the system's.
    pub authorities: Option<PathBuf>,
    /// The claim that is the principal's name.
    pub principal_claim: String,
    /// What is put before that and before groups but `admins`, so that two issuers cannot name one principal.
    pub principal_prefix: String,
    /// The claim that lists the principal's groups.
    pub groups_claim: Option<String>,
    /// Whether it may say that somebody is in the admin group.
    pub may_name_admins: bool,
    /// How far its clock and this one's may be apart.
    pub clock_skew: Duration,
}

impl IssuerSettings {
    /// Whether it may say that somebody is in a group, as that is called here.
    pub(super) fn may_name(&self, group: &str) -> bool {
        match group {
            ADMIN_GROUP => self.groups_claim.is_some() && self.may_name_admins,
            _ => self.groups_claim.is_some() && group.starts_with(&self.principal_prefix) && !is_built_in(group),
        }
    }
}

/// Why a JSON web token is refused.
#[derive(Debug, thiserror::Error)]
pub enum OidcError {
    /// It is none.
    #[error("it cannot be read")]
    Unreadable,
    /// It is signed in a way that is not taken, or not signed.
    #[error("it is not signed by RS256, PS256, ES256 or EdDSA")]
    Algorithm,
    /// It asks for rules that are not known here.
    #[error("it has critical headers, which this agent does not know")]
    Critical,
    /// Nobody configured its issuer.
    #[error("its issuer is none that this agent is configured for")]
    UnknownIssuer,
    /// None of its issuer's keys is the one that it names.
    #[error("it names a key that its issuer does not publish")]
    UnknownKey,
    /// Its issuer's keys cannot be had.
    #[error("the keys of its issuer cannot be had just now")]
    NoKeys(#[source] KeysError),
    /// Its signature or one of its claims is wrong.
    #[error("{0}")]
    Refused(&'static str),
    /// It names nobody.
    #[error("its claim `{claim}` names nobody")]
    NoPrincipal {
        /// The claim that is configured.
        claim: String,
    },
    /// It names more groups than anybody is in.
    #[error("its claim `{claim}` is no list of at most {GROUPS_OF_A_CALLER_MAX} names")]
    Groups {
        /// The claim that is configured.
        claim: String,
    },
}

/// Whom a token names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The principal's name.
    pub name: String,
    /// The groups that it is in; `None` where the issuer is not asked, or did not say.
    pub groups: Option<BTreeSet<String>>,
    /// Who says so.
    pub issuer: String,
    /// When that was, in milliseconds since 1970; `None` if the token does not say.
    pub issue_time_ms: Option<i64>,
}

/// The issuers that are configured.
#[derive(Default)]
pub struct Oidc {
    issuers: Vec<Issuer>,
}

struct Issuer {
    settings: IssuerSettings,
    keys: Keys,
}

/// The only claim that is read before the signature is checked.
#[derive(Deserialize)]
struct Unverified {
    iss: String,
}

impl Oidc {
    /// For these issuers. Nothing is asked of them yet: an issuer that is away must not keep the agent from starting.
    pub fn new(issuers: Vec<IssuerSettings>) -> Result<Self, KeysError> {
        let issuers = issuers.into_iter().map(|settings| {
            let keys = Keys::of(&settings)?;
            Ok(Issuer { settings, keys })
        });
        Ok(Self {
            issuers: issuers.collect::<Result<_, KeysError>>()?,
        })
    }

    /// True if a text looks like a JSON web token and there is an issuer to ask about it.
    pub fn knows_form(&self, text: &str) -> bool {
        !self.issuers.is_empty() && text.split('.').count() == JWT_PARTS
    }

    /// Whom a token names, if everything about it is right.
    pub async fn verify(&self, text: &str) -> Result<Named, OidcError> {
        // An algorithm that is not known at all, `none` among them, does not even parse.
        let header = decode_header(text).map_err(|error| match error.kind() {
            ErrorKind::InvalidAlgorithmName | ErrorKind::Json(_) => OidcError::Algorithm,
            _ => OidcError::Unreadable,
        })?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(OidcError::Algorithm);
        }
        if header.crit.is_some() {
            return Err(OidcError::Critical);
        }
        let claimed: Unverified = dangerous::insecure_decode(text).map_err(|_| OidcError::Unreadable)?.claims;
        let mut issuers = self.issuers.iter();
        let issuer = issuers
            .find(|issuer| issuer.settings.issuer == claimed.iss)
            .ok_or(OidcError::UnknownIssuer)?;
        let keys = issuer
            .keys
            .find(header.kid.as_deref(), header.alg)
            .await
            .map_err(OidcError::NoKeys)?;
        let key = keys.ok_or(OidcError::UnknownKey)?;
        let verified = decode::<Map<String, Value>>(text, &key, &validation(&issuer.settings, header.alg));
        let claims = verified.map_err(|error| OidcError::Refused(reason(error.kind())))?.claims;
        named(&issuer.settings, &claims)
    }
}

fn validation(settings: &IssuerSettings, algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.leeway = settings.clock_skew.as_secs();
    validation.validate_nbf = true;
    validation.set_issuer(&[&settings.issuer]);
    validation.set_audience(&[&settings.audience]);
    validation.set_required_spec_claims(&["exp", "iss", "aud"]);
    validation
}

fn reason(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ExpiredSignature => "it has expired",
        ErrorKind::ImmatureSignature => "it is not good yet",
        ErrorKind::InvalidAudience => "it is for another audience than this agent",
        ErrorKind::InvalidIssuer => "its issuer is none that this agent is configured for",
        ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) => "it lacks one of the claims exp, iss and aud",
        ErrorKind::InvalidSignature => "its signature is not of its issuer's key",
        _ => "it cannot be checked",
    }
}

fn named(settings: &IssuerSettings, claims: &Map<String, Value>) -> Result<Named, OidcError> {
    let claim = &settings.principal_claim;
    let nobody = || OidcError::NoPrincipal { claim: claim.clone() };
    // An address that nobody has confirmed is anybody's, and silence confirms nothing.
    if claim == "email" && claims.get("email_verified") != Some(&Value::Bool(true)) {
        return Err(nobody());
    }
    let name = claims
        .get(claim)
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
        .ok_or_else(nobody)?;
    Ok(Named {
        name: format!("{}{name}", settings.principal_prefix),
        groups: match &settings.groups_claim {
            Some(claim) => groups(settings, claims, claim)?,
            None => None,
        },
        issuer: settings.issuer.clone(),
        issue_time_ms: claims
            .get("iat")
            .and_then(Value::as_f64)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .and_then(|since| i64::try_from(since.as_millis()).ok()),
    })
}

fn groups(settings: &IssuerSettings, claims: &Map<String, Value>, claim: &str) -> Result<Option<BTreeSet<String>>, OidcError> {
    let wrong = || OidcError::Groups { claim: claim.to_owned() };
    let listed = match claims.get(claim) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(one)) => std::slice::from_ref(one).iter().map(|one| Some(one.clone())).collect(),
        Some(Value::Array(all)) if all.len() <= GROUPS_OF_A_CALLER_MAX => {
            let names = all.iter().map(|name| name.as_str().map(str::to_owned));
            names.collect::<Option<BTreeSet<_>>>()
        }
        Some(_) => None,
    };
    // A group's name is one of a principal for whoever grants: what keeps issuers' principals apart keeps their groups apart.
    let named = listed.ok_or_else(wrong)?.into_iter().map(|group| match group.as_str() {
        ADMIN_GROUP => group,
        _ => format!("{}{group}", settings.principal_prefix),
    });
    Ok(Some(named.filter(|group| settings.may_name(group)).collect()))
}
