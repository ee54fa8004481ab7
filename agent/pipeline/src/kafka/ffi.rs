//! The only file that calls librdkafka directly: safe wrappers for what the `rdkafka` crate does not offer.
//!
//! Records are taken in batches from one queue per stream, into which the stream's partitions are forwarded before their
//! first fetch (`rd_kafka_consume_start_queue`), and stay where librdkafka received them until their batch is dropped.
//! Nothing here decides anything. Invariant: whatever points into a client holds that client open.

#![allow(
    unsafe_code,
    reason = "librdkafka is a C library; every unsafe block of this package is in this file"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::Consumer;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use rdkafka_sys as sys;
use tokio::sync::Notify;

use super::consumer::OpenConsumer;
use crate::limits;
use crate::position::PartitionId;

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

/// Records that were taken from a queue. Keys and payloads are borrowed from the fetch responses that brought them, which
/// are freed with the batch.
pub(crate) struct MessageBatch {
    messages: Vec<*mut sys::rd_kafka_message_t>,
    _consumer: Arc<OpenConsumer>,
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

/// Reads the position of each listed partition: the offset after the last record or transaction marker that was taken from
/// its queue, or nothing where none was taken since it was started. Answers in the order of the list.
pub(crate) fn read_positions(consumer: &OpenConsumer, partitions: &TopicPartitionList, positions: &mut Vec<Option<i64>>) {
    positions.clear();
    // SAFETY: client and list live through the call, which only writes the list's elements.
    unsafe { sys::rd_kafka_position(consumer.native(), partitions.ptr()) };
    positions.extend(
        partitions
            .elements()
            .iter()
            .map(|element| match (element.error(), element.offset()) {
                (Ok(()), Offset::Offset(offset)) => Some(offset),
                _ => None,
            }),
    );
}

/// One answer per topic that was asked for.
pub(crate) type TopicAnswers = Vec<(String, Result<TopicDescription, NativeError>)>;

/// One topic as a broker describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopicDescription {
    /// Topic id, base64.
    pub(crate) id: String,
    /// Partition numbers, ascending.
    pub(crate) partitions: Vec<i32>,
}

/// Asks the cluster for ids and partitions of topics. Ends within `timeout` and a grace; may be dropped at any point.
pub(crate) async fn describe_topics(
    consumer: &Arc<OpenConsumer>,
    topics: &[String],
    timeout: Duration,
) -> Result<TopicAnswers, NativeError> {
    let answers = ClientQueue::new(consumer)?;
    answers.ask_for_topics(topics, timeout)?;
    answers.answered(timeout, ClientQueue::take_topic_answers).await
}

/// One answer per partition that was asked for.
pub(crate) type OffsetAnswers = Vec<(PartitionId, Result<i64, NativeError>)>;

/// Asks each partition's leader for the first offset or the read-committed end, as the list's offsets say. Ends within
/// `timeout` and a grace; a leader that does not answer costs only its own partitions. May be dropped at any point.
pub(crate) async fn list_offsets(
    consumer: &Arc<OpenConsumer>,
    partitions: &TopicPartitionList,
    timeout: Duration,
) -> Result<OffsetAnswers, NativeError> {
    let answers = ClientQueue::new(consumer)?;
    answers.ask_for_offsets(partitions, timeout);
    answers.answered(timeout, ClientQueue::take_offset_answers).await
}

impl ClientQueue {
    /// Waits for the answer to the question that was sent with that timeout.
    async fn answered<Answer>(
        &self,
        timeout: Duration,
        take: impl Fn(&Self) -> Option<Result<Answer, NativeError>>,
    ) -> Result<Answer, NativeError> {
        let answered = async {
            loop {
                self.filled().await;
                if let Some(answer) = take(self) {
                    return answer;
                }
            }
        };
        // The question has a timeout of its own; the grace is for its answer to be handed over.
        let in_time = tokio::time::timeout(timeout + limits::ANSWER_GRACE, answered).await;
        in_time.unwrap_or_else(|_| Err(NativeError::new(sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__TIMED_OUT, "")))
    }

    /// Sends a question whose answer arrives in this queue.
    fn ask_for_topics(&self, topics: &[String], timeout: Duration) -> Result<(), NativeError> {
        let names = topics.iter().map(|topic| c_string(topic)).collect::<Result<Vec<_>, _>>()?;
        let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        // SAFETY: options and names are ours, copied by the call and destroyed here; the queue outlives the call.
        unsafe {
            let client = self.consumer.native();
            let options = sys::rd_kafka_AdminOptions_new(client, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
            sys::rd_kafka_AdminOptions_set_request_timeout(options, milliseconds(timeout), std::ptr::null_mut(), 0);
            let collection = sys::rd_kafka_TopicCollection_of_topic_names(pointers.as_mut_ptr(), pointers.len());
            sys::rd_kafka_DescribeTopics(client, collection, options, self.queue.as_ptr());
            sys::rd_kafka_TopicCollection_destroy(collection);
            sys::rd_kafka_AdminOptions_destroy(options);
        }
        Ok(())
    }

    /// Sends a question whose answer arrives in this queue.
    fn ask_for_offsets(&self, partitions: &TopicPartitionList, timeout: Duration) {
        // SAFETY: options are ours, copied by the call and destroyed here, as is the list; an error that says that an option
        // is not taken is ours too, and may be null.
        unsafe {
            let client = self.consumer.native();
            let options = sys::rd_kafka_AdminOptions_new(client, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_LISTOFFSETS);
            sys::rd_kafka_AdminOptions_set_request_timeout(options, milliseconds(timeout), std::ptr::null_mut(), 0);
            let committed = sys::rd_kafka_IsolationLevel_t::RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED;
            let refused = sys::rd_kafka_AdminOptions_set_isolation_level(options, committed);
            if !refused.is_null() {
                sys::rd_kafka_error_destroy(refused);
            }
            sys::rd_kafka_ListOffsets(client, partitions.ptr(), options, self.queue.as_ptr());
            sys::rd_kafka_AdminOptions_destroy(options);
        }
    }

    /// The answer, if it is there.
    fn take_topic_answers(&self) -> Option<Result<TopicAnswers, NativeError>> {
        // SAFETY: the reader is given a live event and copies what it needs.
        self.take_event(|event| unsafe { read_description_event(event) })
    }

    /// The answer, if it is there.
    fn take_offset_answers(&self) -> Option<Result<OffsetAnswers, NativeError>> {
        // SAFETY: as above.
        self.take_event(|event| unsafe { read_offsets_event(event) })
    }

    fn take_event<Answer>(
        &self,
        read: impl FnOnce(*mut sys::rd_kafka_event_t) -> Result<Answer, NativeError>,
    ) -> Option<Result<Answer, NativeError>> {
        // SAFETY: the event is ours and is destroyed once, after everything was copied out of it.
        unsafe {
            let event = sys::rd_kafka_queue_poll(self.queue.as_ptr(), 0);
            if event.is_null() {
                return None;
            }
            let code = sys::rd_kafka_event_error(event);
            let answer = if code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                read(event)
            } else {
                Err(NativeError::new(code, text(sys::rd_kafka_event_error_string(event))))
            };
            sys::rd_kafka_event_destroy(event);
            Some(answer)
        }
    }
}

fn milliseconds(duration: Duration) -> c_int {
    c_int::try_from(duration.as_millis()).unwrap_or(c_int::MAX)
}

/// Copies the offsets out of an event.
///
/// # Safety
/// `event` is a live event without an error.
unsafe fn read_offsets_event(event: *mut sys::rd_kafka_event_t) -> Result<OffsetAnswers, NativeError> {
    // SAFETY: every pointer below belongs to the event, which the caller keeps; the count comes with its array.
    unsafe {
        let result = sys::rd_kafka_event_ListOffsets_result(event);
        if result.is_null() {
            return Err(NativeError::new(
                sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__BAD_MSG,
                "not an answer about offsets",
            ));
        }
        let mut count = 0;
        let infos = sys::rd_kafka_ListOffsets_result_infos(result, &mut count);
        let mut answers = Vec::with_capacity(count);
        for index in 0..count {
            let told = &*sys::rd_kafka_ListOffsetsResultInfo_topic_partition(*infos.add(index));
            let partition = PartitionId {
                topic: text(told.topic),
                partition: told.partition,
            };
            let answer = if told.err != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
                Err(NativeError::new(told.err, ""))
            } else if told.offset < 0 {
                // What is left of a partition whose leader did not answer in time.
                Err(NativeError::new(sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__TIMED_OUT, ""))
            } else {
                Ok(told.offset)
            };
            answers.push((partition, answer));
        }
        Ok(answers)
    }
}

/// Copies the descriptions out of an event.
///
/// # Safety
/// `event` is a live event without an error.
unsafe fn read_description_event(event: *mut sys::rd_kafka_event_t) -> Result<TopicAnswers, NativeError> {
    // SAFETY: every pointer below belongs to the event, which the caller keeps; counts come with their arrays.
    unsafe {
        let result = sys::rd_kafka_event_DescribeTopics_result(event);
        if result.is_null() {
            return Err(NativeError::new(
                sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__BAD_MSG,
                "not an answer about topics",
            ));
        }
        let mut count = 0;
        let topics = sys::rd_kafka_DescribeTopics_result_topics(result, &mut count);
        let mut descriptions = Vec::with_capacity(count);
        for index in 0..count {
            let topic = *topics.add(index);
            descriptions.push((text(sys::rd_kafka_TopicDescription_name(topic)), read_description(topic)));
        }
        Ok(descriptions)
    }
}

/// # Safety
/// `topic` is a live description.
unsafe fn read_description(topic: *const sys::rd_kafka_TopicDescription_t) -> Result<TopicDescription, NativeError> {
    // SAFETY: what the description hands out lives as long as it does.
    unsafe {
        let error = sys::rd_kafka_TopicDescription_error(topic);
        if !error.is_null() && sys::rd_kafka_error_code(error) != sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR {
            return Err(NativeError::new(
                sys::rd_kafka_error_code(error),
                text(sys::rd_kafka_error_string(error)),
            ));
        }
        let id = text(sys::rd_kafka_Uuid_base64str(sys::rd_kafka_TopicDescription_topic_id(topic)));
        let mut count = 0;
        let infos = sys::rd_kafka_TopicDescription_partitions(topic, &mut count);
        let mut partitions: Vec<i32> = (0..count)
            .map(|index| sys::rd_kafka_TopicPartitionInfo_partition(*infos.add(index)))
            .collect();
        partitions.sort_unstable();
        Ok(TopicDescription { id, partitions })
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
        self.consumer().client().native_ptr()
    }
}
