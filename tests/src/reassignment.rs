//! Two requests of Kafka's protocol that the client library of the tests does not have: another order of a partition's replicas, and
//! the election of the first of them. Invariant: nothing but the bytes of one request and of its answer; what came of it is seen in the
//! cluster's metadata.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use crate::limits::CLUSTER_REQUEST;

/// How long the cluster may take for it by itself.
const TIMEOUT_MILLIS: i32 = 4_000;

/// `AlterPartitionReassignments` and `ElectLeaders`, with the version of each that is spoken here.
const REASSIGN: (i16, i16) = (45, 0);
const ELECT: (i16, i16) = (43, 2);

/// Where a partition is to be.
pub(crate) struct Reassignment<'a> {
    pub(crate) topic: &'a str,
    pub(crate) partition: i32,
    /// The first one leads when it can.
    pub(crate) replicas: &'a [i32],
}

impl Reassignment<'_> {
    /// Asks for both, and answers the error codes of the cluster: of the first question, and of the second.
    pub(crate) fn ask(&self, broker: &str) -> io::Result<(i16, i16)> {
        let reassigned = exchange(broker, REASSIGN, &self.reassign())?;
        let elected = exchange(broker, ELECT, &self.elect())?;
        Ok((reassigned, elected))
    }

    fn reassign(&self) -> Vec<u8> {
        let mut body = Body::default();
        body.int32(TIMEOUT_MILLIS);
        body.length(1);
        body.text(self.topic);
        body.length(1);
        body.int32(self.partition);
        body.length(self.replicas.len());
        self.replicas.iter().for_each(|replica| body.int32(*replica));
        // Of the partition, of the topic, of the request.
        (0..3).for_each(|_| body.no_tags());
        body.0
    }

    fn elect(&self) -> Vec<u8> {
        let mut body = Body::default();
        // The preferred one, which is the first replica.
        body.0.push(0);
        body.length(1);
        body.text(self.topic);
        body.length(1);
        body.int32(self.partition);
        body.no_tags();
        body.int32(TIMEOUT_MILLIS);
        body.no_tags();
        body.0
    }
}

/// Sends one request, and answers the error code that follows the throttle time in both answers.
fn exchange(broker: &str, (key, version): (i16, i16), body: &[u8]) -> io::Result<i16> {
    let mut header = Vec::new();
    header.extend(key.to_be_bytes());
    header.extend(version.to_be_bytes());
    // A correlation id, no client id, no tags.
    header.extend(1_i32.to_be_bytes());
    header.extend((-1_i16).to_be_bytes());
    header.push(0);
    let mut stream = TcpStream::connect(broker)?;
    stream.set_read_timeout(Some(CLUSTER_REQUEST))?;
    let length = i32::try_from(header.len() + body.len()).unwrap();
    stream.write_all(&[&length.to_be_bytes(), header.as_slice(), body].concat())?;
    // Length, correlation id, no tags, throttle time, error code.
    let mut answer = [0_u8; 15];
    stream.read_exact(&mut answer)?;
    Ok(i16::from_be_bytes([answer[13], answer[14]]))
}

#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn int32(&mut self, number: i32) {
        self.0.extend(number.to_be_bytes());
    }

    /// Of a list or a text: one more than it is, since zero says that there is none. Short ones are one byte.
    fn length(&mut self, length: usize) {
        self.0
            .push(u8::try_from(length + 1).ok().filter(|byte| *byte < 0x80).expect("a short one"));
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend(text.as_bytes());
    }

    fn no_tags(&mut self) {
        self.0.push(0);
    }
}
