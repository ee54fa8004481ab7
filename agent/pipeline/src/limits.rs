//! Every bound of this package, with its reason. Nothing here grows with a table's age.
