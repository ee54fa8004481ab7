//! Golden bytes, captured from Terraform's own encoder or written out by the format's rules.
