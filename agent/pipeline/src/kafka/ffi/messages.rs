//! Records as librdkafka hands them out: borrowed from the fetch responses that brought them, freed with their batch.

use std::ffi::CStr;
use std::sync::Arc;

use rdkafka_sys as sys;

use super::{NativeError, bytes, text};
use crate::kafka::consumer::OpenConsumer;

/// Records that were taken from a queue. Keys and payloads are borrowed from the fetch responses that brought them, which
/// are freed with the batch.
pub(crate) struct MessageBatch {
    pub(super) messages: Vec<*mut sys::rd_kafka_message_t>,
    pub(super) _consumer: Arc<OpenConsumer>,
}

// SAFETY: a message belongs to whoever took it; librdkafka lets any thread read and destroy it. Not `Sync`: reading headers
// changes the message.
unsafe impl Send for MessageBatch {}

/// What becomes of a message.
pub(crate) enum Verdict {
    Keep,
    Free,
    /// Looked at again later, and so are all that follow.
    PutOff,
}

impl MessageBatch {
    /// How many messages.
    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Every message, in the order in which it was fetched.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Message<'_>> {
        // SAFETY: every pointer is a message of ours that lives until the batch is dropped.
        self.messages.iter().map(|message| Message {
            native: unsafe { &**message },
        })
    }

    /// The message at that place.
    pub(crate) fn get(&self, place: usize) -> Option<Message<'_>> {
        // SAFETY: as in `iter`.
        self.messages.get(place).map(|message| Message {
            native: unsafe { &**message },
        })
    }

    /// Keeps the messages that are wanted, frees the others now, and returns those from the first one on that was put off.
    pub(crate) fn sort_out(&mut self, mut sort: impl FnMut(Message<'_>) -> Verdict) -> Self {
        let mut put_off = Vec::new();
        self.messages.retain(|message| {
            if put_off.is_empty() {
                // SAFETY: as in `iter`.
                let verdict = sort(Message {
                    native: unsafe { &**message },
                });
                match verdict {
                    Verdict::Keep => return true,
                    Verdict::Free => {
                        // SAFETY: the pointer leaves the list here and is destroyed once.
                        unsafe { sys::rd_kafka_message_destroy(*message) };
                        return false;
                    }
                    Verdict::PutOff => {}
                }
            }
            put_off.push(*message);
            false
        });
        Self {
            messages: put_off,
            _consumer: self._consumer.clone(),
        }
    }
}

impl Drop for MessageBatch {
    fn drop(&mut self) {
        for message in &self.messages {
            // SAFETY: each pointer in the list is a message that was not destroyed yet.
            unsafe { sys::rd_kafka_message_destroy(*message) };
        }
    }
}

/// One record, or an error of one partition.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    native: &'a sys::rd_kafka_message_t,
}

impl<'a> Message<'a> {
    /// Equal for two messages of one topic of one client.
    pub(crate) fn topic_token(&self) -> usize {
        self.native.rkt.addr()
    }

    /// Topic name; empty for an error that belongs to no topic.
    pub(crate) fn topic(&self) -> String {
        if self.native.rkt.is_null() {
            return String::new();
        }
        // SAFETY: a message holds its topic; the name is a string that ends with zero.
        unsafe { text(sys::rd_kafka_topic_name(self.native.rkt)) }
    }

    /// Partition number.
    pub(crate) fn partition(&self) -> i32 {
        self.native.partition
    }

    /// Offset in the partition.
    pub(crate) fn offset(&self) -> i64 {
        self.native.offset
    }

    /// Leader epoch under which the record was written, where its broker tells.
    pub(crate) fn leader_epoch(&self) -> Option<i32> {
        // SAFETY: the message is alive; the call only reads.
        let epoch = unsafe { sys::rd_kafka_message_leader_epoch(self.native) };
        (epoch >= 0).then_some(epoch)
    }

    /// The key; a null key is not an empty one.
    pub(crate) fn key(&self) -> Option<&'a [u8]> {
        // SAFETY: librdkafka gives a pointer with its length, or null.
        unsafe { bytes(self.native.key, self.native.key_len) }
    }

    /// The payload; null is a tombstone.
    pub(crate) fn payload(&self) -> Option<&'a [u8]> {
        // SAFETY: as for the key.
        unsafe { bytes(self.native.payload, self.native.len) }
    }

    /// Milliseconds since 1970, where the record has a timestamp; -1 means that it has none.
    pub(crate) fn timestamp_ms(&self) -> Option<i64> {
        let mut kind = sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
        // SAFETY: `kind` is written before the call returns.
        let milliseconds = unsafe { sys::rd_kafka_message_timestamp(self.native, &mut kind) };
        (kind != sys::rd_kafka_timestamp_type_t::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && milliseconds != -1).then_some(milliseconds)
    }

    /// The error that this message is instead of a record.
    pub(crate) fn error(&self) -> Option<NativeError> {
        if self.native.err == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            return None;
        }
        // SAFETY: the text belongs to the message.
        Some(NativeError::new(self.native.err, unsafe {
            text(sys::rd_kafka_message_errstr(self.native))
        }))
    }

    /// Headers in order; a header's value may be null.
    pub(crate) fn headers(&self, mut each: impl FnMut(&[u8], Option<&[u8]>)) {
        let mut headers = std::ptr::null_mut();
        // SAFETY: the batch is not `Sync`, so nobody else parses this message's headers at the same time.
        let answer = unsafe { sys::rd_kafka_message_headers(self.native, &mut headers) };
        if answer != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            return;
        }
        let (mut name, mut value, mut size) = (std::ptr::null(), std::ptr::null(), 0usize);
        for index in 0.. {
            // SAFETY: `headers` belongs to the message; the three results are written when the call succeeds.
            let answer = unsafe { sys::rd_kafka_header_get_all(headers, index, &mut name, &mut value, &mut size) };
            if answer != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR || name.is_null() {
                return;
            }
            // SAFETY: name and value point into the message, which outlives this call.
            unsafe { each(CStr::from_ptr(name).to_bytes(), bytes(value, size)) };
        }
    }
}
