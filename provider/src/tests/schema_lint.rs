//! A linter over every schema of the provider, after the rules that Terraform's own tooling has for providers.

use tfplugin::provider::Provider;
use tfplugin::schema::attribute::{AttributeType, Mode};
use tfplugin::schema::{Attributes, Schema};

use crate::provider::FeaturestoreProvider;

fn schemas() -> Vec<(String, Schema)> {
    let provider = FeaturestoreProvider::new();
    let resources = provider
        .resources()
        .into_iter()
        .map(|it| (format!("resource {}", it.type_name()), it.schema()));
    let data_sources = provider
        .data_sources()
        .into_iter()
        .map(|it| (format!("data source {}", it.type_name()), it.schema()));
    resources
        .chain(data_sources)
        .chain([("provider".to_owned(), provider.schema())])
        .collect()
}

fn walk(attributes: &Attributes, path: &str, visit: &mut dyn FnMut(&str, &str, &tfplugin::schema::attribute::Attribute)) {
    for (name, attribute) in attributes {
        let path = format!("{path}.{name}");
        visit(&path, name, attribute);
        if let AttributeType::Nested { attributes, .. } = &attribute.attribute_type {
            walk(attributes, &path, visit);
        }
    }
}

#[test]
fn every_attribute_is_well_named_described_and_says_what_a_change_costs() {
    for (of, schema) in schemas() {
        assert!(schema.description.ends_with('.'), "{of} has no description in sentences");
        walk(&schema.attributes, &of, &mut |path, name, attribute| {
            assert!(
                name.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_'),
                "{path}: odd name"
            );
            assert!(attribute.description.ends_with('.'), "{path}: a description is made of sentences");
            let costs = attribute.description.contains("\n\n");
            assert_eq!(
                costs,
                of.starts_with("resource"),
                "{path}: a resource's attribute, and no other, says what a change costs"
            );
            assert!(!(attribute.replaces && attribute.stands_alone), "{path}: replaces and stands alone");
        });
    }
}

#[test]
fn a_data_source_of_what_is_there_asks_for_a_name_at_most() {
    for (of, schema) in schemas() {
        // Columns are of what is given, and not of something that is there.
        if of.starts_with("data source") && of != "data source featurestore_table_columns" {
            walk(&schema.attributes, "", &mut |path, name, attribute| {
                let expected = if path == ".name" { Mode::Required } else { Mode::Computed };
                assert!(attribute.mode == expected || name == "name", "{of}{path}: {:?}", attribute.mode);
            });
        }
    }
}

#[test]
fn the_stream_has_timeouts_and_an_id_that_outlives_changes() {
    let (_, stream) = schemas()
        .into_iter()
        .find(|(of, _)| of == "resource featurestore_stream")
        .expect("the resource");
    assert!(stream.attributes.contains_key("timeouts"));
    assert!(stream.attributes["id"].keeps_prior && stream.attributes["id"].mode == Mode::Computed);
}
