"""confluent_consume.py BOOTSTRAP REGISTRY TOPIC RECORDS: Confluent's consumer and its deserializer of Avro make Python values of a topic's
first records, each by its own writer's schema. Prints one line of JSON: records and CPU-seconds, without what the start takes."""

import json
import sys
import time

from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

bootstrap, registry, topic, records = sys.argv[1:]
consumer = Consumer(
    {"bootstrap.servers": bootstrap, "group.id": "bench-consume", "auto.offset.reset": "earliest", "enable.auto.commit": False}
)
deserializer = AvroDeserializer(SchemaRegistryClient({"url": registry}))
context = SerializationContext(topic, MessageField.VALUE)
consumer.subscribe([topic])
done, start = 0, None
while done < int(records):
    for message in consumer.consume(1_000, timeout=1.0):
        if message.error():
            raise SystemExit(str(message.error()))
        value = deserializer(message.value(), context)
        assert value["name"].startswith("customer ")
        # The first one opens connections and asks for a schema.
        start = time.process_time() if start is None else start
        done += 1
print(json.dumps({"records": int(records), "cpu_seconds": time.process_time() - start}))
