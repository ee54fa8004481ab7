//! Grants as they are looked up: what was granted on something, on the schema and on the catalog that it is in. The
//! invariant: a privilege is held by whom it was granted to, or by the members of a group that it was granted to, and on
//! nothing above the place where it was granted.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Principal;
use super::privilege::{Privilege, SecurableType};
use crate::store::documents::{self, GrantsRecord};
use crate::store::{Store, StoreError};

/// The grants on some places and on everything above them, as they were at one moment.
#[derive(Debug, Default)]
pub(super) struct Grants(BTreeMap<String, GrantsRecord>);

impl Grants {
    /// Reads them at once.
    pub(super) async fn on<'a>(store: &Arc<dyn Store>, places: impl Iterator<Item = (SecurableType, &'a str)>) -> Result<Self, StoreError> {
        let names: Vec<String> = places.flat_map(|(securable_type, name)| chain(securable_type, name)).collect();
        let found = documents::named::<GrantsRecord>(store, &names).await?;
        Ok(Self(
            found
                .into_iter()
                .map(|record| (GrantsRecord::document_name(record.securable_type, &record.securable_name), record))
                .collect(),
        ))
    }

    /// Whether one of these privileges was granted there, or above.
    pub(super) fn give(&self, principal: &Principal, any: &[Privilege], securable_type: SecurableType, name: &str) -> bool {
        let granted = |record: &GrantsRecord| {
            let mut grants = record.grants.iter();
            grants.any(|(grantee, privileges)| principal.is_or_is_in(grantee) && any.iter().any(|privilege| privileges.contains(privilege)))
        };
        chain(securable_type, name)
            .iter()
            .any(|place| self.0.get(place).is_some_and(granted))
    }
}

/// Documents of the grants that hold for something: its own, its schema's, its catalog's.
fn chain(securable_type: SecurableType, name: &str) -> Vec<String> {
    let catalog = name.split('.').next().unwrap_or_default();
    let schema: Vec<&str> = name.split('.').take(2).collect();
    let mut chain = vec![GrantsRecord::document_name(securable_type, name)];
    match securable_type {
        SecurableType::Table | SecurableType::Volume => {
            chain.push(GrantsRecord::document_name(SecurableType::Schema, &schema.join(".")));
            chain.push(GrantsRecord::document_name(SecurableType::Catalog, catalog));
        }
        SecurableType::Schema => chain.push(GrantsRecord::document_name(SecurableType::Catalog, catalog)),
        SecurableType::Catalog | SecurableType::Connection | SecurableType::ServiceCredential | SecurableType::SecretScope => {}
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_granted_above_holds_below_and_nowhere_else() {
        let grant = |securable_type, name: &str, grantee: &str, privilege| {
            let record = GrantsRecord {
                securable_type,
                securable_name: name.to_owned(),
                generation: 1,
                grants: BTreeMap::from([(grantee.to_owned(), BTreeSet::from([privilege]))]),
                update_time_ms: 0,
                updated_by: String::new(),
            };
            (GrantsRecord::document_name(securable_type, name), record)
        };
        let grants = Grants(BTreeMap::from([
            grant(SecurableType::Catalog, "main", "ann", Privilege::Select),
            grant(SecurableType::Schema, "main.pay", "team", Privilege::Select),
            grant(SecurableType::Table, "main.pay.orders", "bob", Privilege::Select),
            grant(SecurableType::Connection, "main", "bob", Privilege::Manage),
        ]));
        let (table, schema) = (SecurableType::Table, SecurableType::Schema);
        for (who, privilege, securable_type, name, expected) in [
            ("ann", Privilege::Select, table, "main.pay.orders", true),
            ("ann", Privilege::Select, schema, "main.other", true),
            ("ann", Privilege::Select, table, "mainly.pay.orders", false),
            ("ann", Privilege::Manage, table, "main.pay.orders", false),
            ("member", Privilege::Select, table, "main.pay.refunds", true),
            ("member", Privilege::Select, table, "main.pays.refunds", false),
            ("member", Privilege::Select, SecurableType::Catalog, "main", false),
            ("bob", Privilege::Select, table, "main.pay.orders", true),
            ("bob", Privilege::Select, table, "main.pay.refunds", false),
            ("bob", Privilege::Select, schema, "main.pay", false),
            ("bob", Privilege::Manage, SecurableType::Connection, "main", true),
            ("bob", Privilege::Manage, SecurableType::Catalog, "main", false),
            ("nobody", Privilege::Select, table, "main.pay.orders", false),
        ] {
            let groups = if who == "member" {
                BTreeSet::from(["team".to_owned()])
            } else {
                BTreeSet::new()
            };
            let found = grants.give(&Principal::new(who, groups), &[privilege], securable_type, name);
            assert_eq!(found, expected, "{who} {privilege} on {securable_type} {name}");
        }
    }
}
