//! Placeholder.

use crate::contract::{Call, InputError, Spec, Tool};
use serde_json::value::RawValue;

pub struct Read;

static SPEC: Spec = Spec::of("Read", include_str!("read.md"), include_str!("read.schema.json"));

impl Tool for Read {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, _: &RawValue) -> Result<Box<dyn Call>, InputError> {
        Err(InputError("Read: not available yet".into()))
    }
}
