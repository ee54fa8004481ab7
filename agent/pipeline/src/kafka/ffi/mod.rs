//! The only room that calls librdkafka directly: safe wrappers for what the `rdkafka` crate does not offer.
//! `native_client` opens clients, `messages` has what records are read through, `questions` what is asked beside them.
//!
//! Records are taken in batches from one queue per stream, into which the stream's partitions are forwarded before their
//! first fetch (`rd_kafka_consume_start_queue`), and stay where librdkafka received them until their batch is dropped.
//! Nothing here decides anything. Invariant: whatever points into a client holds that client open.

#![allow(
    unsafe_code,
    reason = "librdkafka is a C library; every unsafe block of this package is in this room"
)]

mod memory;
mod messages;
mod native_client;
mod questions;

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use rdkafka::error::RDKafkaErrorCode;
use rdkafka_sys as sys;
use tokio::sync::Notify;

pub(crate) use self::memory::give_back_memory;
pub use self::memory::share_arenas;
pub(crate) use self::messages::{Message, MessageBatch, Verdict};
pub(crate) use self::native_client::{ClientEvent, EventQueue, NativeClient, give_token, open};
pub(crate) use self::questions::{
    LedOffset, TopicDescription, cluster_id, compare_history, controller, describe_topics, list_offsets, read_positions, seen_end,
};
use super::consumer::OpenConsumer;

/// What a librdkafka call answered instead of a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}{}{text}", if text.is_empty() { "" } else { ": " })]
pub(crate) struct NativeError {
    /// librdkafka's code.
    pub(crate) code: RDKafkaErrorCode,
    /// What librdkafka adds to it; may be empty.
    pub(crate) text: String,
}

impl NativeError {
    fn new(code: sys::rd_kafka_resp_err_t, text: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            text: text.into(),
        }
    }
}

/// Where the records of one stream's partitions arrive, or the answer to one question.
pub(crate) struct ClientQueue {
    queue: NonNull<sys::rd_kafka_queue_t>,
    /// The callback's opaque pointer points at this; `Arc` gives it an address that stays.
    wake: Arc<Notify>,
    consumer: Arc<OpenConsumer>,
}

// SAFETY: librdkafka's queues may be used from any thread; `wake` is `Send + Sync`.
unsafe impl Send for ClientQueue {}
// SAFETY: as above, every call on a queue takes its lock inside librdkafka.
unsafe impl Sync for ClientQueue {}

/// Runs in a thread of librdkafka, under the queue's lock, when the queue stops being empty.
unsafe extern "C" fn queue_became_non_empty(_client: *mut sys::rd_kafka_t, wake: *mut c_void) {
    // SAFETY: `wake` is the `Notify` of a `ClientQueue`, which takes this callback away, under the same lock, before it
    // lets go of the `Notify`.
    let wake = unsafe { &*wake.cast::<Notify>() };
    wake.notify_one();
}

impl ClientQueue {
    /// A new, empty queue of that client.
    pub(crate) fn new(consumer: &Arc<OpenConsumer>) -> Result<Self, NativeError> {
        // SAFETY: the client is open for as long as `consumer` lives.
        let queue = unsafe { sys::rd_kafka_queue_new(consumer.native()) };
        let queue = NonNull::new(queue).ok_or_else(last_error)?;
        let wake = Arc::new(Notify::new());
        // SAFETY: the queue was just made; the `Notify` outlives the callback, see `drop`.
        unsafe {
            sys::rd_kafka_queue_cb_event_enable(queue.as_ptr(), Some(queue_became_non_empty), Arc::as_ptr(&wake).cast_mut().cast());
        }
        Ok(Self {
            queue,
            wake,
            consumer: consumer.clone(),
        })
    }

    /// Returns when the queue went from empty to not empty since the last return. A caller must empty the queue before it
    /// waits again. Cancel safe.
    pub(crate) async fn filled(&self) {
        self.wake.notified().await;
    }

    /// How many records and errors are there now.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        // SAFETY: the queue is ours.
        unsafe { sys::rd_kafka_queue_length(self.queue.as_ptr()) }
    }

    /// Takes up to `messages_max` records and errors that are there now, without waiting.
    pub(crate) fn take(&self, messages_max: usize) -> MessageBatch {
        let mut messages: Vec<*mut sys::rd_kafka_message_t> = Vec::with_capacity(messages_max);
        // SAFETY: the buffer has room for `messages_max` pointers.
        let taken = unsafe { sys::rd_kafka_consume_batch_queue(self.queue.as_ptr(), 0, messages.as_mut_ptr(), messages_max) };
        let taken = usize::try_from(taken).unwrap_or(0).min(messages_max);
        // SAFETY: librdkafka has written the first `taken` pointers.
        unsafe { messages.set_len(taken) };
        MessageBatch {
            messages,
            _consumer: self.consumer.clone(),
        }
    }
}

impl Drop for ClientQueue {
    fn drop(&mut self) {
        // SAFETY: the queue is ours; without its callback nothing uses the opaque pointer any more.
        unsafe {
            sys::rd_kafka_queue_cb_event_enable(self.queue.as_ptr(), None, std::ptr::null_mut());
            sys::rd_kafka_queue_destroy(self.queue.as_ptr());
        }
    }
}

/// A topic of a client, for starting and stopping its partitions.
pub(crate) struct TopicHandle {
    topic: NonNull<sys::rd_kafka_topic_t>,
    _consumer: Arc<OpenConsumer>,
}

// SAFETY: librdkafka's topics may be used from any thread.
unsafe impl Send for TopicHandle {}
// SAFETY: as above.
unsafe impl Sync for TopicHandle {}

impl TopicHandle {
    /// The topic of that name, whether it exists or not.
    pub(crate) fn new(consumer: &Arc<OpenConsumer>, name: &str) -> Result<Self, NativeError> {
        let name = c_string(name)?;
        // SAFETY: the client is open; librdkafka copies the name.
        let topic = unsafe { sys::rd_kafka_topic_new(consumer.native(), name.as_ptr(), std::ptr::null_mut()) };
        let topic = NonNull::new(topic).ok_or_else(last_error)?;
        Ok(Self {
            topic,
            _consumer: consumer.clone(),
        })
    }

    /// Starts fetching a partition at an offset into `queue`; nothing of it ever arrives elsewhere.
    pub(crate) fn start(&self, partition: i32, offset: i64, queue: &ClientQueue) -> Result<(), NativeError> {
        // SAFETY: topic and queue belong to an open client.
        let answer = unsafe { sys::rd_kafka_consume_start_queue(self.topic.as_ptr(), partition, offset, queue.queue.as_ptr()) };
        if answer == 0 { Ok(()) } else { Err(last_error()) }
    }

    /// Stops fetching a partition and waits until it is stopped: blocks. What is in the queue of it is discarded when it
    /// would be taken.
    pub(crate) fn stop(&self, partition: i32) -> Result<(), NativeError> {
        // SAFETY: the topic belongs to an open client.
        let answer = unsafe { sys::rd_kafka_consume_stop(self.topic.as_ptr(), partition) };
        if answer == 0 { Ok(()) } else { Err(last_error()) }
    }
}

impl Drop for TopicHandle {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and is not used again.
        unsafe { sys::rd_kafka_topic_destroy(self.topic.as_ptr()) };
    }
}

/// librdkafka's words for a log that was cut.
#[cfg(test)]
pub(crate) fn truncation_words() -> String {
    // SAFETY: the text is static.
    unsafe { text(sys::rd_kafka_err2str(sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__LOG_TRUNCATION)) }
}

fn last_error() -> NativeError {
    // SAFETY: reads a thread-local number.
    NativeError::new(unsafe { sys::rd_kafka_last_error() }, "")
}

fn c_string(value: &str) -> Result<CString, NativeError> {
    CString::new(value).map_err(|_| NativeError::new(sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__INVALID_ARG, "a name holds a zero byte"))
}

/// # Safety
/// `pointer` is null or a string that ends with zero and lives through the call.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: by the caller's word.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// # Safety
/// `pointer` is null, or `length` bytes there live for `'a`.
unsafe fn bytes<'a>(pointer: *const c_void, length: usize) -> Option<&'a [u8]> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: by the caller's word.
    Some(unsafe { std::slice::from_raw_parts(pointer.cast(), length) })
}

impl OpenConsumer {
    fn native(&self) -> *mut sys::rd_kafka_t {
        self.client().native_ptr()
    }
}
