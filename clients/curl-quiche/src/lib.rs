//! Nothing of its own: a crate that depends on the parts, so that one Cargo.lock pins them all.
