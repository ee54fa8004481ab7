//! What is asked of a client or its cluster: positions, ids of topics, offsets. Nothing here is on the path of a record.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::{Offset, TopicPartitionList};
use rdkafka_sys as sys;

use super::{ClientQueue, NativeError, c_string, text};
use crate::kafka::client::Describer;
use crate::kafka::consumer::OpenConsumer;
use crate::limits;
use crate::position::PartitionId;

/// An offset, and the leader epoch of what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LedOffset {
    pub(crate) offset: i64,
    pub(crate) leader_epoch: Option<i32>,
}

/// Reads the position of each listed partition: the offset after the last record or transaction marker that was taken from
/// its queue, or nothing where none was taken since it was started. Answers in the order of the list.
pub(crate) fn read_positions(consumer: &OpenConsumer, partitions: &TopicPartitionList, positions: &mut Vec<Option<LedOffset>>) {
    positions.clear();
    // SAFETY: client and list live through the call, which only writes the list's elements.
    unsafe { sys::rd_kafka_position(consumer.native(), partitions.ptr()) };
    for (index, element) in partitions.elements().iter().enumerate() {
        let position = match (element.error(), element.offset()) {
            (Ok(()), Offset::Offset(offset)) => Some(LedOffset {
                offset,
                leader_epoch: leader_epoch_in(partitions, index),
            }),
            _ => None,
        };
        positions.push(position);
    }
}

fn leader_epoch_in(partitions: &TopicPartitionList, index: usize) -> Option<i32> {
    if index >= partitions.count() {
        return None;
    }
    // SAFETY: the index is within the list, which lives through the call.
    let epoch = unsafe { sys::rd_kafka_topic_partition_get_leader_epoch((*partitions.ptr()).elems.add(index)) };
    (epoch >= 0).then_some(epoch)
}

/// Has a partition, which was just started at this offset, compare with its leader what stands before the offset. Waits for
/// nothing: the partition delivers no record until its leader has answered, and an error where the histories differ. No record
/// that it has fetched before this call is ever delivered; the refusal of such a fetch can be.
pub(crate) fn compare_history(consumer: &OpenConsumer, partition: &PartitionId, wanted: LedOffset) -> Result<(), NativeError> {
    let mut list = TopicPartitionList::with_capacity(1);
    let added = list.add_partition_offset(&partition.topic, partition.partition, Offset::Offset(wanted.offset));
    added.map_err(|error| NativeError::new(sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__INVALID_ARG, error.to_string()))?;
    // SAFETY: the list is ours and has one element.
    unsafe { sys::rd_kafka_topic_partition_set_leader_epoch((*list.ptr()).elems, wanted.leader_epoch.unwrap_or(-1)) };
    // SAFETY: client and list live through the call; the error is ours and may be null.
    unsafe {
        let refused = sys::rd_kafka_seek_partitions(consumer.native(), list.ptr(), 0);
        if !refused.is_null() {
            let error = NativeError::new(sys::rd_kafka_error_code(refused), text(sys::rd_kafka_error_string(refused)));
            sys::rd_kafka_error_destroy(refused);
            return Err(error);
        }
    }
    Ok(())
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
    /// The cluster keeps it for itself.
    pub(crate) is_internal: bool,
}

/// Asks the cluster for ids and partitions of topics. Ends within `timeout` and a grace; may be dropped at any point.
pub(crate) async fn describe_topics(
    consumer: &Arc<OpenConsumer>,
    topics: &[String],
    describer: Describer,
    timeout: Duration,
) -> Result<TopicAnswers, NativeError> {
    let answers = ClientQueue::new(consumer)?;
    answers.ask_for_topics(topics, describer, timeout)?;
    answers.answered(timeout, ClientQueue::take_topic_answers).await
}

/// The broker that the cluster calls its controller, as the client last heard. Never waits.
pub(crate) fn controller(consumer: &OpenConsumer) -> Option<i32> {
    // SAFETY: the client is open; with no time to wait the call only reads what is known.
    let id = unsafe { sys::rd_kafka_controllerid(consumer.native(), 0) };
    (id >= 0).then_some(id)
}

/// The cluster's id, as soon as a broker has told it; blocks for at most `wait`. The client's own call for this leaks the text.
pub(crate) fn cluster_id(consumer: &OpenConsumer, wait: Duration) -> Option<String> {
    // SAFETY: the client is open; the text is ours, lives until it is given back once, and may be null.
    unsafe {
        let id = sys::rd_kafka_clusterid(consumer.native(), milliseconds(wait));
        if id.is_null() {
            return None;
        }
        let copied = text(id);
        sys::rd_kafka_mem_free(consumer.native(), id.cast());
        Some(copied)
    }
}

/// The end of a partition as its leader told with the last records that it sent. Never waits.
pub(crate) fn seen_end(consumer: &OpenConsumer, partition: &PartitionId) -> Option<i64> {
    let topic = c_string(&partition.topic).ok()?;
    let (mut first, mut end) = (-1, -1);
    // SAFETY: the client is open, the name lives through the call, which only writes the two numbers.
    let code = unsafe { sys::rd_kafka_get_watermark_offsets(consumer.native(), topic.as_ptr(), partition.partition, &mut first, &mut end) };
    (code == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR && end >= 0).then_some(end)
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
    fn ask_for_topics(&self, topics: &[String], describer: Describer, timeout: Duration) -> Result<(), NativeError> {
        let names = topics.iter().map(|topic| c_string(topic)).collect::<Result<Vec<_>, _>>()?;
        let mut pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        // SAFETY: options and names are ours, copied by the call and destroyed here; the queue outlives the call.
        unsafe {
            let client = self.consumer.native();
            let options = sys::rd_kafka_AdminOptions_new(client, sys::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
            sys::rd_kafka_AdminOptions_set_request_timeout(options, milliseconds(timeout), std::ptr::null_mut(), 0);
            if let Describer::Broker(broker) = describer {
                sys::rd_kafka_AdminOptions_set_broker(options, broker, std::ptr::null_mut(), 0);
            }
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

pub(super) fn milliseconds(duration: Duration) -> c_int {
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
        Ok(TopicDescription {
            id,
            partitions,
            is_internal: sys::rd_kafka_TopicDescription_is_internal(topic) != 0,
        })
    }
}
