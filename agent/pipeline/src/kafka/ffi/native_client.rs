//! Opens a client, and takes what it says by itself: logs, errors, and that it wants a token.
//!
//! The consumers of the `rdkafka` crate are made from ordinary texts, of which copies stay in memory. Here a property's value goes to
//! librdkafka from memory that is wiped. Invariant: what librdkafka itself keeps, for as long as a client is open, is the only copy of a
//! secret that outlives the opening.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::client::{Client, DefaultClientContext};
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::types::RDKafkaType;
use rdkafka_sys as sys;
use zeroize::Zeroizing;

use super::questions::milliseconds;
use super::{NativeError, last_error, text};
use crate::connection::PropertyValue;

/// A client of librdkafka.
pub(crate) type NativeClient = Client<DefaultClientContext>;

/// Bytes of librdkafka's words for a token that it does not take.
const REFUSAL_BYTES: usize = 512;

/// What a client says by itself.
#[derive(Debug)]
pub(crate) enum ClientEvent {
    /// A line of its log, with the levels of syslog.
    Log { level: i32, facility: String, message: String },
    /// Something went wrong.
    Error { code: RDKafkaErrorCode, reason: String },
    /// A token is wanted, or will be soon; [`give_token`] answers.
    TokenWanted,
}

/// Opens a consumer. Contacts no broker yet. `properties` may be secret, `settings` are not. An error names the property that is
/// refused, and never a value.
pub(crate) fn open(settings: &ClientConfig, properties: &BTreeMap<String, PropertyValue>) -> Result<NativeClient, KafkaError> {
    let native = settings.create_native_config()?;
    for (name, value) in properties {
        let refused = || {
            let (nothing, code) = (String::new(), sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_INVALID);
            KafkaError::ClientConfig(code, nothing.clone(), name.clone(), nothing)
        };
        let (Ok(name), Some(value)) = (CString::new(name.as_str()), zero_terminated(value)) else {
            return Err(refused());
        };
        // SAFETY: configuration and texts live through the call, which copies the value; there is no room for words, which would repeat
        // it, and none are written.
        let answer = unsafe { sys::rd_kafka_conf_set(native.ptr(), name.as_ptr(), value.as_ptr().cast(), ptr::null_mut(), 0) };
        if answer != sys::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK {
            return Err(refused());
        }
    }
    // SAFETY: the configuration is ours; logs are events by themselves.
    unsafe {
        sys::rd_kafka_conf_set_events(
            native.ptr(),
            sys::RD_KAFKA_EVENT_ERROR | sys::RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH,
        );
    }
    NativeClient::new(settings, native, RDKafkaType::RD_KAFKA_CONSUMER, DefaultClientContext)
}

/// Where a client's events arrive.
pub(crate) struct EventQueue {
    queue: NonNull<sys::rd_kafka_queue_t>,
    client: Arc<NativeClient>,
}

// SAFETY: librdkafka's queues may be used from any thread.
unsafe impl Send for EventQueue {}

impl EventQueue {
    /// The one queue of a client.
    pub(crate) fn of(client: &Arc<NativeClient>) -> Result<Self, NativeError> {
        // SAFETY: the client is open; the reference to its queue is ours.
        let queue = unsafe { sys::rd_kafka_queue_get_main(client.native_ptr()) };
        Ok(Self {
            queue: NonNull::new(queue).ok_or_else(last_error)?,
            client: client.clone(),
        })
    }

    /// The client.
    pub(crate) fn client(&self) -> &Arc<NativeClient> {
        &self.client
    }

    /// The next event, if one comes within `wait`; blocks.
    pub(crate) fn next(&self, wait: Duration) -> Option<ClientEvent> {
        // SAFETY: the queue is ours; the event, which may be null, is ours until it is given back, and its texts live as long.
        unsafe {
            let event = sys::rd_kafka_queue_poll(self.queue.as_ptr(), milliseconds(wait));
            if event.is_null() {
                return None;
            }
            let taken = read(event);
            sys::rd_kafka_event_destroy(event);
            taken
        }
    }
}

impl Drop for EventQueue {
    fn drop(&mut self) {
        // SAFETY: the reference is ours, and the client is still open.
        unsafe { sys::rd_kafka_queue_destroy(self.queue.as_ptr()) };
    }
}

/// # Safety
/// `event` is an event that lives through the call.
unsafe fn read(event: *mut sys::rd_kafka_event_t) -> Option<ClientEvent> {
    // SAFETY: by the caller's word; each question fits the event's type.
    unsafe {
        match sys::rd_kafka_event_type(event) {
            sys::RD_KAFKA_EVENT_LOG => {
                let (mut facility, mut message, mut level) = (ptr::null(), ptr::null(), 0);
                let answer = sys::rd_kafka_event_log(event, &raw mut facility, &raw mut message, &raw mut level);
                (answer == 0).then(|| ClientEvent::Log {
                    level,
                    facility: text(facility),
                    message: text(message),
                })
            }
            sys::RD_KAFKA_EVENT_ERROR => Some(ClientEvent::Error {
                code: sys::rd_kafka_event_error(event).into(),
                reason: text(sys::rd_kafka_event_error_string(event)),
            }),
            sys::RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH => Some(ClientEvent::TokenWanted),
            _ => None,
        }
    }
}

/// Answers [`ClientEvent::TokenWanted`]: with a token of that name and its end in milliseconds since 1970, or with why there is none.
pub(crate) fn give_token(client: &NativeClient, name: &str, answer: Result<(&PropertyValue, i64), String>) {
    let failure = match answer {
        Ok((token, ends_at_ms)) => match (zero_terminated(token), CString::new(name)) {
            (Some(token), Ok(name)) => {
                let mut words: [c_char; REFUSAL_BYTES] = [0; REFUSAL_BYTES];
                // SAFETY: client, texts and buffer live through the call, which copies the token; there are no extensions.
                let code = unsafe {
                    sys::rd_kafka_oauthbearer_set_token(
                        client.native_ptr(),
                        token.as_ptr().cast(),
                        ends_at_ms,
                        name.as_ptr(),
                        ptr::null_mut(),
                        0,
                        words.as_mut_ptr(),
                        words.len(),
                    )
                };
                if code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                    return;
                }
                // SAFETY: librdkafka ends its words with a zero, within the buffer.
                unsafe { text(words.as_ptr()) }
            }
            _ => "the token holds a zero byte".to_owned(),
        },
        Err(failure) => failure,
    };
    let failure = CString::new(failure.replace('\0', " ")).unwrap_or_default();
    // SAFETY: client and text live through the call.
    unsafe { sys::rd_kafka_oauthbearer_set_token_failure(client.native_ptr(), failure.as_ptr()) };
}

/// The value as C has texts, in memory that is wiped; nothing if it holds a zero byte.
fn zero_terminated(value: &PropertyValue) -> Option<Zeroizing<Vec<u8>>> {
    let bytes = value.expose().as_bytes();
    if bytes.contains(&0) {
        return None;
    }
    // Made large enough at once: a vector that grows leaves copies behind.
    let mut ended = Zeroizing::new(Vec::with_capacity(bytes.len() + 1));
    ended.extend_from_slice(bytes);
    ended.push(0);
    Some(ended)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::BufRead;
    use std::os::unix::fs::FileExt;

    use super::*;

    /// The secret is nowhere in memory but where the test puts it: here it is disguised.
    const DISGUISE: u8 = 0x5a;
    const DISGUISED: [u8; 24] = *b"\x5d\x6d\x69\x2a\x62\x3e\x08\x6a\x10\x62\x6b\x2d\x03\x6f\x33\x14\x6c\x28\x1f\x63\x35\x0e\x6e\x2b";

    /// Ends with the secret: what frees memory writes over its beginning.
    fn password() -> PropertyValue {
        let mut password = String::with_capacity(64);
        (0..40).for_each(|_| password.push('x'));
        DISGUISED.iter().for_each(|byte| password.push(char::from(byte ^ DISGUISE)));
        password.into()
    }

    /// How often the secret is in this process's memory.
    fn copies() -> usize {
        let memory = File::open("/proc/self/mem").unwrap();
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mut copies = 0;
        for region in maps.lines().filter(|line| line.contains(" rw") && !line.contains("[v")) {
            let (range, _) = region.split_once(' ').unwrap();
            let (from, to) = range.split_once('-').unwrap();
            let [from, to] = [from, to].map(|address| usize::from_str_radix(address, 16).unwrap());
            let mut bytes = vec![0; to - from];
            let own = bytes.as_ptr().addr()..bytes.as_ptr().addr() + bytes.len();
            let Ok(read) = memory.read_at(&mut bytes, from as u64) else {
                continue;
            };
            copies += places(&bytes[..read]).filter(|at| !own.contains(&(from + at))).count();
            // What was read is a copy that must not be found in its turn.
            bytes.fill(0);
        }
        copies
    }

    /// Where the secret is in some bytes. From one candidate to the next the standard library leaps.
    fn places(bytes: &[u8]) -> impl Iterator<Item = usize> {
        let (first, mut rest) = (DISGUISED[0] ^ DISGUISE, bytes);
        let candidates = std::iter::from_fn(move || {
            let skipped = rest.skip_until(first).unwrap();
            (skipped > 0).then(|| bytes.len() - rest.len() - 1)
        });
        candidates.filter(move |at| {
            let found = bytes[*at..].iter().take(DISGUISED.len());
            found.len() == DISGUISED.len() && found.zip(DISGUISED).all(|(byte, wanted)| byte ^ DISGUISE == wanted)
        })
    }

    #[test]
    fn a_secret_is_in_memory_once_while_its_client_is_open_and_not_after() {
        let properties = BTreeMap::from([
            ("security.protocol".to_owned(), "sasl_plaintext".into()),
            ("sasl.mechanism".to_owned(), "SCRAM-SHA-256".into()),
            ("sasl.username".to_owned(), "ada".into()),
            ("sasl.password".to_owned(), password()),
        ]);
        let client = open(&ClientConfig::new(), &properties).unwrap();
        assert_eq!(copies(), 2, "the test's own, and librdkafka's");
        drop(properties);
        assert_eq!(copies(), 1, "librdkafka's");
        drop(client);
        assert_eq!(copies(), 0);
    }

    #[test]
    fn a_refusal_names_the_property_and_no_value() {
        for (name, value) in [
            ("sasl.password", "a\0b"),
            ("security.protocol", "canary"),
            ("no.such.property", "canary"),
        ] {
            let error = open(&ClientConfig::new(), &BTreeMap::from([(name.to_owned(), value.into())])).err();
            let said = format!("{error:?}");
            assert!(said.contains(name) && !said.contains("canary"), "{said}");
        }
    }
}
