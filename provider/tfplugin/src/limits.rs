//! Every bound of this package, with its reason.

/// Digits of one number. Terraform computes with 512 bits, some 155 digits; a longer text is not a number of its making.
pub const NUMBER_DIGITS_MAX: usize = 1024;
