//! Which of a writer's types meets which of a reader's: Avro's "Schema Resolution", where it leaves room as its Java library does it.
//!
//! Names that the reader's schema has as aliases count as the names they are aliases of. Records need no equal names but in a union, where
//! names choose the branch.

use std::collections::HashMap;

use stream_spec::schema::avro::tree::{AvroField, AvroName, AvroType, Encoding};

/// Full names that are aliases in a reader's schema, with the names they stand for.
pub(super) struct Aliases<'s>(HashMap<&'s str, &'s str>);

impl<'s> Aliases<'s> {
    pub(super) fn of(reader: &'s AvroType) -> Self {
        let mut aliases = Self(HashMap::new());
        aliases.collect(reader);
        aliases
    }

    fn collect(&mut self, schema: &'s AvroType) {
        if let Some(name) = schema.encoding.name() {
            self.0.extend(name.aliases.iter().map(|alias| (alias.as_str(), name.full.as_str())));
        }
        match &schema.encoding {
            Encoding::Record { fields, .. } => fields.iter().for_each(|field| self.collect(&field.schema)),
            Encoding::Array(inner) | Encoding::Map(inner) => self.collect(inner),
            Encoding::Union(branches) => branches.iter().for_each(|branch| self.collect(branch)),
            _ => {}
        }
    }

    /// A writer's name as the reader has it.
    pub(super) fn name<'n>(&self, writer: &'n AvroName) -> &'n str
    where
        's: 'n,
    {
        self.0.get(writer.full.as_str()).copied().unwrap_or(&writer.full)
    }
}

/// For each of the writer's fields the index of the reader's that it becomes.
pub(super) fn fields(writer: &[AvroField], reader: &[AvroField], same_record: bool) -> Vec<Option<usize>> {
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    if same_record {
        for (index, field) in reader.iter().enumerate() {
            by_name.extend(field.aliases.iter().map(|alias| (alias.as_str(), index)));
        }
    }
    let mut by_exact_name: HashMap<&str, usize> = HashMap::new();
    by_exact_name.extend(reader.iter().enumerate().map(|(index, field)| (field.name.as_str(), index)));
    let find = |field: &AvroField| by_name.get(field.name.as_str()).or(by_exact_name.get(field.name.as_str())).copied();
    writer.iter().map(find).collect()
}

/// The branch of the reader's union that a value of the writer's type, no union, becomes.
pub(super) fn branch(writer: &AvroType, reader: &[AvroType], aliases: &Aliases<'_>) -> Option<usize> {
    let written = writer.encoding.name().map(|name| aliases.name(name));
    let same = |branch: &AvroType| {
        let read = branch.encoding.name().map(|name| name.full.as_str());
        branch.encoding.word() == writer.encoding.word() && read == written
    };
    let exact = reader.iter().position(same);
    exact
        .or_else(|| structural(writer, written?, reader))
        .or_else(|| reader.iter().position(|branch| promotes(&writer.encoding, &branch.encoding)))
}

/// A record may also become one that its fields fit: the last of the same short name, or else the first.
fn structural(writer: &AvroType, name: &str, reader: &[AvroType]) -> Option<usize> {
    let Encoding::Record { fields: written, .. } = &writer.encoding else {
        return None;
    };
    let mut found = None;
    for (index, branch) in reader.iter().enumerate() {
        if let Encoding::Record { name: read, fields } = &branch.encoding
            && (found.is_none() || read.short() == short(name))
            && lacks_nothing(written, fields)
        {
            found = Some(index);
        }
    }
    found
}

/// True when each of the reader's fields is written or has a default.
pub(super) fn lacks_nothing(writer: &[AvroField], reader: &[AvroField]) -> bool {
    let mut given = vec![false; reader.len()];
    for index in fields(writer, reader, true).into_iter().flatten() {
        if let Some(given) = given.get_mut(index) {
            *given = true;
        }
    }
    reader.iter().zip(given).all(|(field, given)| given || field.default.is_some())
}

fn promotes(writer: &Encoding, reader: &Encoding) -> bool {
    matches!(
        (writer, reader),
        (Encoding::Int, Encoding::Long | Encoding::Float | Encoding::Double)
            | (Encoding::Long, Encoding::Float | Encoding::Double)
            | (Encoding::Float, Encoding::Double)
            | (Encoding::String, Encoding::Bytes)
            | (Encoding::Bytes, Encoding::String)
    )
}

fn short(full: &str) -> &str {
    full.rsplit('.').next().unwrap_or(full)
}
