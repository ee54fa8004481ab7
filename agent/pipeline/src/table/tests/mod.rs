//! Scenarios on whole tables: one file per subject. Every scenario ends with a look by delta-rs, a reader that we did not write.

mod care_steps;
mod checkpoints;
mod compaction;
mod conform;
mod copies;
mod data_files;
mod doubled;
mod faults;
mod faulty_store;
mod foreign;
mod life;
mod local_store;
mod lock;
mod losses;
mod mark;
mod races;
mod schema_starts;
mod support;
mod sweeps;
mod system;
mod trash;
mod upkeep;
mod widening;
mod widening_care;
mod widening_races;
