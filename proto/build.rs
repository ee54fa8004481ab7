//! Compiles the .proto texts with protox, so that no protoc is needed on the machine.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=.");
    let feature = |name: &str| std::env::var_os(format!("CARGO_FEATURE_{name}")).is_some();
    let mut files = Vec::new();
    if feature("PLUGIN") {
        files.extend(["tfplugin6.proto", "go_plugin.proto"]);
    }
    if feature("API") {
        files.extend([
            "featurestore/v1/agent.proto",
            "featurestore/v1/connections.proto",
            "featurestore/v1/governance.proto",
            "featurestore/v1/streams.proto",
        ]);
    }
    if files.is_empty() {
        return Ok(());
    }
    let descriptors = protox::compile(&files, [Path::new(".")])?;
    // Maps are sorted, so that two encodings of one message are the same bytes.
    tonic_prost_build::configure().btree_map(".").compile_fds(descriptors)?;
    Ok(())
}
