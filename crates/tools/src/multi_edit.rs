//! Placeholder.

use crate::contract::{Call, InputError, Spec, Tool};
use serde_json::value::RawValue;

pub struct MultiEdit;

static SPEC: Spec = Spec::of("MultiEdit", include_str!("multi_edit.md"), include_str!("multi_edit.schema.json"));

impl Tool for MultiEdit {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, _: &RawValue) -> Result<Box<dyn Call>, InputError> {
        Err(InputError("MultiEdit: not available yet".into()))
    }
}
