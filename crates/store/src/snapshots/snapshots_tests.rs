use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

pub(super) struct Place {
    pub(super) dir: PathBuf,
    pub(super) snapshots: Snapshots,
    _temp: tempfile::TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(temp.path()).unwrap();
        std::fs::create_dir(root.join("p")).unwrap();
        Self { dir: root.join("p"), snapshots: Snapshots::at(&root.join("config")), _temp: temp }
    }

    pub(super) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(super) fn about(&self, what: &str) -> SnapshotCause {
        SnapshotCause {
            kind: ChangeKind::Command,
            session: "s".into(),
            cwd: self.dir.clone(),
            description: what.into(),
            prompt: None,
        }
    }

    /// Saves `paths`, makes the change, settles; gives the snapshot's id.
    pub(super) fn change(&self, paths: &[(&Path, SaveExtent)], change: impl FnOnce()) -> Option<String> {
        let mut draft = self.snapshots.begin(self.about("change"), SnapshotLimits::default());
        for (path, reach) in paths {
            draft.save(path, *reach);
        }
        let kept = draft.commit().unwrap().unwrap();
        change();
        kept.complete().unwrap().map(|header| header.id)
    }

    pub(super) fn newest(&self) -> UndoChoice {
        UndoChoice::Newest { folder: Some(self.dir.clone()), session: None }
    }

    /// Everything below the folder: mode, time of files, content or target.
    fn tree(&self) -> Vec<String> {
        let mut lines = Vec::new();
        describe(&self.dir, &mut lines);
        lines
    }
}

fn describe(path: &Path, lines: &mut Vec<String>) {
    let meta = std::fs::symlink_metadata(path).unwrap();
    let content = if meta.is_symlink() {
        format!("-> {}", std::fs::read_link(path).unwrap().display())
    } else if meta.is_file() {
        format!("{}.{} {:?}", meta.mtime(), meta.mtime_nsec(), std::fs::read(path).unwrap())
    } else {
        format!("{}.{}", meta.mtime(), meta.mtime_nsec())
    };
    let mode = if meta.is_symlink() { 0 } else { meta.mode() };
    lines.push(format!("{} {mode:o} {content}", path.display()));
    if meta.is_dir() {
        let mut names: Vec<_> = std::fs::read_dir(path).unwrap().map(|e| e.unwrap().path()).collect();
        names.sort();
        for path in &names {
            describe(path, lines);
        }
    }
}

#[test]
fn nothing_is_created_before_something_is_kept() {
    let place = Place::new();
    let draft = place.snapshots.begin(place.about("nothing"), SnapshotLimits::default());
    assert!(draft.commit().unwrap().is_none());
    assert!(!place.snapshots.root.exists());
    assert!(matches!(place.snapshots.undo(&place.newest()), Err(StoreError::NothingToUndo)));
    assert!(!place.snapshots.root.exists());
}

#[test]
fn a_removed_tree_comes_back_with_modes_links_and_empty_folders() {
    let place = Place::new();
    place.write("tree/a/b.txt", "b");
    let script = place.write("tree/run.sh", "#!/bin/sh\n");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o750)).unwrap();
    std::fs::create_dir(place.dir.join("tree/empty")).unwrap();
    std::fs::set_permissions(place.dir.join("tree/empty"), PermissionsExt::from_mode(0o711)).unwrap();
    symlink("../nowhere", place.dir.join("tree/link")).unwrap();
    place.write("beside", "untouched");
    let before = place.tree();
    let tree = place.dir.join("tree");
    place.change(&[(&tree, SaveExtent::Below)], || std::fs::remove_dir_all(&tree).unwrap()).unwrap();
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!((undone.problems.len(), undone.removed.len()), (0, 0), "{undone:?}");
    let without_top = |lines: Vec<String>| lines[1..].to_vec();
    assert_eq!(without_top(place.tree()), without_top(before));
    // Private, whatever the umask.
    for path in [place.snapshots.root.clone(), place.snapshots.root.join("manifests")] {
        assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o700);
    }
    for path in place.snapshots.manifest_paths() {
        assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_write_twice_on_a_saved_file_does_not_reach_the_copy() {
    let place = Place::new();
    let file = place.write("f", "first\n");
    let first = place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "x\n").unwrap()).unwrap();
    place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "y\n").unwrap()).unwrap();
    place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n");
    place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first\n");
    assert!(matches!(place.snapshots.undo(&place.newest()), Err(StoreError::NothingToUndo)));
    // Undo of undo: back to the end, then to the beginning again.
    let undos: Vec<SnapshotHeader> =
        place.snapshots.list().into_iter().filter(|h| h.kind == ChangeKind::Undo).collect();
    place.snapshots.undo(&UndoChoice::To(undos[0].id.clone())).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "y\n");
    place.snapshots.undo(&UndoChoice::To(first)).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first\n");
}

#[test]
fn what_a_change_made_is_removed_and_what_came_later_stays() {
    let place = Place::new();
    place.write("d/old", "1");
    let (dir, moved) = (place.dir.join("d"), place.dir.join("e/moved"));
    place
        .change(&[(&dir, SaveExtent::Below), (&moved, SaveExtent::Below)], || {
            std::fs::create_dir(place.dir.join("e")).unwrap();
            std::fs::rename(&dir, &moved).unwrap();
            place.write("e/moved/made/deep", "2");
        })
        .unwrap();
    place.write("e/later", "mine");
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(std::fs::read_to_string(place.dir.join("d/old")).unwrap(), "1");
    assert!(!moved.exists());
    assert_eq!(std::fs::read_to_string(place.dir.join("e/later")).unwrap(), "mine");
    assert_eq!(undone.problems.len(), 1, "{undone:?}");
}

#[test]
fn a_change_that_did_nothing_leaves_no_snapshot() {
    let place = Place::new();
    let (file, gone) = (place.write("f", "same"), place.dir.join("gone/x"));
    assert_eq!(place.change(&[(&file, SaveExtent::Itself), (&gone, SaveExtent::Below)], || {}), None);
    assert!(place.snapshots.list().is_empty());
    // The same size at the same moment is still a change.
    let id = place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "emas").unwrap());
    assert!(id.is_some());
}

#[test]
fn planted_links_are_not_followed() {
    // SC-C18
    let place = Place::new();
    let file = place.write("d/f", "secret plan");
    place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "new").unwrap()).unwrap();
    let outside = place.write("../outside/f", "outside");
    std::fs::remove_dir_all(place.dir.join("d")).unwrap();
    symlink("../outside", place.dir.join("d")).unwrap();
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(undone.problems.len(), 1, "{undone:?}");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "outside");
    // A link at the path itself is replaced, not written through.
    let place = Place::new();
    let file = place.write("f", "old");
    place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "new").unwrap()).unwrap();
    let outside = place.write("../outside", "outside");
    std::fs::remove_file(&file).unwrap();
    symlink(&outside, &file).unwrap();
    place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "outside");
}

#[test]
fn files_with_another_name_are_left_alone_and_told() {
    // SC-C17
    let place = Place::new();
    let outside = place.write("../outside", "old");
    let inside = place.dir.join("f");
    std::fs::hard_link(&outside, &inside).unwrap();
    place.change(&[(&inside, SaveExtent::Itself)], || std::fs::write(&inside, "new").unwrap()).unwrap();
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    assert!(undone.problems[0].why.contains("hard link"), "{undone:?}");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "new");
}

#[test]
fn an_interrupted_restore_is_finished_by_the_next() {
    let place = Place::new();
    let files: Vec<PathBuf> = (0..20).map(|n| place.write(&format!("d/{n}"), &format!("old {n}"))).collect();
    let dir = place.dir.join("d");
    place.change(&[(&dir, SaveExtent::Below)], || std::fs::remove_dir_all(&dir).unwrap()).unwrap();
    // As a killed restore leaves it: the manifest says "applying", a part is done, a temporary file lies about.
    place.snapshots.undo(&place.newest()).unwrap();
    let id = place.snapshots.list().pop().unwrap().id;
    let mut manifest = place.snapshots.load(&id).unwrap();
    manifest.header.stage = SnapshotStage::Applying;
    manifest.write(&place.snapshots.manifest_path(&id)).unwrap();
    for file in &files[5..] {
        std::fs::remove_file(file).unwrap();
    }
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(undone.finished, [id]);
    for (n, file) in files.iter().enumerate() {
        assert_eq!(std::fs::read_to_string(file).unwrap(), format!("old {n}"));
    }
    assert_eq!(place.snapshots.list().iter().filter(|h| h.stage == SnapshotStage::Applying).count(), 0);
}

#[test]
fn a_change_somebody_took_back_by_hand_is_passed_over() {
    let place = Place::new();
    let (one, two) = (place.write("one", "1"), place.write("two", "2"));
    place.change(&[(&one, SaveExtent::Itself)], || std::fs::write(&one, "x").unwrap()).unwrap();
    let aside = place.dir.join("../aside");
    place.change(&[(&two, SaveExtent::Itself)], || std::fs::rename(&two, &aside).unwrap()).unwrap();
    std::fs::rename(&aside, &two).unwrap();
    place.snapshots.undo(&place.newest()).unwrap();
    place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(std::fs::read_to_string(&one).unwrap(), "1");
    assert!(matches!(place.snapshots.undo(&place.newest()), Err(StoreError::NothingToUndo)));
}

#[test]
fn limits_stop_saving_and_say_so() {
    let place = Place::new();
    (0..10).for_each(|n| drop(place.write(&format!("d/{n}"), "0123456789")));
    let keep = |limits: SnapshotLimits| {
        let mut draft = place.snapshots.begin(place.about("rm"), limits);
        draft.save(&place.dir.join("d"), SaveExtent::Below);
        draft.commit().unwrap().unwrap().header().clone()
    };
    let few = keep(SnapshotLimits { files: 5, ..SnapshotLimits::default() });
    assert!(few.cut.as_ref().unwrap().contains("5 files") && !few.is_complete(), "{few:?}");
    let small = keep(SnapshotLimits { bytes: 35, ..SnapshotLimits::default() });
    assert_eq!((small.bytes, small.cut.is_some()), (30, true));
    let slow = keep(SnapshotLimits { time: Duration::ZERO, always: 3, ..SnapshotLimits::default() });
    assert!(slow.cut.as_ref().unwrap().contains("longer"), "{slow:?}");
    let busy = keep(SnapshotLimits { time: Duration::ZERO, ..SnapshotLimits::default() });
    assert!(busy.is_complete(), "what is small is saved whole, however slow the machine is: {busy:?}");
    assert!(keep(SnapshotLimits::default()).is_complete());
}

#[test]
fn old_snapshots_and_unused_contents_are_forgotten() {
    let place = Place::new();
    let file = place.write("f", "old");
    place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "new").unwrap()).unwrap();
    let blobs = || {
        let dirs = std::fs::read_dir(place.snapshots.blobs().root()).unwrap().flatten();
        dirs.flat_map(|dir| std::fs::read_dir(dir.path()).unwrap().flatten()).map(|b| b.path()).collect::<Vec<_>>()
    };
    // Young ones stay, whatever the limits say.
    place.snapshots.prune_daily(Duration::ZERO, 0);
    assert_eq!((place.snapshots.list().len(), blobs().len()), (1, 1));
    let mut manifest = place.snapshots.load(&place.snapshots.list()[0].id).unwrap();
    manifest.header.at -= 3 * 24 * 60 * 60 * 1000;
    manifest.write(&place.snapshots.manifest_path(&manifest.header.id)).unwrap();
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for path in blobs().iter().chain([&place.snapshots.root.join("pruned")]) {
        std::fs::File::open(path).unwrap().set_times(std::fs::FileTimes::new().set_modified(long_ago)).unwrap();
    }
    place.snapshots.prune_daily(Duration::from_hours(24), 1 << 30);
    assert_eq!((place.snapshots.list().len(), blobs().len()), (0, 0));
}

#[test]
fn names_that_are_not_text_survive() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let file = place.dir.join(std::ffi::OsStr::from_bytes(b"\xff 100%\n"));
    std::fs::write(&file, "x").unwrap();
    place.change(&[(&file, SaveExtent::Itself)], || std::fs::remove_file(&file).unwrap()).unwrap();
    place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x");
}
