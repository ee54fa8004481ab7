//! Every call of the API, and what it asks the authorizer for. The invariant: a call that is not here cannot be served
//! (`grpc::serve` takes one), one that asks for something without a rule does not compile, and none is answered that asked for
//! nothing, or for something that its row does not have.

use super::Action::{self, Check, Create, Delete, Grant, List, Operate, Read, Test, Update};
use super::SecurableKind::{
    self, Agent, AllGrants, Connection, Connections, Credential, Credentials, DeclaredConnection, Grants, NewStream, SecretScope,
    SecretScopes, Stream, Streams, Tokens, Unreadable, Volume, Volumes,
};
use super::rules::{Rule, rule};

macro_rules! calls {
    ($($service:ident { $($call:ident: [$($action:ident $kind:ident),+];)+ })+) => {
        /// A call of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each is named as in the interface's definition")]
        pub enum Call {
            $($($call,)+)+
        }

        impl Call {
            /// All there are, in the order of the documentation.
            pub const ALL: &[Self] = &[$($(Self::$call,)+)+];

            /// As the interface names it.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$call => stringify!($call),)+)+ }
            }

            /// The call of that name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|call| call.name() == name)
            }

            /// The service that it belongs to.
            pub const fn service(self) -> &'static str {
                match self { $($(Self::$call => stringify!($service),)+)+ }
            }

            /// What it asks for: all of these, or, where that depends on the request, one of these.
            pub const fn asks(self) -> &'static [(Action, SecurableKind)] {
                match self { $($(Self::$call => &[$(($action, $kind)),+],)+)+ }
            }
        }
    };
}

calls! {
    StreamService {
        CreateStream: [Create NewStream];
        GetStream: [Read Stream];
        ListStreams: [List Streams];
        UpdateStream: [Update Stream];
        SetStreamOperations: [Operate Stream];
        RestartStream: [Operate Stream];
        DeleteStream: [Delete Stream];
        CheckStream: [Check NewStream, Create NewStream, Check Unreadable];
    }
    ConnectionService {
        CreateConnection: [Create DeclaredConnection];
        GetConnection: [Read Connection];
        ListConnections: [List Connections];
        UpdateConnection: [Update Connection, Update DeclaredConnection];
        DeleteConnection: [Delete Connection];
        CheckConnection: [Check DeclaredConnection, Check Unreadable];
        TestConnection: [Test Connection, Test DeclaredConnection, Create NewStream];
        ExecuteSql: [
            Create DeclaredConnection, Update Connection, Update DeclaredConnection, Delete Connection, List Connections, Read Connection
        ];
    }
    CredentialService {
        CreateServiceCredential: [Create Credential];
        GetServiceCredential: [Read Credential];
        ListServiceCredentials: [List Credentials];
        UpdateServiceCredential: [Update Credential];
        DeleteServiceCredential: [Delete Credential];
    }
    SecretService {
        CreateSecretScope: [Create SecretScope];
        ListSecretScopes: [List SecretScopes];
        DeleteSecretScope: [Delete SecretScope];
        PutSecret: [Update SecretScope];
        ListSecrets: [Read SecretScope];
        DeleteSecret: [Update SecretScope];
    }
    VolumeService {
        CreateVolume: [Create Volume];
        GetVolume: [Read Volume];
        ListVolumes: [List Volumes];
        UpdateVolume: [Update Volume];
        DeleteVolume: [Delete Volume];
    }
    GrantService {
        GetGrants: [Read Grants];
        ListGrants: [List AllGrants];
        SetGrants: [Grant Grants];
    }
    TokenService {
        CreateToken: [Create Tokens];
        ListTokens: [List Tokens];
        RevokeToken: [Delete Tokens];
    }
    AgentService {
        GetAgent: [Read Agent];
    }
}

/// What a call did that its row does not have. It is a mistake of ours: the caller gets no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfRow {
    /// It has an answer, and nobody was asked whether its caller may have it.
    #[error("`{}` found an answer without asking whether its caller may have it", .0.name())]
    NothingAsked(Call),
    /// It asked for something else.
    #[error("`{}` asked for something that its rules do not name: to {} {}", .call.name(), .action.verb(), .kind.noun())]
    OtherAsked {
        /// Which call.
        call: Call,
        /// What it asked to do.
        action: Action,
        /// To what.
        kind: SecurableKind,
    },
}

impl Call {
    /// Compares what a call asked for with its row. One that failed may have done so before it asked.
    pub(crate) fn keeps_to_its_row(self, asked: &[(Action, SecurableKind)], is_answered: bool) -> Result<(), OutOfRow> {
        if let Some((action, kind)) = asked.iter().copied().find(|pair| !self.asks().contains(pair)) {
            return Err(OutOfRow::OtherAsked { call: self, action, kind });
        }
        match is_answered && asked.is_empty() {
            true => Err(OutOfRow::NothingAsked(self)),
            false => Ok(()),
        }
    }
}

/// Fails the build for a call without a rule.
const _: () = {
    let mut calls = Call::ALL;
    while let [call, others @ ..] = calls {
        let mut asks = call.asks();
        while let [(action, kind), more @ ..] = asks {
            assert!(
                !matches!(rule(*action, *kind), Rule::Never),
                "a call asks for something that has no rule"
            );
            asks = more;
        }
        calls = others;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_asks_for_nothing_or_for_something_else_gets_no_answer() {
        let call = Call::CheckStream;
        let row = call.asks();
        for (asked, is_answered, said) in [
            (row, true, ""),
            (&row[..1], true, ""),
            (&[], false, ""),
            (&[], true, "found an answer without asking"),
            (&[(Read, Agent)], false, "to read agent"),
            (&[row[0], (Delete, Stream)], true, "to delete stream"),
        ] {
            let kept = call.keeps_to_its_row(asked, is_answered);
            let found = kept.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(found.contains(said) && found.is_empty() == said.is_empty(), "{asked:?}: {found}");
        }
    }

    #[test]
    fn the_calls_are_those_of_the_interface() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto/featurestore/v1");
        let mut defined = Vec::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let mut service = String::new();
            for line in std::fs::read_to_string(file.unwrap().path()).unwrap().lines() {
                match line.split_whitespace().collect::<Vec<_>>().as_slice() {
                    ["service", name, ..] => service = (*name).to_owned(),
                    ["rpc", rest, ..] => defined.push(format!("{service}.{}", rest.split('(').next().unwrap())),
                    _ => {}
                }
            }
        }
        defined.sort();
        let mut known: Vec<String> = Call::ALL.iter().map(|call| format!("{}.{}", call.service(), call.name())).collect();
        known.sort();
        assert_eq!(known, defined);
    }
}
