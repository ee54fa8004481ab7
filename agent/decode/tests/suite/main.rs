//! The decoder from outside: Spark's recorded answers, messages of our own, and properties of any bytes.

#[cfg(test)]
mod avro_messages;
#[cfg(test)]
mod from_avro;
#[cfg(test)]
mod from_protobuf;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod model;
#[cfg(test)]
mod oracle;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod registered;
#[cfg(test)]
mod updates;
