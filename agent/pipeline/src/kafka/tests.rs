//! The client's wiring against librdkafka's own mock cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::error::RDKafkaErrorCode;
use tokio::task::JoinSet;

use super::client::AvailableRange;
use super::ffi::{self, NativeError};
use super::loss::Refusal;
use super::options::ClientOptions;
use super::pool::ClientPool;
use super::problems::PartitionProblem;
use super::source::{BatchBounds, KafkaSource};
use super::testing::{Cluster, DEADLINE, led, partition, read};
use super::topics;
use crate::connection::ClientProperties;
use crate::error::{PipelineError, Retry};
use crate::limits::KAFKA_CLIENTS_MAX;
use crate::position::{PartitionId, Position, Positions};

fn texts(parts: &[Option<&[u8]>]) -> Vec<Option<String>> {
    let mut texts: Vec<_> = parts
        .iter()
        .map(|part| part.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
        .collect();
    texts.sort();
    texts
}

#[tokio::test]
async fn records_of_all_partitions_come_with_the_positions_after_them() {
    let cluster = Cluster::new(3);
    for (index, payload) in ["a", "b", "c", "d"].iter().enumerate() {
        cluster.send((index % 2) as i32, Some("k"), Some(payload));
    }
    let mut source = cluster.attach(&[0, 0, 0]).await;
    let batch = read(&mut source, 4).await;
    assert_eq!(texts(&batch.payloads()), ["a", "b", "c", "d"].map(|text| Some(text.to_owned())));
    assert_eq!(batch.positions, Positions::from([(partition(0), led(2)), (partition(1), led(2))]));
    let columns = batch.source_columns();
    let names: Vec<&str> = columns.iter().map(|(field, _)| field.name().as_str()).collect();
    assert_eq!(names, ["stream_record_timestamp", "kafka_topic", "kafka_partition", "kafka_offset"]);
    assert!(columns.iter().all(|(_, array)| array.len() == 4));
    drop(batch);
    assert_eq!(source.cut().positions, Positions::new(), "a second cut moves nothing");
    source.close().await;
}

#[tokio::test]
async fn asking_for_the_clusters_id_keeps_no_memory() {
    // Pages that the process has.
    let resident = || -> u64 {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse().unwrap()
    };
    let cluster = Cluster::new(1);
    let lease = cluster.lease().await;
    let id = lease.client().cluster_id().await.unwrap();
    let before = resident();
    for _ in 0..2_000_000 {
        assert_eq!(ffi::cluster_id(&lease.client().consumer, DEADLINE).as_ref(), Some(&id));
    }
    // The texts have a hundred megabytes; other tests of this process have some.
    let more = resident().saturating_sub(before) * 4096;
    assert!(more < 48 << 20, "{} MiB more", more >> 20);
}

#[tokio::test]
async fn null_keys_tombstones_and_empty_messages_are_rows() {
    let cluster = Cluster::new(1);
    for (key, payload) in [(None, Some("x")), (Some("k"), None), (Some(""), Some("")), (None, None)] {
        cluster.send(0, key, payload);
    }
    let mut source = cluster.attach(&[0]).await;
    let batch = read(&mut source, 4).await;
    assert_eq!(batch.keys(), [None, Some(b"k".as_slice()), Some(b"".as_slice()), None]);
    assert_eq!(batch.payloads(), [Some(b"x".as_slice()), None, Some(b"".as_slice()), None]);
    drop(batch);
    source.close().await;
}

#[tokio::test]
async fn reading_goes_on_at_the_exact_position_when_a_partition_is_attached_again() {
    let cluster = Cluster::new(1);
    for payload in ["a", "b", "c", "d", "e"] {
        cluster.send(0, None, Some(payload));
    }
    let mut source = cluster
        .attach_bounded(
            &[1],
            BatchBounds {
                bytes_max: usize::MAX,
                records_max: 2,
            },
        )
        .await;
    let batch = read(&mut source, 2).await;
    assert_eq!(texts(&batch.payloads()), ["b", "c"].map(|text| Some(text.to_owned())));
    assert_eq!(
        batch.positions,
        Positions::from([(partition(0), led(3))]),
        "what is fetched but not taken does not count"
    );
    drop(batch);
    // Another stream keeps the client open, so that the second attachment gets the same one.
    let keep = source.client().clone();
    source.close().await;
    let mut source = cluster.attach(&[3]).await;
    assert!(Arc::ptr_eq(&keep, source.client()), "the client is shared");
    let batch = read(&mut source, 2).await;
    assert_eq!(texts(&batch.payloads()), ["d", "e"].map(|text| Some(text.to_owned())));
    drop(batch);
    source.close().await;
}

#[tokio::test]
async fn a_batch_is_full_at_its_bounds() {
    let cluster = Cluster::new(1);
    for _ in 0..10 {
        cluster.send(0, None, Some(&"x".repeat(1_000)));
    }
    let mut source = cluster
        .attach_bounded(
            &[0],
            BatchBounds {
                bytes_max: usize::MAX,
                records_max: 3,
            },
        )
        .await;
    for next_offset in [3, 6, 9] {
        assert_eq!(
            read(&mut source, 3).await.positions,
            Positions::from([(partition(0), led(next_offset))])
        );
    }
    source.close().await;
}

#[tokio::test]
async fn a_portion_that_is_larger_than_a_batch_is_split_and_nothing_of_it_is_lost() {
    let cluster = Cluster::new(1);
    for number in 0..7 {
        cluster.send(0, None, Some(&number.to_string().repeat(10_000)));
    }
    let bounds = BatchBounds {
        bytes_max: 15_000,
        records_max: usize::MAX,
    };
    let mut source = cluster.attach_bounded(&[0], bounds).await;
    arrive(&source, 7).await;
    let mut seen = Vec::new();
    for (rows, next_offset) in [(2, 2), (2, 4), (2, 6), (1, 7)] {
        let batch = read(&mut source, rows).await;
        assert_eq!(
            (batch.rows, batch.positions),
            (rows, Positions::from([(partition(0), led(next_offset))]))
        );
        seen.extend(
            batch
                .messages
                .iter()
                .flat_map(|messages| messages.iter().map(|message| message.offset()))
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
    source.close().await;
}

#[tokio::test]
async fn large_messages_that_a_batch_has_no_room_for_stay_in_the_queue() {
    let cluster = Cluster::new(1);
    let send = |messages| (0..messages).for_each(|_| cluster.send(0, None, Some(&"x".repeat(10_000))));
    let bounds = BatchBounds {
        bytes_max: 15_000,
        records_max: usize::MAX,
    };
    let mut source = cluster.attach_bounded(&[0], bounds).await;
    send(2);
    drop(read(&mut source, 2).await);
    send(20);
    arrive(&source, 20).await;
    source.take();
    assert_eq!((source.gathered_rows(), source.arrived()), (1, 19), "by the size of the two before");
    source.close().await;
}

/// Waits until so many records are in the queue.
async fn arrive(source: &KafkaSource, records: usize) {
    let arrived = async {
        while source.arrived() < records {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, arrived).await.expect("records arrive");
}

#[tokio::test]
async fn a_queue_turns_over_when_it_was_found_empty_although_rows_are_gathered() {
    let cluster = Cluster::new(1);
    cluster.send(0, None, Some("x"));
    let mut source = cluster.attach(&[0]).await;
    assert!(!source.has_turned_over(), "nobody has looked into it");
    let emptied = async {
        while !source.take() || source.gathered_rows() == 0 {
            source.filled().await;
        }
    };
    tokio::time::timeout(DEADLINE, emptied).await.expect("the queue runs dry");
    assert!(source.has_turned_over());
    assert!(!source.has_turned_over(), "each answer counts from the one before");
    source.close().await;
}

#[tokio::test]
async fn an_offset_that_is_not_there_is_reported_and_never_reset() {
    let cluster = Cluster::new(1);
    cluster.send(0, None, Some("a"));
    let mut source = cluster.attach(&[500]).await;
    let problems = reported(&mut source).await;
    let refused = PartitionProblem::Refused(Refusal::OutOfRange);
    assert_eq!(problems, BTreeMap::from([(partition(0), refused)]));
    let batch = source.cut();
    assert_eq!((batch.rows, batch.positions), (0, Positions::new()), "the error is no record");
    source.close().await;
}

/// Takes until a partition reports something.
async fn reported(source: &mut KafkaSource) -> BTreeMap<PartitionId, PartitionProblem> {
    let reported = async {
        loop {
            let emptied = source.take();
            let problems = source.take_problems();
            if !problems.is_empty() {
                return problems;
            }
            if emptied {
                source.filled().await;
            }
        }
    };
    tokio::time::timeout(DEADLINE, reported).await.expect("an error arrives")
}

const UNBOUNDED: BatchBounds = BatchBounds {
    bytes_max: usize::MAX,
    records_max: usize::MAX,
};

#[tokio::test]
async fn a_log_that_was_cut_while_nothing_was_read_is_noticed_by_the_recorded_leader_epoch() {
    let cluster = Cluster::of_brokers(2, 1);
    let send = |records| (0..records).for_each(|_| cluster.send(0, None, Some("x")));
    send(10);
    let mut source = cluster.attach(&[0]).await;
    let read_first = read(&mut source, 10).await.positions;
    let position = read_first.get(&partition(0)).copied().expect("it moved");
    assert_eq!(position.next_offset, 10);
    let leader_epoch = position.leader_epoch.expect("the broker tells");
    source.close().await;

    cluster.move_leader(0, 2);
    send(10);
    // As if the table had five records that the new leader never got: its own are at their offsets.
    let beyond = Position {
        next_offset: 15,
        ..position
    };
    let mut source = cluster.attach_at(&Positions::from([(partition(0), beyond)]), UNBOUNDED).await;
    let truncated = PartitionProblem::Refused(Refusal::Truncated { at: Some(10) });
    assert_eq!(reported(&mut source).await, BTreeMap::from([(partition(0), truncated)]));
    let batch = source.cut();
    assert_eq!(
        (batch.rows, batch.positions),
        (0, Positions::new()),
        "nothing of the other history is taken"
    );
    source.close().await;

    let mut source = cluster.attach_at(&read_first, UNBOUNDED).await;
    let position = read(&mut source, 10).await.positions.get(&partition(0)).copied().expect("it moved");
    assert_eq!(position.next_offset, 20, "the same history goes on");
    assert!(position.leader_epoch > Some(leader_epoch), "{position:?}");
    source.close().await;
}

#[tokio::test]
async fn two_streams_on_one_topic_have_two_clients_and_both_read_all() {
    let cluster = Cluster::new(1);
    cluster.send(0, None, Some("a"));
    let mut one = cluster.attach(&[0]).await;
    let mut other = cluster.attach(&[0]).await;
    assert!(!Arc::ptr_eq(one.client(), other.client()));
    assert_eq!(read(&mut one, 1).await.rows, 1);
    assert_eq!(read(&mut other, 1).await.rows, 1);
    one.close().await;
    other.close().await;
}

#[tokio::test]
async fn streams_on_different_topics_that_open_at_the_same_time_share_one_client() {
    let cluster = Cluster::new(1);
    let (pool, properties) = (Arc::new(ClientPool::new(KAFKA_CLIENTS_MAX)), cluster.properties());
    let mut opens = JoinSet::new();
    for number in 0..30 {
        let (pool, properties, topics) = (pool.clone(), properties.clone(), BTreeSet::from([format!("topic-{number}")]));
        opens.spawn(async move { pool.lease(&properties, &ClientOptions::default(), topics).await.expect("a client") });
    }
    let leases = opens.join_all().await;
    let others = leases.iter().filter(|lease| !Arc::ptr_eq(lease.client(), leases[0].client()));
    assert_eq!(others.count(), 0);
}

#[tokio::test]
async fn a_client_beyond_the_bound_is_refused_by_the_setting_s_name_until_another_one_is_closed() {
    let cluster = Cluster::new(1);
    let (pool, properties, options) = (ClientPool::new(2), cluster.properties(), ClientOptions::default());
    let lease = || pool.lease(&properties, &options, BTreeSet::from(["orders".to_owned()]));
    let leases = [lease().await.expect("one"), lease().await.expect("two")];
    let error = lease().await.err().expect("a third stream on one topic needs a third client");
    assert!(
        error.to_string().contains("2 Kafka clients open") && error.to_string().contains("`kafka_clients_max`"),
        "{error}"
    );
    assert_eq!((error.retry(), pool.count().open()), (Retry::Later, 2));
    // What needs no further client goes on.
    let other = pool.lease(&properties, &options, BTreeSet::from(["other".to_owned()]));
    drop(other.await.expect("shares one"));
    drop(leases);
    let closed = async {
        while pool.count().open() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, closed).await.expect("both are closed");
    drop(lease().await.expect("there is room again"));
}

#[tokio::test]
async fn a_cluster_tells_the_range_of_each_partition() {
    let cluster = Cluster::new(2);
    let lease = cluster.lease().await;
    cluster.send(1, None, Some("a"));
    let ranges = lease
        .client()
        .available_ranges(&[partition(0), partition(1)], DEADLINE)
        .await
        .expect("ranges");
    let range = |end| AvailableRange { earliest: 0, end };
    assert_eq!(ranges.known, BTreeMap::from([(partition(0), range(0)), (partition(1), range(1))]));
}

#[tokio::test]
async fn a_leader_that_is_away_or_silent_hides_the_ranges_of_its_own_partitions_alone() {
    for lose_broker in [Cluster::stop_broker, Cluster::silence_broker] {
        check_ranges_without(lose_broker).await;
    }
}

async fn check_ranges_without(lose_broker: fn(&Cluster, i32)) {
    let cluster = Cluster::of_brokers(2, 3);
    let lease = cluster.lease().await;
    cluster.send(2, None, Some("a"));
    let partitions = [partition(0), partition(1), partition(2)];
    let all = lease.client().available_ranges(&partitions, DEADLINE).await.expect("ranges");
    assert_eq!(all.known.len(), 3, "the client knows the cluster: {:?}", all.untold);
    lose_broker(&cluster, 2);
    let ranges = lease
        .client()
        .available_ranges(&partitions, Duration::from_secs(1))
        .await
        .expect("ranges");
    let range = |end| AvailableRange { earliest: 0, end };
    assert_eq!(ranges.known, BTreeMap::from([(partition(0), range(0)), (partition(2), range(1))]));
    assert_eq!(ranges.untold.keys().collect::<Vec<_>>(), [&partition(1)]);
}

#[tokio::test]
async fn a_partition_that_tells_no_range_is_reported_by_what_its_leader_says() {
    let properties = ClientProperties {
        bootstrap_servers: "127.0.0.1:1".to_owned(),
        properties: BTreeMap::new(),
        tokens: None,
        identity: "none".to_owned(),
    };
    let pool = ClientPool::new(KAFKA_CLIENTS_MAX);
    let client = pool.visit(&properties, &ClientOptions::default()).await.expect("opened");
    for (code, expected) in [
        (RDKafkaErrorCode::OperationTimedOut, "SourceUnreachable"),
        (RDKafkaErrorCode::BrokerTransportFailure, "SourceUnreachable"),
        (RDKafkaErrorCode::TopicAuthorizationFailed, "TopicRefused"),
        (RDKafkaErrorCode::LeaderNotAvailable, "TopicRefused"),
    ] {
        let text = String::new();
        match topics::untold(&client, &partition(3), Some(&NativeError { code, text })) {
            PipelineError::Source { reason, message, .. } => {
                assert_eq!(reason, expected, "{code:?}");
                assert!(reason != "TopicRefused" || message.contains("partition 3"), "{message}");
            }
            error => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_broker_that_is_not_there_is_named_with_librdkafkas_reason() {
    let properties = ClientProperties {
        bootstrap_servers: "127.0.0.1:1".to_owned(),
        properties: BTreeMap::new(),
        tokens: None,
        identity: "none".to_owned(),
    };
    let pool = ClientPool::new(KAFKA_CLIENTS_MAX);
    let client = pool
        .visit(&properties, &ClientOptions::default())
        .await
        .expect("opening contacts nobody");
    let mut trouble = client.trouble();
    let reported = trouble.wait_for(Option::is_some);
    tokio::time::timeout(DEADLINE, reported)
        .await
        .expect("librdkafka reports")
        .expect("client lives");
    let message = client.unreachable("nothing").to_string();
    assert!(
        message.contains("`127.0.0.1:1`") && message.contains("Connection refused"),
        "{message}"
    );
}

#[tokio::test]
async fn a_property_that_librdkafka_refuses_is_named_without_its_value() {
    let mut properties = ClientProperties {
        bootstrap_servers: "127.0.0.1:1".to_owned(),
        properties: BTreeMap::new(),
        tokens: None,
        identity: "none".to_owned(),
    };
    properties.properties.insert("ssl.key.pem".to_owned(), "hunter2".into());
    properties.properties.insert("no.such.property".to_owned(), "hunter2".into());
    let error = ClientPool::new(KAFKA_CLIENTS_MAX)
        .visit(&properties, &ClientOptions::default())
        .await
        .err()
        .expect("refused")
        .to_string();
    assert!(error.contains("no.such.property") && !error.contains("hunter2"), "{error}");
}

#[tokio::test]
async fn a_broker_that_does_not_answer_within_the_request_timeout_is_trouble() {
    let cluster = Cluster::new(1);
    let options = ClientOptions {
        // Without it a broker has a minute, which is longer than this test waits.
        request_timeout: Some(Duration::from_secs(1)),
        ..ClientOptions::default()
    };
    let pool = ClientPool::new(KAFKA_CLIENTS_MAX);
    let topics = BTreeSet::from(["orders".to_owned()]);
    let lease = pool.lease(&cluster.properties(), &options, topics).await.expect("client");
    let mut trouble = lease.client().trouble();
    cluster.send(0, None, Some("a"));
    let positions = Positions::from([(partition(0), Position::new(0, 0))]);
    let bounds = BatchBounds {
        bytes_max: usize::MAX,
        records_max: usize::MAX,
    };
    let mut source = KafkaSource::attach(lease, &positions, bounds, false).await.expect("attached");
    drop(read(&mut source, 1).await);
    cluster.silence_broker(1);
    let seen = tokio::time::timeout(DEADLINE, trouble.wait_for(Option::is_some)).await;
    assert!(seen.is_ok(), "the silence is not noticed");
    source.close().await;
}
