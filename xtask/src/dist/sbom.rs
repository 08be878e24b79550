//! The bill of materials in CycloneDX JSON: every package in the binary, with its version, licence, checksum and
//! dependencies.

use super::dependencies::Package;
use super::{Facts, date_time, hex_sha256};
use anyhow::{Context, Result};
use serde_json::{Value, json};

pub(super) fn bill(packages: &[Package], facts: &Facts) -> Result<String> {
    let (product, parts) = packages.split_first().context("no packages")?;
    let components: Vec<Value> = parts.iter().map(component).collect();
    let dependencies: Vec<Value> = packages
        .iter()
        .map(|package| json!({"ref": reference(&package.id()), "dependsOn": package.needs.iter().map(|id| reference(id)).collect::<Vec<_>>()}))
        .collect();
    let mut main = component(product);
    main["type"] = "application".into();
    main["name"] = "gimlet".into();
    let bill = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "serialNumber": serial_number(&components, facts),
        "metadata": {"timestamp": date_time(facts.time), "component": main},
        "components": components,
        "dependencies": dependencies,
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
}

fn reference(id: &str) -> String {
    format!("pkg:cargo/{id}")
}

fn component(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(&package.id()),
        "name": package.name,
        "version": package.version,
    });
    if !package.licence.is_empty() {
        component["licenses"] = json!([{"expression": package.licence}]);
    }
    if let Some(checksum) = &package.checksum {
        component["purl"] = reference(&package.id()).into();
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    if let Some(url) = &package.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": url}]);
    }
    component
}

/// The serial number, derived from the contents: equal contents give the same number.
fn serial_number(components: &[Value], facts: &Facts) -> String {
    let hash = hex_sha256(format!("{} {} {}", facts.version, facts.time, json!(components)).as_bytes());
    format!("urn:uuid:{}-{}-5{}-8{}-{}", &hash[..8], &hash[8..12], &hash[13..16], &hash[17..20], &hash[20..32])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_bill_names_every_package_once_and_every_reference_leads_somewhere() {
        let packages = super::super::dependencies::packages(&crate::root()).unwrap();
        let facts = Facts { version: "1.2.3".into(), time: 0, compression: 1 };
        let bill: Value = serde_json::from_str(&bill(&packages, &facts).unwrap()).unwrap();
        assert_eq!(bill["metadata"]["timestamp"], "1970-01-01T00:00:00Z");
        let components = bill["components"].as_array().unwrap();
        let known: BTreeSet<&str> = components.iter().filter_map(|one| one["bom-ref"].as_str()).collect();
        assert_eq!(known.len(), components.len());
        for dependency in bill["dependencies"].as_array().unwrap() {
            for to in dependency["dependsOn"].as_array().unwrap() {
                assert!(known.contains(to.as_str().unwrap()), "{to}");
            }
        }
        let serial = bill["serialNumber"].as_str().unwrap().strip_prefix("urn:uuid:").unwrap();
        assert_eq!(serial.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
    }
}
