//! Every call of the interface as others make it: by gRPC over TLS, with a token, at an agent that knows no local admin. What the
//! services forget to ask shows here, and not in the authorizer's own tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use featurestore_proto::convert::detail_of;
use tokio_util::sync::CancellationToken;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};

use super::requests::make;
use super::world::{Granted, Names, OWNER, PLACES, Place, World, above, names, place, securables, without_names};
use crate::audit::refusals::Refusals;
use crate::clock::now_ms;
use crate::governance::authentication::certificate::NameField;
use crate::governance::authentication::oidc::Oidc;
use crate::governance::authentication::tokens::TokenText;
use crate::governance::authentication::{Authenticator, Directory, Door as Known};
use crate::governance::calls::Call;
use crate::governance::privilege::Privilege;
use crate::governance::rules::{Need, Rule, rule};
use crate::governance::{Action, Securable};
use crate::http::tls::{Certificates, TlsFiles};
use crate::http::{PortSettings, router, serve};
use crate::reconcile::Reconciler;
use crate::services::tests::services;
use crate::store::tokens::{InsertedToken, TokenRecord};
use crate::testing::engine::FakeEngine;

/// Who is granted what the matrix says, and the group that it is in.
const BOB: &str = "bob";
const TEAM: &str = "team";

/// Who may do everything.
const ROOT: &str = "root";

/// A connection that says who calls.
pub(super) type Door = InterceptedService<Channel, Bearer>;

/// The token of each call.
#[derive(Clone)]
pub(super) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// A whole agent but for its pipelines, over a world.
struct Port {
    world: World,
    endpoint: Endpoint,
    channel: Channel,
    refusals: Arc<Refusals>,
    stopping: CancellationToken,
    _reconciler: Reconciler,
    _folder: tempfile::TempDir,
}

impl Port {
    async fn open() -> Self {
        let world = World::new().await;
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let file = |name: &str, text: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let certificates = Certificates::load(TlsFiles {
            certificate: file("cert.pem", made.cert.pem()),
            key: file("key.pem", made.signing_key.serialize_pem()),
            client_authorities: None,
            principal: NameField::CommonName,
        })
        .unwrap();
        let stopping = CancellationToken::new();
        let (reconciler, services) = services(&world.store, &FakeEngine::default(), stopping.clone());
        let group = |name: &str, member: &str| (name.to_owned(), BTreeSet::from([member.to_owned()]));
        let directory = Directory::new(BTreeMap::from([group("admins", ROOT), group(TEAM, BOB)]));
        let authenticator = Authenticator::new(world.store.clone(), Arc::new(directory), Oidc::default(), Known::Closed);
        let refusals = authenticator.refusals();
        let settings = PortSettings {
            authenticator: Arc::new(authenticator),
            loopback: true,
            encrypted: true,
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let serving = serve(
            listener,
            Some(Arc::new(certificates)),
            router(&services, settings),
            stopping.clone(),
        );
        tokio::spawn(serving);
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(made.cert.pem()));
        let endpoint = Channel::from_shared(endpoint).unwrap().tls_config(tls).unwrap();
        Self {
            world,
            channel: endpoint.connect().await.unwrap(),
            endpoint,
            refusals,
            stopping,
            _reconciler: reconciler,
            _folder: folder,
        }
    }

    /// A new token of somebody: its id, and a connection by it.
    async fn token(&self, principal: &str) -> (String, Door) {
        let text = TokenText::generate(now_ms()).unwrap();
        let record = TokenRecord {
            id: text.id().to_owned(),
            hash: text.hash(),
            principal: principal.to_owned(),
            created_by: "test".into(),
            create_time_ms: now_ms(),
            expire_time_ms: None,
            last_use_time_ms: None,
        };
        let inserted = self.world.store.insert_token(&record, now_ms()).await.unwrap();
        assert_eq!(inserted, InsertedToken::Inserted);
        let bearer = format!("Bearer {}", text.expose()).parse().unwrap();
        (record.id, InterceptedService::new(self.channel.clone(), Bearer(Some(bearer))))
    }

    async fn door(&self, principal: &str) -> Door {
        self.token(principal).await.1
    }
}

/// What is asked by one call.
#[derive(Clone, Copy)]
struct Question<'a> {
    call: Call,
    action: Action,
    securable: Securable<'a>,
}

impl std::fmt::Display for Question<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {} {}", self.call.name(), self.action.verb(), self.securable)
    }
}

impl Question<'_> {
    async fn ask(self, door: &Door) -> Result<(), Status> {
        make(door, self.call, self.action, self.securable, "").await
    }

    /// Anything may come of it, but no refusal of this kind.
    async fn is_let_through(self, door: &Door, with: &str) {
        if let Err(status) = self.ask(door).await {
            let code = status.code();
            let is_let = !matches!(
                code,
                Code::PermissionDenied | Code::Unauthenticated | Code::Internal | Code::Unavailable
            );
            assert!(is_let, "{self} {with}: {status:?}");
        }
    }

    /// Its refusal: the words, and what is in them for machines.
    async fn is_denied(self, door: &Door, with: &str) -> String {
        let Err(status) = self.ask(door).await else {
            panic!("{self} {with} was answered")
        };
        assert_eq!(status.code(), Code::PermissionDenied, "{self} {with}: {status:?}");
        format!("{} {:?}", status.message(), detail_of(&status))
    }
}

/// All that is asked of the things of these names.
fn questions(names: &Names) -> Vec<Question<'_>> {
    let mut questions = Vec::new();
    for call in Call::ALL {
        for (action, kind) in call.asks() {
            for securable in securables(*kind, names) {
                questions.push(Question {
                    call: *call,
                    action: *action,
                    securable,
                });
            }
        }
    }
    questions
}

/// What must be held for it, and where. What is judged as a create or an update: as a create, for which nothing need be seen, or,
/// where only admins may create, as an update of what is there.
fn needs(question: Question<'_>) -> Option<Vec<(Need, Place)>> {
    let kind = question.securable.kind();
    let rule = match rule(question.action, kind) {
        Rule::AsCreateOrUpdate => match rule(Action::Create, kind) {
            Rule::Admins => rule(Action::Update, kind),
            create => create,
        },
        rule => rule,
    };
    let Rule::Needs(needs) = rule else { return None };
    let placed = needs.iter().filter_map(|need| Some((*need, place(*need, question.securable)?)));
    Some(placed.collect())
}

/// All of it but one part, which is held elsewhere, if at all.
fn granted(needs: &[(Need, Place)], but: usize, instead: Option<(Place, Privilege)>) -> Granted {
    let mut granted = Granted::new();
    for (at, (need, place)) in needs.iter().enumerate() {
        let held = if at == but { instead } else { Some((*place, need.any[0])) };
        if let Some((place, privilege)) = held {
            granted.entry(place).or_default().insert(privilege);
        }
    }
    granted
}

fn everything() -> Granted {
    let all = || Privilege::ALL.iter().copied().collect();
    PLACES.iter().map(|place| (*place, all())).collect()
}

async fn check(port: &Port, bob: &Door, question: Question<'_>, needs: &[(Need, Place)]) {
    let world = &port.world;
    world.grant(BOB, &Granted::new()).await;
    question.is_denied(bob, "with nothing").await;
    world.grant(TEAM, &granted(needs, usize::MAX, None)).await;
    question.is_let_through(bob, "by its group").await;
    for (at, (need, place)) in needs.iter().enumerate() {
        world.grant(BOB, &granted(needs, at, None)).await;
        let refusal = question.is_denied(bob, &format!("without {need:?}")).await;
        // Who may not even see what is there is told what it takes to create it.
        let is_said = refusal.contains(need.any[0].name()) || refusal.contains("only members of the group `admins`");
        assert!(is_said, "{question} without {need:?}: {refusal}");
        for place in std::iter::once(place).chain(above(*place)) {
            for privilege in need.any {
                world.grant(BOB, &granted(needs, at, Some((*place, *privilege)))).await;
                question.is_let_through(bob, &format!("with {privilege} on {place:?}")).await;
            }
        }
    }
}

#[tokio::test]
async fn every_call_over_tls_is_denied_without_each_of_its_privileges_and_let_through_with_them() {
    let port = Port::open().await;
    let (bob, root) = (port.door(BOB).await, port.door(ROOT).await);
    let names = names("orders", "");
    for question in questions(&names) {
        question.is_let_through(&root, "as an admin").await;
        match (rule(question.action, question.securable.kind()), needs(question)) {
            (_, Some(needs)) => check(&port, &bob, question, &needs).await,
            (Rule::Anyone | Rule::Filtered, _) => {
                port.world.grant(BOB, &Granted::new()).await;
                question.is_let_through(&bob, "with nothing").await;
            }
            // Of tokens that are somebody's there is a test below.
            (Rule::Themselves, _) => {}
            _ => {
                port.world.grant(BOB, &everything()).await;
                question.is_denied(&bob, "with everything").await;
            }
        }
    }
    port.stopping.cancel();
}

#[tokio::test]
async fn what_is_refused_over_the_port_tells_nothing_of_what_there_is() {
    let port = Port::open().await;
    let bob = port.door(BOB).await;
    let (there, away) = (names("orders", ""), names("absent", "absent"));
    let elsewhere = (crate::governance::privilege::SecurableType::Connection, "elsewhere");
    port.world
        .grant(BOB, &Granted::from([(elsewhere, Privilege::ALL.iter().copied().collect())]))
        .await;
    for (there, away) in questions(&there).into_iter().zip(questions(&away)) {
        if needs(there).is_none() {
            continue;
        }
        let (refusal, unknown) = (there.is_denied(&bob, "").await, away.is_denied(&bob, "").await);
        assert_eq!(without_names(&refusal), without_names(&unknown), "{there}");
    }
    port.stopping.cancel();
}

#[tokio::test]
async fn tokens_over_the_port_are_their_principals_and_nobody_else_learns_of_them() {
    let port = Port::open().await;
    let (bob, owner) = (port.door(BOB).await, port.door(OWNER).await);
    port.world.grant(BOB, &everything()).await;
    let securable = Securable::Tokens(OWNER);
    let mut asked = 0;
    for question in questions(&names("orders", "")) {
        if rule(question.action, question.securable.kind()) != Rule::Themselves {
            continue;
        }
        asked += 1;
        let (id, _) = port.token(OWNER).await;
        let of = async |door: &Door, id: &str| make(door, question.call, question.action, securable, id).await;
        let denied = async |id: &str| {
            let status = of(&bob, id).await.unwrap_err();
            assert_eq!(status.code(), Code::PermissionDenied, "{question}");
            status.message().to_owned()
        };
        // A list has no name in it: it is one's own, whoever asks.
        if question.action != Action::List {
            assert_eq!(denied(&id).await, denied("AAAAAAAA").await, "{question}");
        }
        of(&owner, &id).await.unwrap();
    }
    assert_eq!(asked, 3);
    port.stopping.cancel();
}

#[tokio::test]
async fn no_call_is_answered_to_who_shows_nothing() {
    let port = Port::open().await;
    for bearer in [None, Some("Bearer fst_0".parse().unwrap())] {
        for question in questions(&names("orders", "")) {
            // By a connection of its own: one on which many are refused ends.
            let channel = port.endpoint.connect().await.unwrap();
            let door = InterceptedService::new(channel, Bearer(bearer.clone()));
            let status = question.ask(&door).await.unwrap_err();
            assert_eq!(status.code(), Code::Unauthenticated, "{question}: {status:?}");
        }
    }
    // The audit counts them by where they come from.
    let told = port.refusals.take(now_ms(), true).into_iter();
    let told: BTreeSet<_> = told.map(|event| (event.securable_name, event.detail)).collect();
    let count = questions(&names("orders", "")).len();
    let expected = ["nothing shown", "unknown token"].map(|reason| ("127.0.0.1".to_owned(), format!("{reason}, {count} times")));
    assert_eq!(told, BTreeSet::from(expected));
    port.stopping.cancel();
}
