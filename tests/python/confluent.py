"""Writes messages with Confluent's own serializers, which register schemas and put the frames before messages.

One JSON request a line on standard input, one JSON answer a line on standard output.
"""

import base64

from tables import serve

_clients = {}


def client(url, user, ca):
    from confluent_kafka.schema_registry import SchemaRegistryClient

    key = (url, user, ca)
    if key not in _clients:
        config = {"url": url}
        if user:
            config["basic.auth.user.info"] = user
        if ca:
            config["ssl.ca.location"] = ca
        _clients[key] = SchemaRegistryClient(config)
    return _clients[key]


def message_class(files, message):
    """The class of a message of compiled files (a FileDescriptorSet in base64)."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(files)).file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(message))


def serializer(registry, schema, config):
    if "avro" in schema:
        from confluent_kafka.schema_registry import Schema, SchemaReference
        from confluent_kafka.schema_registry.avro import AvroSerializer

        references = [SchemaReference(**reference) for reference in schema.get("references", [])]
        return AvroSerializer(registry, Schema(schema["avro"], "AVRO", references), conf=config), lambda value: value
    from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
    from google.protobuf import json_format

    kind = message_class(schema["files"], schema["message"])
    config = {"use.deprecated.format": False, **config}
    return ProtobufSerializer(kind, registry, conf=config), lambda value: json_format.ParseDict(value, kind())


def serialize(url, topic, side, schema, values, config, user=None, ca=None, guid=False, naming="topic"):
    """The bytes of each value as a producer would send them, and the headers beside them."""
    import confluent_kafka.schema_registry as strategies
    from confluent_kafka.schema_registry import header_schema_id_serializer
    from confluent_kafka.serialization import SerializationContext

    config = {**config, "subject.name.strategy": getattr(strategies, f"{naming}_subject_name_strategy")}
    if guid:
        config = {**config, "schema.id.serializer": header_schema_id_serializer}
    write, value_of = serializer(client(url, user, ca), schema, config)
    messages = []
    for value in values:
        context = SerializationContext(topic, side, [])
        payload = write(value_of(value), context)
        headers = [[name, base64.b64encode(header).decode()] for name, header in context.headers or []]
        messages.append({"payload": base64.b64encode(payload).decode(), "headers": headers})
    return messages


def built_in():
    """The files that the serializers take for granted, as a FileDescriptorSet in base64, without those under google/protobuf/."""
    import importlib
    import pkgutil

    import confluent_kafka.schema_registry.confluent as confluent
    import confluent_kafka.schema_registry.confluent.type as confluent_type
    import google.type
    from google.protobuf import descriptor_pb2

    files = descriptor_pb2.FileDescriptorSet()
    for package in [confluent, confluent_type, google.type]:
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if module.name.endswith("_pb2"):
                importlib.import_module(module.name).DESCRIPTOR.CopyToProto(files.file.add())
    return base64.b64encode(files.SerializeToString()).decode()


if __name__ == "__main__":
    serve(serialize, built_in)
