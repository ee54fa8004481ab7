//! The schemas. Invariant: nothing depends on this call; Terraform leaves it out when it has the schemas cached.

use featurestore_proto::tfplugin6::{self as pb, get_provider_schema::Response, schema::object::NestingMode};

use crate::engine::Engine;
use crate::schema::attribute::{Attribute, AttributeType, Mode, Nesting};
use crate::schema::{Attributes, Schema};
use crate::wire::codec;

pub(super) fn answer(engine: &Engine) -> Response {
    let resources = engine.resources.iter();
    let data_sources = engine.data_sources.iter();
    Response {
        provider: Some(schema(&engine.configuration.schema)),
        resource_schemas: resources
            .map(|(name, found)| ((*name).to_owned(), schema(&found.shape.schema)))
            .collect(),
        data_source_schemas: data_sources
            .map(|(name, found)| ((*name).to_owned(), schema(&found.shape.schema)))
            .collect(),
        server_capabilities: Some(codec::capabilities()),
        ..Response::default()
    }
}

fn schema(schema: &Schema) -> pb::Schema {
    let version = i64::from(schema.version);
    let block = pb::schema::Block {
        version,
        attributes: attributes(&schema.attributes),
        block_types: Vec::new(),
        description: schema.description.clone(),
        description_kind: pb::StringKind::Markdown.into(),
        deprecated: !schema.deprecation.is_empty(),
        deprecation_message: schema.deprecation.clone(),
    };
    pb::Schema {
        version,
        block: Some(block),
    }
}

fn attributes(named: &Attributes) -> Vec<pb::schema::Attribute> {
    named.iter().map(|(name, declared)| attribute(name, declared)).collect()
}

fn attribute(name: &str, declared: &Attribute) -> pb::schema::Attribute {
    let (plain, nested) = match &declared.attribute_type {
        AttributeType::Plain(plain) => (plain.to_json().to_string().into_bytes(), None),
        AttributeType::Nested {
            nesting,
            attributes: inner,
        } => {
            let nesting = match nesting {
                Nesting::Single => NestingMode::Single,
                Nesting::List => NestingMode::List,
                Nesting::Set => NestingMode::Set,
                Nesting::Map => NestingMode::Map,
            };
            let object = pb::schema::Object {
                attributes: attributes(inner),
                nesting: nesting.into(),
                ..Default::default()
            };
            (Vec::new(), Some(object))
        }
    };
    pb::schema::Attribute {
        name: name.to_owned(),
        r#type: plain,
        nested_type: nested,
        description: declared.description.clone(),
        description_kind: pb::StringKind::Markdown.into(),
        required: declared.mode == Mode::Required,
        optional: matches!(declared.mode, Mode::Optional | Mode::OptionalComputed),
        computed: declared.is_computed(),
        sensitive: declared.sensitive,
        write_only: declared.write_only,
        deprecated: !declared.deprecation.is_empty(),
        deprecation_message: declared.deprecation.clone(),
    }
}
