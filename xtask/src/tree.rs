//! A copy of the working tree: chores change it and build it without touching the original.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The files that git tracks or would track, by path with their content; builds and installed clients are not among
/// them.
pub(crate) struct Tree(pub(crate) BTreeMap<String, Vec<u8>>);

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut command = Command::new("git");
        command.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
        let list = command.output().context("git")?;
        ensure!(list.status.success(), "git ls-files: {}", String::from_utf8_lossy(&list.stderr));
        let list = String::from_utf8(list.stdout)?;
        let mut files = BTreeMap::new();
        // A file that was removed and not yet committed is still in the list.
        for name in list.split_terminator('\0').filter(|name| root.join(name).is_file()) {
            files.insert(name.to_owned(), std::fs::read(root.join(name)).with_context(|| name.to_owned())?);
        }
        Ok(Self(files))
    }

    /// Makes `folder` equal to this tree. Unchanged files keep their modification time, so that the next run builds
    /// little.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let kept = folder.join("files");
        let earlier = std::fs::read_to_string(&kept).unwrap_or_default();
        for name in earlier.lines().filter(|name| !self.0.contains_key(*name)) {
            std::fs::remove_file(folder.join(name)).ok();
        }
        for (name, content) in &self.0 {
            let path = folder.join(name);
            if std::fs::read(&path).is_ok_and(|found| found == *content) {
                continue;
            }
            std::fs::create_dir_all(path.parent().context("no folder")?)?;
            std::fs::write(&path, content).with_context(|| name.clone())?;
        }
        let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
        std::fs::write(&kept, names.join("\n")).context("list of files")
    }
}
