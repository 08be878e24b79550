//! Placeholder.

use crate::contract::{Call, InputError, Spec, Tool};
use serde_json::value::RawValue;

pub struct Write;

static SPEC: Spec = Spec::of("Write", include_str!("write.md"), include_str!("write.schema.json"));

impl Tool for Write {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, _: &RawValue) -> Result<Box<dyn Call>, InputError> {
        Err(InputError("Write: not available yet".into()))
    }
}
