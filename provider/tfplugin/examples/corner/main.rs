//! A whole provider in three files: `corner_file` keeps a few values in a JSON file of a folder. It exists to be read, and to
//! be driven by the real Terraform in `tests/real_terraform.rs`.

mod file;
mod provider;

use std::process::ExitCode;

fn main() -> ExitCode {
    tfplugin::serve::serve("registry.terraform.io/example/corner", provider::Corner::default())
}
