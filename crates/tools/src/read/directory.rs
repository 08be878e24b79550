//! A directory in place of a file: what lies in it.

use super::text;
use crate::contract::{CallContext, PathDiscovery, ToolOutcome};
use crate::file_work;
use crate::walk::SmallestItems;
use std::path::Path;

/// Most entries that are listed.
const MAX_ENTRIES: usize = 50;

pub(super) fn show(cx: &CallContext, path: &Path) -> Result<ToolOutcome, ToolOutcome> {
    let entries = std::fs::read_dir(path).map_err(|e| file_work::io_error("list", path, &e))?;
    let mut names = SmallestItems::new(MAX_ENTRIES);
    for entry in entries.flatten().filter(|entry| (cx.may_read)(&entry.path(), PathDiscovery::Named)) {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir() || (kind.is_symlink() && entry.path().is_dir()));
        let name = entry.file_name().to_string_lossy().replace(char::is_control, "\u{fffd}");
        names.add(if is_dir { format!("{name}/") } else { name });
    }
    Ok(text::substitute_outcome(path, listing(path, names)))
}

fn listing(path: &Path, names: SmallestItems<String>) -> String {
    let (path, total) = (path.display(), names.total);
    if total == 0 {
        return format!("{path} is an empty directory.");
    }
    let names = names.into_sorted();
    let more = match total - names.len() as u64 {
        0 => String::new(),
        more => format!("\n[{more} more]"),
    };
    format!("{path} is a directory. In it:\n{}{more}", names.join("\n"))
}
