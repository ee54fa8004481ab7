//! What connections are held to. They lie in memory and the clock goes on by itself, whenever nobody has anything to do: nothing that
//! is on its way is overtaken by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::{Request, Uri};
use axum::routing::{any, get};
use axum::{Router, middleware};
use bytes::Bytes;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tower::ServiceExt;

use super::door;
use super::serve::converse;
use super::strangers::Strangers;
use super::tls::{Certificates, TlsFiles};
use crate::governance::authentication::certificate::NameField;
use crate::governance::authentication::oidc::Oidc;
use crate::governance::authentication::{Authenticator, Directory, Door};
use crate::limits::*;
use crate::store::Store;
use crate::store::sqlite::SqliteStore;

/// What lies between the two ends of a connection.
const BETWEEN_BYTES: usize = 64 << 10;

/// More than that, and than what each end keeps.
const LARGE_BYTES: usize = 4 << 20;

/// Less than a call may take.
const SLOW: Duration = Duration::from_secs(60);

/// A port on which nothing but `/health` is for strangers, and everybody else is known if its door is open.
#[derive(Clone)]
struct Port {
    router: Router,
    certificates: Option<Arc<Certificates>>,
    strangers: Arc<Strangers>,
    stopping: CancellationToken,
    _folder: Arc<tempfile::TempDir>,
}

impl Port {
    async fn open() -> Self {
        Self::with(Door::Open, false).await
    }

    async fn with(door: Door, encrypted: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&folder.path().join("agent.db")).await.unwrap());
        let authenticator = Authenticator::new(store, Arc::new(Directory::default()), Oidc::default(), door);
        let door = Arc::new(door::Door::new(Arc::new(authenticator)));
        let router = Router::new()
            .route("/known", any(|| async { "known" }))
            .route("/whole", any(|_: Bytes| async { "whole" }))
            .route(
                "/slow",
                any(|| async {
                    tokio::time::sleep(SLOW).await;
                    "slow"
                }),
            )
            .route("/large", any(|| async { vec![b'x'; LARGE_BYTES] }))
            .layer(middleware::from_fn_with_state(door, door::known_only))
            .route("/health", get(|| async { "ok" }));
        let certificates = encrypted.then(|| {
            let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
            let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
            std::fs::write(&certificate, made.cert.pem()).unwrap();
            std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
            let files = TlsFiles {
                certificate,
                key,
                client_authorities: None,
                principal: NameField::CommonName,
            };
            Arc::new(Certificates::load(files).unwrap())
        });
        // Nothing on the way of a call waits for another thread from here on.
        tokio::time::pause();
        Self {
            router,
            certificates,
            strangers: Arc::default(),
            stopping: CancellationToken::new(),
            _folder: Arc::new(folder),
        }
    }

    /// The other end of a new connection.
    fn accept(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(BETWEEN_BYTES);
        tokio::spawn(converse(
            ours,
            self.strangers.take_in(None),
            self.certificates.clone(),
            self.router.clone(),
            self.stopping.clone(),
        ));
        theirs
    }

    fn connect(&self) -> Connection {
        Connection(self.accept())
    }

    /// How long a connection lasts to which that is sent at once, and nothing more.
    async fn lasts(&self, sent: &str) -> Duration {
        let mut connection = self.connect();
        connection.0.write_all(sent.as_bytes()).await.unwrap();
        let begun = Instant::now();
        connection.rest().await;
        begun.elapsed()
    }

    /// How long a connection lasts to which that is sent at once, and the rest a byte a second.
    async fn lasts_in_drops(&self, at_once: &str, rest: &[u8]) -> Duration {
        let mut connection = self.connect();
        connection.0.write_all(at_once.as_bytes()).await.unwrap();
        let begun = Instant::now();
        for byte in rest {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if connection.0.write_all(&[*byte]).await.is_err() || connection.is_over().await {
                return begun.elapsed();
            }
        }
        connection.rest().await;
        begun.elapsed()
    }

    /// A client as the provider and the command line have it.
    fn client(&self, window: Option<u32>) -> Client {
        let made = Arc::new(AtomicUsize::new(0));
        let (port, count) = (self.clone(), made.clone());
        let connector = tower::service_fn(move |_: Uri| {
            count.fetch_add(1, Ordering::Relaxed);
            let accepted = port.accept();
            async move { Ok::<_, std::io::Error>(TokioIo::new(accepted)) }
        });
        let endpoint = Channel::from_static("http://localhost").initial_stream_window_size(window);
        Client {
            channel: endpoint.connect_with_connector_lazy(connector),
            made,
        }
    }
}

/// A client of HTTP/1.1.
struct Connection(DuplexStream);

impl Connection {
    /// The code that a request is answered with; `None` if the connection is over.
    async fn ask(&mut self, path: &str) -> Option<u16> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        self.0.write_all(request.as_bytes()).await.ok()?;
        let mut answer = [0; 4096];
        let length = self.0.read(&mut answer).await.ok()?;
        let answer = std::str::from_utf8(&answer[..length]).unwrap();
        answer.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
    }

    /// What comes until the connection is over. An end or a reset: closed is closed.
    async fn rest(&mut self) -> usize {
        let mut rest = Vec::new();
        drop(self.0.read_to_end(&mut rest).await);
        rest.len()
    }

    /// Takes what is there by now.
    async fn take(&mut self, bytes_max: usize) -> std::io::Result<usize> {
        let mut taken = vec![0; bytes_max];
        let reading = tokio::time::timeout(Duration::ZERO, self.0.read(&mut taken)).await;
        reading.unwrap_or(Err(std::io::ErrorKind::WouldBlock.into()))
    }

    async fn is_over(&mut self) -> bool {
        loop {
            match self.take(4096).await {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() != std::io::ErrorKind::WouldBlock,
            }
        }
    }
}

/// A client of HTTP/2 that connects when it needs to.
struct Client {
    channel: Channel,
    made: Arc<AtomicUsize>,
}

impl Client {
    /// How many connections it has made by now.
    fn connections(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    async fn ask(&self, path: &str) -> Result<u16, String> {
        let request = Request::builder().uri(format!("http://localhost{path}"));
        let request = request.body(tonic::body::Body::empty()).unwrap();
        let answer = self.channel.clone().oneshot(request).await;
        answer.map(|answer| answer.status().as_u16()).map_err(|error| format!("{error:?}"))
    }

    /// The length of an answer.
    async fn take(&self, path: &str) -> Result<usize, String> {
        let request = Request::builder().uri(format!("http://localhost{path}"));
        let request = request.body(tonic::body::Body::empty()).unwrap();
        let answer = self.channel.clone().oneshot(request).await;
        let answer = answer.map_err(|error| format!("{error:?}"))?;
        let taken = axum::body::to_bytes(axum::body::Body::new(answer.into_body()), usize::MAX).await;
        taken.map(|taken| taken.len()).map_err(|error| format!("{error:?}"))
    }
}

/// A moment more than a bound: clocks have steps.
fn about(bound: Duration) -> std::ops::RangeInclusive<Duration> {
    bound..=bound + Duration::from_secs(1)
}

#[tokio::test]
async fn a_connection_on_which_nobody_becomes_known_ends() {
    let port = Port::open().await;
    // Not a byte, half a request, a request that everybody may make, and the start of HTTP/2 with not one frame after it.
    let health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for sent in ["", "GET / HT", health, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let lasts = port.lasts(sent).await;
        assert!(lasts <= *about(UNKNOWN_CONNECTION_WAIT).end(), "{sent}: {lasts:?}");
    }
}

#[tokio::test]
async fn a_connection_of_somebody_who_is_known_outlasts_that_and_ends_when_it_is_idle() {
    let port = Port::open().await;
    let mut connection = port.connect();
    for _ in 0..10 {
        assert_eq!(connection.ask("/known").await, Some(200), "still served");
        tokio::time::sleep(HEADER_WAIT / 2).await;
    }
    // A client of HTTP/2 keeps its connection for as long as it may.
    let client = port.client(None);
    for (wait, connections) in [
        (Duration::ZERO, 1),
        (UNKNOWN_CONNECTION_WAIT * 2, 1),
        (CONNECTION_IDLE_WAIT - Duration::from_secs(1), 1),
        (CONNECTION_IDLE_WAIT + Duration::from_secs(1), 2),
    ] {
        tokio::time::sleep(wait).await;
        assert_eq!(client.ask("/known").await, Ok(200), "{wait:?}");
        assert_eq!(client.connections(), connections, "{wait:?}");
    }
}

#[tokio::test]
async fn an_old_connection_ends_in_order_and_its_client_misses_no_call() {
    let port = Port::open().await;
    let client = port.client(None);
    let begun = Instant::now();
    while client.connections() < 2 {
        // Each call takes a minute: one is under way when the connection is told to end.
        assert_eq!(client.ask("/slow").await, Ok(200), "{:?}", begun.elapsed());
        assert!(begun.elapsed() < CONNECTION_AGE_MAX + 3 * SLOW, "never ended");
    }
    assert!(begun.elapsed() > CONNECTION_AGE_MAX - CONNECTION_AGE_SPREAD);
}

#[tokio::test]
async fn a_stranger_too_many_costs_the_oldest_its_place_and_nobody_who_is_known() {
    let port = Port::open().await;
    let mut known = port.connect();
    assert_eq!(known.ask("/known").await, Some(200));
    let mut strangers = Vec::new();
    for _ in 0..=STRANGERS_MAX {
        strangers.push(port.connect());
    }
    let mut newcomer = port.connect();
    assert_eq!(newcomer.ask("/known").await, Some(200));
    let begun = Instant::now();
    for oldest in &mut strangers[..2] {
        oldest.rest().await;
    }
    assert!(begun.elapsed() < HEADER_WAIT, "the two oldest left at once");
    assert_eq!(strangers[2].ask("/health").await, Some(200));
    assert_eq!(known.ask("/known").await, Some(200));
    // Whoever is known takes no stranger's place.
    assert_eq!(strangers[3].ask("/known").await, Some(200));
}

#[tokio::test]
async fn a_principal_has_so_many_connections_and_is_told_so() {
    let port = Port::open().await;
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS_PER_PRINCIPAL_MAX {
        let mut connection = port.connect();
        assert_eq!(connection.ask("/known").await, Some(200));
        connections.push(connection);
    }
    let mut another = port.connect();
    assert_eq!(another.ask("/known").await, Some(429));
    assert_eq!(another.ask("/health").await, Some(200), "it may try again on the same connection");
    connections.pop();
    let begun = Instant::now();
    while another.ask("/known").await != Some(200) {
        assert!(begun.elapsed() < UNKNOWN_CONNECTION_WAIT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_connection_whose_calls_are_refused_ends() {
    let port = Port::with(Door::Closed, false).await;
    let mut connection = port.connect();
    for _ in 0..REFUSALS_PER_CONNECTION_MAX {
        assert_eq!(connection.ask("/known").await, Some(401));
    }
    let begun = Instant::now();
    connection.rest().await;
    assert!(begun.elapsed() < HEADER_WAIT, "at once, and not because nobody became known");
}

#[tokio::test]
async fn a_peer_that_takes_no_answer_is_cut_off() {
    let port = Port::open().await;
    let request = b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut taker = port.connect();
    taker.0.write_all(request).await.unwrap();
    assert!(taker.rest().await > LARGE_BYTES, "whoever takes it gets it");
    // Neither at all, nor in drops.
    for drop_bytes in [0, 1000] {
        let mut connection = port.connect();
        connection.0.write_all(request).await.unwrap();
        let begun = Instant::now();
        while begun.elapsed() < ANSWER_WAIT + ANSWER_LOOK_INTERVAL {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if drop_bytes > 0 {
                drop(connection.take(drop_bytes).await);
            }
        }
        assert!(connection.rest().await < LARGE_BYTES, "{drop_bytes} bytes a second");
    }
    // HTTP/2 has a window of its own, which such a client leaves shut.
    let begun = Instant::now();
    port.client(Some(0)).take("/large").await.unwrap_err();
    let lasted = begun.elapsed();
    assert!(
        lasted >= ANSWER_WAIT && lasted <= *about(ANSWER_WAIT + ANSWER_LOOK_INTERVAL).end(),
        "{lasted:?}"
    );
}

#[tokio::test]
async fn what_comes_in_drops_is_not_waited_for() {
    let port = Port::open().await;
    let line = "GET /known HTTP/1.1\r\nHost: localhost\r\nX: ".to_owned() + &"x".repeat(600);
    let lasts = port.lasts_in_drops("", line.as_bytes()).await;
    assert!(lasts <= *about(UNKNOWN_CONNECTION_WAIT).end(), "of a stranger: {lasts:?}");
    let known = "GET /known HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let lasts = port.lasts_in_drops(known, line.as_bytes()).await;
    assert!(lasts <= *about(HEADER_WAIT).end(), "head of a request: {lasts:?}");
    let head = "POST /whole HTTP/1.1\r\nHost: localhost\r\nContent-Length: 600\r\n\r\n";
    let lasts = port.lasts_in_drops(head, &[b'x'; 600]).await;
    assert!(lasts <= *about(CALL_TIME_MAX + HEADER_WAIT).end(), "body of a request: {lasts:?}");
}

#[tokio::test]
async fn a_handshake_in_drops_is_not_waited_for() {
    let port = Port::with(Door::Open, true).await;
    // The head of a handshake of 512 bytes, and no more than that of it.
    let hello = [[0x16, 3, 1, 2, 0].as_slice(), &[1; 100]].concat();
    let lasts = port.lasts_in_drops("", &hello).await;
    assert!(lasts <= *about(HANDSHAKE_WAIT).end(), "handshake: {lasts:?}");
}
