//! Placeholder.

use crate::contract::{Call, InputError, Spec, Tool};
use serde_json::value::RawValue;

pub struct NotebookEdit;

static SPEC: Spec =
    Spec::of("NotebookEdit", include_str!("notebook_edit.md"), include_str!("notebook_edit.schema.json"));

impl Tool for NotebookEdit {
    fn spec(&self) -> &Spec {
        &SPEC
    }

    fn parse(&self, _: &RawValue) -> Result<Box<dyn Call>, InputError> {
        Err(InputError("NotebookEdit: not available yet".into()))
    }
}
