//! The pages that the Terraform Registry shows, made from the schemas and the examples. `UPDATE_EXPECT=1` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use tfplugin::provider::Provider;
use tfplugin::schema::attribute::{Attribute, AttributeType, Mode, Nesting};
use tfplugin::schema::{Attributes, Schema};
use tfplugin::value::types::Type;

use crate::provider::FeaturestoreProvider;
use crate::resources::COST_SEPARATOR;

/// Each resource: the example that declares it, and what an import of it looks like.
const RESOURCES: [(&str, &str, &str, &str); 7] = [
    (
        "featurestore_stream",
        "quickstart",
        "transactions",
        "main.payments.card_transactions",
    ),
    ("featurestore_connection", "governance", "kafka", "payments-kafka"),
    ("featurestore_service_credential", "governance", "reader", "payments-reader"),
    ("featurestore_secret_scope", "governance", "payments", "payments"),
    ("featurestore_secret", "governance", "kafka_password", "payments/kafka-password"),
    ("featurestore_volume", "governance", "certificates", "main.payments.certificates"),
    ("featurestore_grants", "governance", "payments", "connection/payments-kafka"),
];

const STREAM: &str = "data \"featurestore_stream\" \"transactions\" {
  name = \"main.payments.card_transactions\"
}

output \"status\" {
  value = data.featurestore_stream.transactions.status
}
";

const AGENT: &str = "data \"featurestore_agent\" \"this\" {}

output \"agent\" {
  value = data.featurestore_agent.this.version
}
";

const TABLE_COLUMNS: &str = "data \"featurestore_table_columns\" \"transactions\" {
  direct_schemas = {
    payload_schema = { json_schema = file(\"${path.module}/transaction.schema.json\") }
  }
  excluded_columns = [\"value.memo\"]
}
";

const PROVIDER: &str = "terraform {
  required_version = \">= 1.11\"
  required_providers {
    featurestore = {
      source = \"featurestore/featurestore\"
    }
  }
}

provider \"featurestore\" {
  endpoint = \"https://agent.shop.example:7070\"
  ca_file  = \"/etc/ssl/shop.pem\"
}
";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// The block that declares something in an example.
fn block(example: &str, head: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(example)
        .join("main.tf");
    let text = std::fs::read_to_string(&file).unwrap();
    let (_, rest) = text
        .split_once(&format!("\n{head} {{\n"))
        .unwrap_or_else(|| panic!("{head} in {file:?}"));
    let (body, _) = rest.split_once("\n}\n").unwrap();
    format!("{head} {{\n{body}\n}}\n")
}

/// Every page, by its path below `docs/`.
fn pages() -> BTreeMap<String, String> {
    let provider = FeaturestoreProvider::new();
    let mut pages = BTreeMap::from([(
        "index.md".to_owned(),
        page("featurestore Provider", "featurestore Provider", &provider.schema(), PROVIDER, ""),
    )]);
    for resource in provider.resources() {
        let name = resource.type_name();
        let (_, example, label, id) = RESOURCES
            .iter()
            .find(|(of, ..)| *of == name)
            .unwrap_or_else(|| panic!("an example of {name}"));
        let declared = block(example, &format!("resource \"{name}\" \"{label}\""));
        // Which of several a name means is nothing that an import block can leave out.
        let key = if declared.contains("for_each") { "[\"connection\"]" } else { "" };
        let import = format!(
            "\n## Import\n\n```terraform\nimport {{\n  to = {name}.{label}{key}\n  id = \"{id}\"\n}}\n```\n\nWhole: `examples/{example}`.\n"
        );
        let path = format!("resources/{}.md", short(name));
        pages.insert(
            path,
            page(name, &format!("{name} (Resource)"), &resource.schema(), &declared, &import),
        );
    }
    for source in provider.data_sources() {
        let name = source.type_name();
        let example = match short(name) {
            "stream" => STREAM.to_owned(),
            "agent" => AGENT.to_owned(),
            "table_columns" => TABLE_COLUMNS.to_owned(),
            _ => block("governance", &format!("data \"{name}\" \"kafka\"")),
        };
        let path = format!("data-sources/{}.md", short(name));
        pages.insert(path, page(name, &format!("{name} (Data Source)"), &source.schema(), &example, ""));
    }
    pages
}

fn short(name: &str) -> &str {
    name.strip_prefix("featurestore_").unwrap()
}

fn page(name: &str, title: &str, schema: &Schema, example: &str, end: &str) -> String {
    let description = &schema.description;
    let mut page = format!(
        "---\npage_title: \"{name}\"\nsubcategory: \"\"\ndescription: |-\n  {description}\n---\n\n# {title}\n\n{description}\n\n\
         ## Example Usage\n\n```terraform\n{example}```\n\n## Schema\n"
    );
    attributes(&mut page, "###", &schema.attributes, &mut Vec::new());
    page.push_str(end);
    page
}

/// The lists of attributes, and after them those of what is nested.
fn attributes(page: &mut String, heading: &str, attributes: &Attributes, path: &mut Vec<String>) {
    for (title, modes) in [
        ("Required", &[Mode::Required] as &[Mode]),
        ("Optional", &[Mode::Optional, Mode::OptionalComputed]),
        ("Read-Only", &[Mode::Computed]),
    ] {
        let mut listed = attributes
            .iter()
            .filter(|(_, attribute)| modes.contains(&attribute.mode))
            .peekable();
        if listed.peek().is_some() {
            let title = if path.is_empty() {
                format!("{heading} {title}")
            } else {
                format!("{title}:")
            };
            write!(page, "\n{title}\n\n").unwrap();
        }
        for (name, attribute) in listed {
            path.push(name.clone());
            writeln!(page, "- `{name}` ({}) {}", shown_type(attribute), shown(attribute, path)).unwrap();
            path.pop();
        }
    }
    for (name, attribute) in attributes {
        if let AttributeType::Nested { attributes: inner, .. } = &attribute.attribute_type {
            path.push(name.clone());
            write!(
                page,
                "\n<a id=\"{}\"></a>\n### Nested Schema for `{}`\n",
                anchor(path),
                path.join(".")
            )
            .unwrap();
            self::attributes(page, heading, inner, path);
            path.pop();
        }
    }
}

fn anchor(path: &[String]) -> String {
    format!("nestedatt--{}", path.join("--"))
}

fn shown(attribute: &Attribute, path: &[String]) -> String {
    let mut shown = attribute.description.replace(COST_SEPARATOR, " ");
    if matches!(attribute.attribute_type, AttributeType::Nested { .. }) {
        write!(shown, " (see [below for nested schema](#{}))", anchor(path)).unwrap();
    }
    shown
}

fn shown_type(attribute: &Attribute) -> String {
    let mut shown = match &attribute.attribute_type {
        AttributeType::Plain(plain) => plain_type(plain),
        AttributeType::Nested { nesting, .. } => match nesting {
            Nesting::Single => "Attributes",
            Nesting::List => "Attributes List",
            Nesting::Set => "Attributes Set",
            Nesting::Map => "Attributes Map",
        }
        .to_owned(),
    };
    if attribute.sensitive {
        shown.push_str(", Sensitive");
    }
    if attribute.write_only {
        shown.push_str(", Write-only");
    }
    shown
}

fn plain_type(plain: &Type) -> String {
    match plain {
        Type::Bool => "Boolean".to_owned(),
        Type::Number => "Number".to_owned(),
        Type::String => "String".to_owned(),
        Type::List(element) => format!("List of {}", plain_type(element)),
        Type::Set(element) => format!("Set of {}", plain_type(element)),
        Type::Map(element) => format!("Map of {}", plain_type(element)),
        Type::Object(_) => "Object".to_owned(),
    }
}

/// The pages that are there in the folders that belong to them.
fn found() -> BTreeSet<String> {
    let files = ["resources", "data-sources"].into_iter().flat_map(|folder| {
        let files = std::fs::read_dir(docs().join(folder)).into_iter().flatten();
        files.map(move |file| format!("{folder}/{}", file.unwrap().file_name().to_string_lossy()))
    });
    files.chain(["index.md".to_owned()]).collect()
}

#[test]
fn every_page_of_the_registry_is_what_the_schemas_say() {
    let pages = pages();
    for (path, page) in &pages {
        let file = docs().join(path);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, page).unwrap();
        }
        let found = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(&found, page, "{path}: run with UPDATE_EXPECT=1");
    }
    assert_eq!(
        found(),
        pages.keys().cloned().collect(),
        "a page of what is not there any more: delete it"
    );
}
