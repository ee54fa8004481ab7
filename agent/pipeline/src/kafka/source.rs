//! Reads a stream's partitions: takes records as they come, knows the position after them, and sees what goes wrong.
//!
//! Nothing here waits for a table. Invariant: the positions of a batch cover exactly the records that were taken; a
//! partition that reported an error is counted by its records alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use rdkafka::TopicPartitionList;

use super::batch::{Run, SourceBatch};
use super::client::{ClusterClient, blocking};
use super::ffi::{self, ClientQueue, LedOffset, Message, MessageBatch, NativeError, TopicHandle, Verdict};
use super::pool::ClientLease;
use super::problems::{self, Problems, problem_of};
use crate::error::{PipelineError, Retry};
use crate::limits;
use crate::position::{PartitionId, Position, Positions};

/// A topic's token and a partition number.
type SlotKey = (usize, i32);

/// How much of a batch may be gathered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchBounds {
    pub(crate) bytes_max: usize,
    pub(crate) records_max: usize,
}

/// One partition that is being read.
struct Slot {
    partition: PartitionId,
    /// The position after the last record that was taken.
    position: Position,
    /// The position of the last batch.
    cut_offset: i64,
    /// False after an error, which librdkafka counts as if it were a record.
    position_is_exact: bool,
}

/// What makes records arrive; ends in a blocking thread.
struct Attachment {
    partitions: Vec<(String, i32)>,
    handles: BTreeMap<String, TopicHandle>,
    queue: Arc<ClientQueue>,
    lease: ClientLease,
}

/// The partitions of one stream.
pub(crate) struct KafkaSource {
    client: Arc<ClusterClient>,
    queue: Arc<ClientQueue>,
    /// `None` once it is closed.
    attachment: Option<Attachment>,
    slots: Vec<Slot>,
    /// The slots' partitions, for batches and for asking positions: same order.
    partitions: Arc<[PartitionId]>,
    partition_list: TopicPartitionList,
    /// Slot of a topic's token and partition, learnt from the first record of each.
    slot_of: HashMap<SlotKey, usize>,
    /// The slot of the record before: records come in long runs of one partition.
    last_slot: Option<(SlotKey, usize)>,
    gathered: Gathered,
    /// Average of the last portion's messages.
    message_bytes: usize,
    /// Taken, and left for the next batch because this one was full.
    put_off: Option<MessageBatch>,
    /// True when the queue was found empty since the last question whether it has turned over.
    ran_dry: bool,
    /// Bytes gathered since then.
    bytes_since: usize,
    problems: Problems,
    bounds: BatchBounds,
    include_headers: bool,
}

#[derive(Default)]
struct Gathered {
    messages: Vec<MessageBatch>,
    runs: Vec<Run>,
    rows: usize,
    bytes: usize,
}

impl KafkaSource {
    /// Starts reading partitions at their positions.
    pub(crate) async fn attach(
        lease: ClientLease,
        positions: &Positions,
        bounds: BatchBounds,
        include_headers: bool,
    ) -> Result<Self, PipelineError> {
        let bounds = BatchBounds {
            bytes_max: bounds.bytes_max.min(limits::BATCH_BYTES_CEILING),
            ..bounds
        };
        let client = lease.client().clone();
        let queue = Arc::new(ClientQueue::new(&client.consumer).map_err(not_started)?);
        let partitions: Arc<[PartitionId]> = positions.keys().cloned().collect();
        let mut partition_list = TopicPartitionList::with_capacity(partitions.len());
        for partition in partitions.iter() {
            partition_list.add_partition(&partition.topic, partition.partition);
        }
        let slots = positions.iter().map(|(partition, position)| Slot {
            partition: partition.clone(),
            position: *position,
            cut_offset: position.next_offset,
            position_is_exact: true,
        });
        let mut source = Self {
            slots: slots.collect(),
            attachment: Some(Attachment {
                partitions: Vec::new(),
                handles: BTreeMap::new(),
                queue: queue.clone(),
                lease,
            }),
            client,
            queue,
            partitions,
            partition_list,
            slot_of: HashMap::new(),
            last_slot: None,
            gathered: Gathered::default(),
            message_bytes: limits::MESSAGE_OVERHEAD_BYTES,
            put_off: None,
            ran_dry: false,
            bytes_since: 0,
            problems: Problems::new(),
            bounds,
            include_headers,
        };
        if let Err(error) = source.start() {
            source.close().await;
            return Err(not_started(error));
        }
        Ok(source)
    }

    fn start(&mut self) -> Result<(), NativeError> {
        let Some(attachment) = &mut self.attachment else { return Ok(()) };
        for slot in &self.slots {
            let topic = &slot.partition.topic;
            if !attachment.handles.contains_key(topic) {
                attachment
                    .handles
                    .insert(topic.clone(), TopicHandle::new(&self.client.consumer, topic)?);
            }
            if let Some(handle) = attachment.handles.get(topic) {
                handle.start(slot.partition.partition, slot.position.next_offset, &self.queue)?;
                attachment.partitions.push((topic.clone(), slot.partition.partition));
            }
            if slot.position.has_history() {
                // At once: a fetch that was sent before can be refused, and its refusal hides what the leader tells.
                let wanted = LedOffset {
                    offset: slot.position.next_offset,
                    leader_epoch: slot.position.leader_epoch,
                };
                ffi::compare_history(&self.client.consumer, &slot.partition, wanted)?;
            }
        }
        Ok(())
    }

    /// The client that reads.
    pub(crate) fn client(&self) -> &Arc<ClusterClient> {
        &self.client
    }

    /// The partitions that are read.
    pub(crate) fn partitions(&self) -> &Arc<[PartitionId]> {
        &self.partitions
    }

    /// Returns when something arrived after the queue was found empty. Cancel safe.
    ///
    /// Borrowed mutably because gathered messages may go to another thread but not be looked at from two.
    pub(crate) async fn filled(&mut self) {
        self.queue.filled().await;
    }

    /// True when no more may be gathered before the next cut.
    pub(crate) fn is_full(&self) -> bool {
        self.gathered.bytes >= self.bounds.bytes_max || self.gathered.rows >= self.bounds.records_max
    }

    /// Records gathered since the last cut.
    pub(crate) fn gathered_rows(&self) -> usize {
        self.gathered.rows
    }

    /// Takes a portion of what has arrived; true when nothing was left behind. Never waits.
    pub(crate) fn take(&mut self) -> bool {
        if self.is_full() {
            return false;
        }
        let (mut messages, emptied) = match self.put_off.take() {
            Some(messages) => (messages, false),
            None => {
                let room = self.room();
                let messages = self.queue.take(room);
                let emptied = messages.len() < room;
                (messages, emptied)
            }
        };
        let bytes_before = self.gathered.bytes;
        // A portion of large messages alone can be larger than a batch may be.
        let put_off = messages.sort_out(|message| match self.is_full() {
            true => Verdict::PutOff,
            false if self.admit(message) => Verdict::Keep,
            false => Verdict::Free,
        });
        let emptied = emptied && put_off.len() == 0;
        self.put_off = Some(put_off).filter(|messages| messages.len() > 0);
        let bytes = self.gathered.bytes - bytes_before;
        self.message_bytes = bytes.checked_div(messages.len()).unwrap_or(self.message_bytes);
        self.bytes_since = self.bytes_since.saturating_add(bytes);
        self.ran_dry |= emptied;
        if messages.len() > 0 {
            self.gathered.messages.push(messages);
        }
        emptied
    }

    /// Messages to take by one call: by the size of the last ones no more than the batch holds, because what is put off makes
    /// room in the queue, which is fetched full again meanwhile.
    fn room(&self) -> usize {
        let bytes = self.bounds.bytes_max.saturating_sub(self.gathered.bytes);
        let fitting = bytes.checked_div(self.message_bytes).unwrap_or(limits::TAKE_MESSAGES_MAX);
        let rows = self.bounds.records_max.saturating_sub(self.gathered.rows);
        fitting.max(1).min(rows).min(limits::TAKE_MESSAGES_MAX)
    }

    /// True when everything that had been delivered when this was last true has been taken since: a partition without a record
    /// in that time had delivered none by then.
    pub(crate) fn has_turned_over(&mut self) -> bool {
        let turned_over = self.ran_dry || self.bytes_since >= limits::QUEUE_TURNOVER_BYTES;
        if turned_over {
            self.ran_dry = false;
            self.bytes_since = 0;
        }
        turned_over
    }

    /// Counts one message; false for what is no record of ours.
    fn admit(&mut self, message: Message<'_>) -> bool {
        if let Some(error) = message.error() {
            self.note_problem(message, &error);
            return false;
        }
        let key = (message.topic_token(), message.partition());
        let index = match self.last_slot {
            Some((last, index)) if last == key => index,
            _ => match self.find_slot(message, key) {
                Some(index) => index,
                None => return false,
            },
        };
        let Some(slot) = self.slots.get_mut(index) else { return false };
        if message.offset() < slot.position.next_offset {
            // Taken before: never twice, whatever the client does.
            return false;
        }
        slot.position.next_offset = message.offset() + 1;
        slot.position.leader_epoch = message.leader_epoch();
        self.gathered.rows += 1;
        self.gathered.bytes +=
            message.payload().map_or(0, <[u8]>::len) + message.key().map_or(0, <[u8]>::len) + limits::MESSAGE_OVERHEAD_BYTES;
        match self.gathered.runs.last_mut() {
            Some(run) if run.partition == index => run.rows += 1,
            _ => self.gathered.runs.push(Run { partition: index, rows: 1 }),
        }
        true
    }

    fn find_slot(&mut self, message: Message<'_>, key: SlotKey) -> Option<usize> {
        let index = match self.slot_of.get(&key) {
            Some(index) => *index,
            None => {
                let topic = message.topic();
                let of_message = |slot: &Slot| slot.partition.partition == key.1 && slot.partition.topic == topic;
                let index = self.slots.iter().position(of_message)?;
                self.slot_of.insert(key, index);
                index
            }
        };
        self.last_slot = Some((key, index));
        Some(index)
    }

    fn note_problem(&mut self, message: Message<'_>, error: &NativeError) {
        let partition = PartitionId {
            topic: message.topic(),
            partition: message.partition(),
        };
        if let Some(slot) = self.slots.iter_mut().find(|slot| slot.partition == partition) {
            slot.position_is_exact = false;
        }
        problems::note(&mut self.problems, partition, problem_of(error));
    }

    /// What partitions reported since the last call.
    pub(crate) fn take_problems(&mut self) -> Problems {
        std::mem::take(&mut self.problems)
    }

    /// Every partition's position after what was gathered, transaction markers included.
    pub(crate) fn positions(&mut self) -> impl Iterator<Item = (&PartitionId, Position)> {
        let mut exact = Vec::with_capacity(self.slots.len());
        if self.put_off.is_none() {
            ffi::read_positions(&self.client.consumer, &self.partition_list, &mut exact);
        }
        for (slot, exact) in self.slots.iter_mut().zip(exact) {
            // Behind the last record there may be markers and aborted records: they are passed, never waited for. Records
            // that were put off are there too, and librdkafka counts them as taken: with any of them it is not asked.
            if let Some(exact) = exact.filter(|exact| slot.position_is_exact && exact.offset > slot.position.next_offset) {
                slot.position.next_offset = exact.offset;
                slot.position.leader_epoch = exact.leader_epoch;
            }
        }
        self.slots.iter().map(|slot| (&slot.partition, slot.position))
    }

    /// How far partitions reach by the last records that were fetched, where that is further than what was taken.
    pub(crate) fn seen_ends(&self) -> BTreeMap<PartitionId, i64> {
        let seen = self.slots.iter().filter_map(|slot| {
            let end = ffi::seen_end(&self.client.consumer, &slot.partition)?;
            (end > slot.position.next_offset).then(|| (slot.partition.clone(), end))
        });
        seen.collect()
    }

    /// Ends the batch: what was gathered, with the positions of all partitions that moved.
    pub(crate) fn cut(&mut self) -> SourceBatch {
        drop(self.positions());
        let mut positions = Positions::new();
        for slot in &mut self.slots {
            if slot.position.next_offset > slot.cut_offset {
                slot.cut_offset = slot.position.next_offset;
                positions.insert(slot.partition.clone(), slot.position);
            }
        }
        let gathered = std::mem::take(&mut self.gathered);
        SourceBatch {
            messages: gathered.messages,
            runs: gathered.runs,
            partitions: self.partitions.clone(),
            rows: gathered.rows,
            positions,
            taken_until: Instant::now(),
            include_headers: self.include_headers,
        }
    }

    /// Records that have arrived and were not taken.
    #[cfg(test)]
    pub(crate) fn arrived(&self) -> usize {
        self.queue.len()
    }

    /// Stops reading. Bounded in time; a client that does not stop in time is given to nobody any more.
    pub(crate) async fn close(mut self) {
        let Some(attachment) = self.attachment.take() else { return };
        let stopped = tokio::time::timeout(limits::DETACH_WAIT, blocking(move || attachment.stop())).await;
        if stopped.is_err() {
            tracing::warn!(
                bootstrap_servers = self.client.bootstrap_servers(),
                "a kafka client does not stop reading"
            );
            self.client.retire();
        }
    }
}

impl Drop for KafkaSource {
    fn drop(&mut self) {
        // Only a task that is aborted comes here with an attachment.
        if let Some(attachment) = self.attachment.take() {
            self.client.retire();
            drop(
                std::thread::Builder::new()
                    .name("kafka-stop".into())
                    .spawn(move || attachment.stop()),
            );
        }
    }
}

impl Attachment {
    /// Blocks until every partition is stopped, then gives the topics back.
    fn stop(self) {
        for (topic, partition) in &self.partitions {
            if let Some(Err(error)) = self.handles.get(topic).map(|handle| handle.stop(*partition)) {
                tracing::debug!(topic, partition, %error, "a partition was stopped with an error");
            }
        }
        drop(self.handles);
        drop(self.queue);
        drop(self.lease);
    }
}

fn not_started(error: NativeError) -> PipelineError {
    PipelineError::Source {
        reason: "ReadNotStarted",
        message: format!("the Kafka client does not start to read: {error}"),
        retry: Retry::Later,
    }
}
