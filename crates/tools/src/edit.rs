//! Placeholder.

use crate::contract::{Call, InputError, Spec, Tool};
use serde_json::value::RawValue;

pub struct Edit;

static SPEC: Spec = Spec::of("Edit", include_str!("edit.md"), include_str!("edit.schema.json"));

impl Tool for Edit {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, _: &RawValue) -> Result<Box<dyn Call>, InputError> {
        Err(InputError("Edit: not available yet".into()))
    }
}
