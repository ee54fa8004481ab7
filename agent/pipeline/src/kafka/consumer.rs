//! One librdkafka consumer: its configuration, its events, and its end.
//!
//! Invariant: dropping the last reference never blocks the thread that drops it; closing has a thread of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tokio::sync::watch;

use super::broker_certificate::{self, CertificateFault};
use super::client_count::ClientPlace;
use super::ffi::{self, ClientEvent, EventQueue, NativeClient};
use super::options::ClientOptions;
use super::security::Security;
use super::tokens::Tokens;
use super::trouble::{Trouble, TroubleKind};
use crate::connection::{ClientProperties, PropertyValue};
use crate::error::{PipelineError, Retry};
use crate::limits;

/// What the agent calls itself to brokers.
const CLIENT_ID: &str = "featurestore-agent";

/// What librdkafka's log calls a connection that broke.
const CONNECTION_FAILED: &str = "FAIL";

/// What librdkafka says by itself, outside any call.
pub(crate) struct ClientEvents {
    /// The last thing that went wrong with the connection; `None` while all is well.
    trouble: watch::Sender<Option<Trouble>>,
    tokens: Option<Tokens>,
    security: Security,
    /// Whether the broker's certificate must be for the host that it is reached by.
    checks_host: bool,
    /// When a broker's certificate was last looked at.
    looked_at: Mutex<Option<Instant>>,
}

impl ClientEvents {
    fn new(trouble: watch::Sender<Option<Trouble>>, properties: &ClientProperties) -> Result<Self, PipelineError> {
        let identification = properties.properties.get("ssl.endpoint.identification.algorithm");
        Ok(Self {
            trouble,
            tokens: Tokens::of(properties)?,
            security: Security::of(properties),
            checks_host: identification.is_none_or(|algorithm| algorithm.expose() != "none"),
            looked_at: Mutex::default(),
        })
    }

    /// What is wrong with a broker's certificate: librdkafka does not say. Blocks, but not for long.
    fn fault_of(&self, broker: &str) -> Option<CertificateFault> {
        *self.looked_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        broker_certificate::look(broker, self.checks_host)
    }

    fn looked_lately(&self) -> bool {
        let looked_at = *self.looked_at.lock().unwrap_or_else(PoisonError::into_inner);
        looked_at.is_some_and(|at| at.elapsed() < limits::CERTIFICATE_LOOK_INTERVAL)
    }
}

impl ClientEvents {
    fn take(&self, event: ClientEvent, client: &NativeClient) {
        match event {
            ClientEvent::Log { level, facility, message } => self.log(level, &facility, &message),
            ClientEvent::Error { code, reason } => self.error(code, &reason),
            // Asked when the client is opened, and again when four fifths of a token's life are over, whether or not anything is read.
            ClientEvent::TokenWanted => self.give_token(client),
        }
    }

    fn give_token(&self, client: &NativeClient) {
        match &self.tokens {
            Some(tokens) => tokens.give(client, CLIENT_ID),
            None => ffi::give_token(client, CLIENT_ID, Err("nobody gives this client tokens".to_owned())),
        }
    }

    /// `level` is one of syslog's.
    fn log(&self, level: i32, facility: &str, message: &str) {
        match level {
            ..=3 => tracing::warn!(facility, message, "librdkafka reports an error"),
            4 | 5 => tracing::info!(facility, message, "librdkafka reports"),
            6 => tracing::debug!(facility, message, "librdkafka reports"),
            _ => tracing::trace!(facility, message, "librdkafka reports"),
        }
        // A connection that the broker closes is no error to librdkafka: only its log says so.
        if facility == CONNECTION_FAILED
            && let Some(news) = Trouble::of_closed(message, &self.security)
        {
            self.note(news, false);
        }
    }

    fn error(&self, code: RDKafkaErrorCode, reason: &str) {
        let mut news = Trouble::of(Some(code), reason);
        if news.kind == TroubleKind::Certificate {
            let known = self.trouble.borrow().as_ref().filter(|known| known.is_like(&news)).cloned();
            news.fault = match known {
                Some(known) if self.looked_lately() => known.fault,
                _ => news.broker().and_then(|broker| self.fault_of(broker)),
            };
        }
        // The news that every broker is down comes after, and says less than, the reason why one of them is.
        self.note(news, code == RDKafkaErrorCode::AllBrokersDown);
    }

    fn note(&self, news: Trouble, is_summary: bool) {
        self.trouble.send_if_modified(|trouble| {
            let known = trouble
                .as_ref()
                .is_some_and(|known| is_summary || (known.is_like(&news) && known.fault == news.fault));
            if !known {
                *trouble = Some(news);
            }
            !known
        });
    }
}

/// A consumer that is open for as long as anything refers to it.
pub(crate) struct OpenConsumer {
    /// Shared with the thread that serves the events, and with nobody else.
    client: Arc<NativeClient>,
    trouble: watch::Sender<Option<Trouble>>,
}

impl OpenConsumer {
    /// Makes a consumer and the thread that serves its events. Contacts no broker yet.
    pub(crate) fn open(properties: &ClientProperties, options: &ClientOptions, place: ClientPlace) -> Result<Arc<Self>, PipelineError> {
        let trouble = watch::Sender::new(None);
        let events = ClientEvents::new(trouble.clone(), properties)?;
        let client = Arc::new(ffi::open(&settings(options), &with_address(properties)).map_err(refused)?);
        let queue = EventQueue::of(&client).map_err(|error| refused(KafkaError::ClientCreation(error.to_string())))?;
        thread::Builder::new()
            .name("kafka-events".into())
            .spawn(move || {
                serve_events(&queue, &events);
                // It may be the last that has the client, which closes here.
                drop(queue);
                drop(place);
            })
            .map_err(|error| PipelineError::Source {
                reason: "ClientNotStarted",
                message: format!(
                    "cannot start a thread for the Kafka client of `{}`: {error}",
                    properties.bootstrap_servers
                ),
                retry: Retry::Later,
            })?;
        Ok(Arc::new(Self { client, trouble }))
    }

    /// librdkafka's consumer.
    pub(crate) fn client(&self) -> &NativeClient {
        &self.client
    }

    /// What is wrong with the connection; `None` while all is well.
    pub(crate) fn trouble(&self) -> watch::Receiver<Option<Trouble>> {
        self.trouble.subscribe()
    }

    /// Notes that a broker has answered.
    pub(crate) fn note_answer(&self) {
        self.trouble.send_if_modified(|trouble| trouble.take().is_some());
    }
}

/// Serves logs, errors and token refreshes until the consumer is used by nobody else, then closes it. Closing can take as
/// long as a broker's time-out, and a bug of librdkafka can make it take for ever (rust-rdkafka#509): so it is done here.
fn serve_events(queue: &EventQueue, events: &ClientEvents) {
    while Arc::strong_count(queue.client()) > 1 {
        // Records arrive in queues of their own, so there is nothing here but events.
        if let Some(event) = queue.next(limits::CLIENT_EVENT_WAIT) {
            events.take(event, queue.client());
        }
    }
}

/// What a client is told of its connection.
fn with_address(properties: &ClientProperties) -> BTreeMap<String, PropertyValue> {
    let mut all = properties.properties.clone();
    all.insert("bootstrap.servers".to_owned(), properties.bootstrap_servers.as_str().into());
    all
}

/// What every client is told beside its connection.
fn settings(options: &ClientOptions) -> ClientConfig {
    let mut configuration = ClientConfig::new();
    let partition_fetch_bytes = options.partition_fetch_bytes.unwrap_or(limits::PARTITION_FETCH_BYTES);
    configuration
        .set("client.id", CLIENT_ID)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        // A position that is not there is ours to decide about (confluentinc/librdkafka#3745).
        .set("auto.offset.reset", "error")
        .set("isolation.level", "read_committed")
        .set("enable.partition.eof", "false")
        .set("allow.auto.create.topics", "false")
        .set("check.crcs", "true")
        .set("socket.keepalive.enable", "true")
        // A broker that closes connections at once wants to be spoken to by another security protocol, which only the log shows.
        .set_log_level(RDKafkaLogLevel::Info)
        .set("log.connection.close", "true")
        .set("reconnect.backoff.max.ms", limits::RECONNECT_WAIT_MAX.as_millis().to_string())
        .set("receive.message.max.bytes", limits::RESPONSE_BYTES_MAX.to_string())
        .set("fetch.max.bytes", limits::FETCH_BYTES_MAX.to_string())
        .set("fetch.message.max.bytes", partition_fetch_bytes.to_string())
        .set("fetch.min.bytes", limits::FETCH_BYTES_MIN.min(partition_fetch_bytes).to_string())
        .set("fetch.wait.max.ms", limits::FETCH_WAIT.as_millis().to_string())
        .set("queued.max.messages.kbytes", (limits::QUEUE_BYTES_MAX / 1024).to_string())
        .set("queued.min.messages", limits::QUEUE_MESSAGES_MAX.to_string())
        .set("fetch.queue.backoff.ms", limits::FULL_QUEUE_WAIT.as_millis().to_string());
    if let Some(milliseconds) = options.request_timeout.map(|timeout| timeout.as_millis()) {
        configuration.set("socket.timeout.ms", milliseconds.to_string());
    }
    // Whoever asks for this module's traces wants to see what the client does: it says so only where it is told to.
    if tracing::enabled!(tracing::Level::TRACE) {
        configuration.set("debug", "all").set_log_level(RDKafkaLogLevel::Debug);
    }
    configuration
}

/// librdkafka refuses a configuration. Its text repeats values, some of which are secret: only the property is named.
fn refused(error: KafkaError) -> PipelineError {
    let message = match &error {
        KafkaError::ClientConfig(_, _, property, _) => {
            format!("the Kafka client refuses the property `{property}`; mend the connection's options")
        }
        KafkaError::ClientCreation(text) => format!("the Kafka client cannot be made: {text}; mend the connection's options"),
        _ => "the Kafka client cannot be made; mend the connection's options".to_owned(),
    };
    PipelineError::Source {
        reason: "ConnectionRefused",
        message,
        retry: Retry::No,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
    use rdkafka::{Offset, TopicPartitionList};
    use stream_spec::limits::{PARTITION_FETCH_BYTES, REQUEST_TIMEOUT_MILLIS};

    use super::*;
    use crate::connection::{BearerToken, TokenSource};
    use crate::kafka::client_count::ClientCount;

    fn place() -> ClientPlace {
        ClientCount::apart().take_place().expect("no bound")
    }

    #[test]
    fn a_reason_is_told_once_however_often_it_is_met() {
        let trouble = watch::Sender::new(None);
        let properties = ClientProperties {
            bootstrap_servers: "b:1".to_owned(),
            properties: Default::default(),
            tokens: None,
            identity: String::new(),
        };
        let events = ClientEvents::new(trouble.clone(), &properties).expect("no tokens");
        let refused = RDKafkaErrorCode::BrokerTransportFailure;
        let down = RDKafkaErrorCode::AllBrokersDown;
        let mut reader = trouble.subscribe();
        for (error, reason, told) in [
            (
                refused,
                "b:1/bootstrap: Connect to ipv4#1.2.3.4:1 failed: Connection refused (after 0ms in state CONNECT)",
                true,
            ),
            (down, "1/1 brokers are down", false),
            (
                refused,
                "b:1/7: Connect to ipv4#1.2.3.4:1 failed: Connection refused (after 3ms in state CONNECT, 1 identical error(s) suppressed)",
                false,
            ),
            (refused, "b:1/7: Disconnected (after 5ms in state UP)", true),
        ] {
            events.error(error, reason);
            assert_eq!(reader.has_changed().expect("open"), told, "{reason}");
            reader.borrow_and_update();
        }
        let told = reader.borrow().as_ref().map(|trouble| trouble.text.clone());
        assert_eq!(told.as_deref(), Some("b:1/7: Disconnected"));
    }

    #[test]
    fn a_stream_s_options_reach_the_client_from_one_end_of_their_ranges_to_the_other() {
        let properties = ClientProperties {
            bootstrap_servers: "127.0.0.1:1".to_owned(),
            properties: Default::default(),
            tokens: None,
            identity: "none".to_owned(),
        };
        let (timeouts, bytes) = (REQUEST_TIMEOUT_MILLIS, PARTITION_FETCH_BYTES);
        for (millis, bytes) in [(*timeouts.start(), *bytes.start()), (*timeouts.end(), *bytes.end())] {
            let options = ClientOptions {
                request_timeout: Some(Duration::from_millis(millis.unsigned_abs())),
                partition_fetch_bytes: usize::try_from(bytes).ok(),
            };
            let configuration = settings(&options);
            assert_eq!(configuration.get("socket.timeout.ms"), Some(millis.to_string().as_str()));
            assert_eq!(configuration.get("fetch.message.max.bytes"), Some(bytes.to_string().as_str()));
            assert!(OpenConsumer::open(&properties, &options, place()).is_ok(), "{options:?}");
        }
        let configuration = settings(&ClientOptions::default());
        assert_eq!(configuration.get("socket.timeout.ms"), None);
        assert_eq!(
            configuration.get("fetch.message.max.bytes"),
            Some(limits::PARTITION_FETCH_BYTES.to_string().as_str())
        );
    }

    /// `confluentinc/librdkafka#1605`, `quickwit-oss/quickwit#2993`: what belongs to a group is rebalanced and committed to.
    #[test]
    fn a_client_is_in_no_group_and_can_commit_to_none() {
        let configuration = settings(&ClientOptions::default());
        assert_eq!(configuration.get("group.id"), None);
        assert_eq!(configuration.get("enable.auto.offset.store"), Some("false"));
        let consumer: BaseConsumer = configuration.create().expect("open");
        let subscribed = consumer.subscribe(&["t"]).expect_err("no group to subscribe with");
        assert!(subscribed.to_string().contains("Unknown group"), "{subscribed}");
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset("t", 0, Offset::Offset(1)).expect("an offset");
        consumer.commit(&offsets, CommitMode::Sync).expect_err("no group to commit to");
    }

    /// Gives tokens of one second, or refuses, and counts.
    struct ShortTokens {
        given: watch::Sender<u32>,
        refuses: bool,
    }

    #[async_trait::async_trait]
    impl TokenSource for ShortTokens {
        async fn token(&self) -> Result<BearerToken, String> {
            self.given.send_modify(|given| *given += 1);
            match self.refuses {
                true => Err("the role `reader` is refused; mend its trust policy".to_owned()),
                false => Ok(BearerToken {
                    value: "canary-token".into(),
                    expires_at: SystemTime::now() + Duration::from_secs(1),
                }),
            }
        }
    }

    fn with_tokens(refuses: bool) -> (ClientProperties, watch::Receiver<u32>) {
        let (given, seen) = watch::channel(0);
        let properties = [("security.protocol", "sasl_plaintext"), ("sasl.mechanism", "OAUTHBEARER")];
        let properties = ClientProperties {
            bootstrap_servers: "127.0.0.1:1".to_owned(),
            properties: properties.map(|(name, value)| (name.to_owned(), value.into())).into(),
            tokens: Some(Arc::new(ShortTokens { given, refuses })),
            identity: "i".to_owned(),
        };
        (properties, seen)
    }

    const DEADLINE: Duration = Duration::from_secs(60);

    #[tokio::test(flavor = "multi_thread")]
    async fn an_idle_client_asks_for_the_next_token_before_the_last_one_ends() {
        let (properties, mut given) = with_tokens(false);
        let _client = OpenConsumer::open(&properties, &ClientOptions::default(), place()).unwrap();
        tokio::time::timeout(DEADLINE, given.wait_for(|given| *given >= 3))
            .await
            .unwrap()
            .unwrap();
        let (closed, _) = with_tokens(false);
        let outside = std::thread::spawn(move || OpenConsumer::open(&closed, &ClientOptions::default(), place()).err());
        assert!(matches!(outside.join().unwrap(), Some(PipelineError::Internal { .. })));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn who_gives_no_token_is_quoted_in_the_trouble() {
        let (properties, _given) = with_tokens(true);
        let client = OpenConsumer::open(&properties, &ClientOptions::default(), place()).unwrap();
        let mut trouble = client.trouble();
        let of_credential = |trouble: &Option<Trouble>| trouble.as_ref().is_some_and(|it| it.kind == TroubleKind::Credential);
        let seen = tokio::time::timeout(DEADLINE, trouble.wait_for(of_credential))
            .await
            .unwrap()
            .unwrap()
            .clone()
            .unwrap();
        assert_eq!(seen.text, "the role `reader` is refused; mend its trust policy");
        assert_eq!(seen.reason(&crate::kafka::security::Security::default()), "CredentialRefused");
    }
}
