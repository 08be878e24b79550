//! What is saved and what is not, the exact limits, and which changes one undo takes back.

use super::tests::Place;
use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

impl Place {
    /// A snapshot of `paths` before nothing happens.
    fn saved(&self, limits: SnapshotLimits, paths: &[(&Path, SaveExtent)]) -> Option<SnapshotManifest> {
        let mut draft = self.snapshots.begin(self.about("change"), limits);
        for (path, reach) in paths {
            draft.save(path, *reach);
        }
        let id = draft.commit().unwrap()?.header().id.clone();
        Some(self.snapshots.load(&id).unwrap())
    }

    /// The names below the folder of this place that a snapshot holds, `.` for the folder itself.
    fn names(&self, manifest: &SnapshotManifest) -> Vec<String> {
        let name = |path: &Path| match path.strip_prefix(&self.dir) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => rest.display().to_string(),
            Err(_) => path.display().to_string(),
        };
        manifest.entries.iter().map(|entry| name(&entry.path)).collect()
    }

    fn text(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.join(name)).ok()
    }

    fn only_skip(&self, path: &Path) -> String {
        let manifest = self.saved(SnapshotLimits::default(), &[(path, SaveExtent::Below)]).unwrap();
        assert_eq!(manifest.header.skipped_count, 1, "{manifest:?}");
        manifest.header.skipped[0].why.clone()
    }
}

#[test]
fn devices_and_the_trees_of_the_kernel_are_not_saved() {
    let place = Place::new();
    for path in ["/dev/null", "/proc/self/status", "/sys/kernel", "/"] {
        assert!(place.saved(SnapshotLimits::default(), &[(Path::new(path), SaveExtent::Itself)]).is_none(), "{path}");
    }
    assert!(!place.snapshots.root.exists());
}

#[test]
fn a_folder_is_saved_alone_or_with_all_that_is_in_it() {
    let place = Place::new();
    place.write("d/a", "1");
    place.write("d/e/b", "2");
    let folder = place.dir.join("d");
    let names = |reach| place.names(&place.saved(SnapshotLimits::default(), &[(&folder, reach)]).unwrap());
    assert_eq!(names(SaveExtent::Itself), ["d"]);
    assert_eq!(names(SaveExtent::Below), ["d", "d/a", "d/e", "d/e/b"]);
}

#[test]
fn what_is_named_twice_is_saved_once_as_it_was_first() {
    let place = Place::new();
    let file = place.write("d/f", "first");
    let folder = place.dir.join("d");
    let mut draft = place.snapshots.begin(place.about("change"), SnapshotLimits::default());
    draft.save(&file, SaveExtent::Itself);
    draft.save(&folder, SaveExtent::Itself);
    std::fs::write(&file, "second").unwrap();
    draft.save(&file, SaveExtent::Itself);
    draft.save(&folder, SaveExtent::Below);
    draft.save(&folder, SaveExtent::Below);
    let kept = draft.commit().unwrap().unwrap();
    assert_eq!((kept.header().bytes, kept.header().files), (5, 2));
    std::fs::write(&file, "third").unwrap();
    place.write("d/made", "new");
    kept.complete().unwrap().unwrap();
    place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!((place.text("d/f").as_deref(), place.text("d/made")), (Some("first"), None));
}

#[test]
fn the_store_does_not_save_itself() {
    let place = Place::new();
    let file = place.write("f", "x");
    place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "y").unwrap()).unwrap();
    let above = place.snapshots.root.parent().unwrap();
    let manifest = place.saved(SnapshotLimits::default(), &[(above, SaveExtent::Below)]).unwrap();
    let saved: Vec<&Path> = manifest.entries.iter().map(|entry| entry.path.as_path()).collect();
    assert_eq!(saved, [above]);
}

#[test]
fn a_path_behind_a_broken_link_is_named_as_not_saved() {
    let place = Place::new();
    let link = place.dir.join("link");
    symlink("nowhere", &link).unwrap();
    assert!(place.only_skip(&link.join("f")).contains("broken link"));
    // The link itself is a link like any other, and what is nowhere can be made.
    let manifest = place.saved(SnapshotLimits::default(), &[(&link, SaveExtent::Itself)]).unwrap();
    assert!(matches!(manifest.entries[0].state, PathState::Link { .. }));
    let deep = place.dir.join("new/deep/f");
    let manifest = place.saved(SnapshotLimits::default(), &[(&deep, SaveExtent::Itself)]).unwrap();
    assert_eq!(place.names(&manifest), ["new", "new/deep", "new/deep/f"]);
    assert!(manifest.entries.iter().all(|entry| entry.state == PathState::Absent));
}

#[test]
fn a_link_on_the_way_is_followed_when_saving() {
    let place = Place::new();
    place.write("real/f", "x");
    symlink("real", place.dir.join("link")).unwrap();
    let through = place.dir.join("link/f");
    let manifest = place.saved(SnapshotLimits::default(), &[(&through, SaveExtent::Itself)]).unwrap();
    assert_eq!(place.names(&manifest), ["real/f"]);
}

#[test]
fn a_socket_is_named_as_not_saved() {
    let place = Place::new();
    let path = place.dir.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(place.only_skip(&path).contains("device, pipe or socket"));
}

#[test]
fn a_limit_that_is_just_reached_cuts_nothing() {
    let place = Place::new();
    (0..4).for_each(|n| drop(place.write(&format!("d/{n}"), "0123456789")));
    let folder = place.dir.join("d");
    let saved = |limits| place.saved(limits, &[(&folder, SaveExtent::Below)]).unwrap().header;
    // Four files and their folder.
    let all = saved(SnapshotLimits { files: 5, bytes: 40, ..SnapshotLimits::default() });
    assert!(all.is_complete(), "{all:?}");
    assert_eq!((all.files, all.bytes), (5, 40));
    let fewer = saved(SnapshotLimits { files: 4, ..SnapshotLimits::default() });
    assert_eq!((fewer.files, fewer.is_complete()), (4, false));
    let smaller = saved(SnapshotLimits { bytes: 39, ..SnapshotLimits::default() });
    assert_eq!((smaller.bytes, smaller.is_complete()), (30, false));
    let slow = saved(SnapshotLimits { time: Duration::ZERO, always: 3, ..SnapshotLimits::default() });
    assert_eq!((slow.files, slow.is_complete()), (3, false));
    assert_eq!(slow.cut.as_deref(), Some("saving took longer than 0 s"));
    let quick = saved(SnapshotLimits { always: 0, ..SnapshotLimits::default() });
    assert!(quick.is_complete(), "within the time everything is saved: {quick:?}");
}

#[test]
fn many_problems_are_counted_and_some_are_named() {
    let place = Place::new();
    let listeners: Vec<_> =
        (0..25).map(|n| std::os::unix::net::UnixListener::bind(place.dir.join(n.to_string())).unwrap()).collect();
    let manifest = place.saved(SnapshotLimits::default(), &[(&place.dir, SaveExtent::Below)]).unwrap();
    assert_eq!((manifest.header.skipped_count, manifest.header.skipped.len()), (25, 20));
    assert_eq!(listeners.len(), 25);
}

#[test]
fn what_a_change_made_is_listed_up_to_twice_the_limit() {
    let place = Place::new();
    let folder = place.dir.join("d");
    std::fs::create_dir(&folder).unwrap();
    let limits = SnapshotLimits { files: 3, ..SnapshotLimits::default() };
    let made = |count: usize| {
        let mut draft = place.snapshots.begin(place.about("make"), limits);
        draft.save(&folder, SaveExtent::Below);
        let kept = draft.commit().unwrap().unwrap();
        // Each level is looked at only while there is room.
        let mut at = folder.clone();
        for _ in 0..count {
            at.push("x");
            std::fs::create_dir(&at).unwrap();
        }
        let header = kept.complete().unwrap().unwrap();
        std::fs::remove_dir_all(folder.join("x")).unwrap();
        header.files
    };
    assert_eq!(made(2), 3);
    assert_eq!(made(5), 6);
    assert_eq!(made(9), 6);
}

/// Each way to change one path, and whether the snapshot of it stays.
#[test]
fn any_change_of_a_path_is_one_and_looking_is_none() {
    type Change = fn(&Path);
    let on_file: [(&str, Change, bool); 6] = [
        ("read", |path| drop(std::fs::read(path).unwrap()), false),
        ("content", |path| std::fs::write(path, "other").unwrap(), true),
        ("same size", |path| std::fs::write(path, "emas").unwrap(), true),
        ("mode", |path| std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap(), true),
        ("removed", |path| std::fs::remove_file(path).unwrap(), true),
        (
            "folder instead",
            |path| {
                std::fs::remove_file(path).unwrap();
                std::fs::create_dir(path).unwrap();
            },
            true,
        ),
    ];
    for (name, change, counts) in on_file {
        let place = Place::new();
        let file = place.write("f", "same");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        let id = place.change(&[(&file, SaveExtent::Itself)], || change(&file));
        assert_eq!(id.is_some(), counts, "{name}");
        if counts {
            place.snapshots.undo(&place.newest()).unwrap();
            assert_eq!(place.text("f").as_deref(), Some("same"), "{name}");
        }
    }
    let on_folder: [(&str, Change, bool); 4] = [
        ("listed", |path| assert_eq!(std::fs::read_dir(path).unwrap().count(), 0), false),
        ("mode", |path| std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap(), true),
        ("a file in it", |path| std::fs::write(path.join("new"), "x").unwrap(), true),
        ("removed", |path| std::fs::remove_dir(path).unwrap(), true),
    ];
    for (name, change, counts) in on_folder {
        let place = Place::new();
        let folder = place.dir.join("d");
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
        let id = place.change(&[(&folder, SaveExtent::Below)], || change(&folder));
        assert_eq!(id.is_some(), counts, "{name}");
        if counts {
            place.snapshots.undo(&place.newest()).unwrap();
            let names = std::fs::read_dir(&folder).unwrap().count();
            let mode = std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777;
            assert_eq!((names, mode), (0, 0o755), "{name}");
        }
    }
    let on_link: [(&str, Change, bool); 2] = [
        ("read", |path| drop(std::fs::read_link(path).unwrap()), false),
        (
            "led elsewhere",
            |path| {
                std::fs::remove_file(path).unwrap();
                symlink("two", path).unwrap();
            },
            true,
        ),
    ];
    for (name, change, counts) in on_link {
        let place = Place::new();
        let link = place.dir.join("l");
        symlink("one", &link).unwrap();
        assert_eq!(place.change(&[(&link, SaveExtent::Itself)], || change(&link)).is_some(), counts, "{name}");
    }
}

#[test]
fn files_that_were_left_alone_are_not_in_the_snapshot() {
    let place = Place::new();
    let (old, young) = (place.write("old", "same"), place.write("young", "same"));
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    std::fs::File::open(&old).unwrap().set_times(std::fs::FileTimes::new().set_modified(long_ago)).unwrap();
    let both = [(old.as_path(), SaveExtent::Itself), (young.as_path(), SaveExtent::Itself)];
    assert_eq!(place.change(&both, || {}), None, "nothing was changed");
}

#[test]
fn only_ids_name_a_snapshot() {
    let place = Place::new();
    let file = place.write("f", "old");
    let id = place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "new").unwrap()).unwrap();
    assert_eq!(place.snapshots.load(&id).unwrap().header.id, id);
    let manifest = place.snapshots.manifest_path(&id);
    for other in ["../manifests/copy", "COPY", "copy-1"] {
        std::fs::copy(&manifest, place.snapshots.manifest_path(other)).unwrap();
        assert!(matches!(place.snapshots.load(other), Err(StoreError::NoSnapshot { .. })), "{other}");
        std::fs::remove_file(place.snapshots.manifest_path(other)).unwrap();
    }
    assert!(matches!(place.snapshots.load("gone"), Err(StoreError::NoSnapshot { .. })));
    // A file that is no manifest, and one of a later version, are not listed.
    std::fs::copy(&manifest, manifest.with_extension("copy")).unwrap();
    let later = std::fs::read_to_string(&manifest).unwrap().replacen(r#""v":1"#, r#""v":2"#, 1);
    std::fs::write(place.snapshots.manifest_path("later"), later).unwrap();
    assert_eq!(place.snapshots.list().len(), 1);
}

#[test]
fn the_beginning_of_an_id_will_do_when_it_is_the_only_one() {
    let place = Place::new();
    let file = place.write("f", "1");
    let first = place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "2").unwrap()).unwrap();
    let second = place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "3").unwrap()).unwrap();
    let same = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    let preview = |id: &str| place.snapshots.preview(&UndoChoice::To(id.to_owned()));
    assert_eq!(preview(&first[..=same]).unwrap().changes.len(), 2);
    assert_eq!(preview(&second[..=same]).unwrap().changes.len(), 1);
    assert!(matches!(preview(&first[..same]), Err(StoreError::ManySnapshots { count: 2, .. })));
    for nothing in ["", "none"] {
        assert!(matches!(preview(nothing), Err(StoreError::NoSnapshot { .. })), "{nothing}");
    }
}

/// A change by another session, below another folder.
fn change_by(place: &Place, session: &str, cwd: &Path, file: &Path, text: &str) -> String {
    let about = SnapshotCause { session: session.into(), cwd: cwd.to_path_buf(), ..place.about("change") };
    let mut draft = place.snapshots.begin(about, SnapshotLimits::default());
    draft.save(file, SaveExtent::Itself);
    let kept = draft.commit().unwrap().unwrap();
    std::fs::write(file, text).unwrap();
    kept.complete().unwrap().unwrap().id
}

#[test]
fn an_undo_takes_the_newest_change_of_its_folder_and_session() {
    let place = Place::new();
    let (left, right) = (place.write("left/f", "old"), place.write("right/f", "old"));
    let (in_left, in_right) = (place.dir.join("left"), place.dir.join("right"));
    let first = change_by(&place, "one", &in_left, &left, "1");
    let second = change_by(&place, "two", &in_left, &left, "2");
    let third = change_by(&place, "one", &in_right, &right, "3");
    let chosen = |folder: Option<&Path>, session: Option<&str>| {
        let choice = UndoChoice::Newest { folder: folder.map(Path::to_path_buf), session: session.map(str::to_owned) };
        match place.snapshots.preview(&choice) {
            Ok(found) => found.changes.into_iter().map(|change| change.id).collect::<Vec<_>>().join(" "),
            Err(StoreError::NothingToUndo) => String::new(),
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(chosen(None, None), third);
    assert_eq!(chosen(Some(&in_left), None), second);
    assert_eq!(chosen(Some(&in_left), Some("one")), first);
    assert_eq!(chosen(Some(&in_right), Some("two")), "");
    // A folder above or below belongs to it too.
    assert_eq!(chosen(Some(&place.dir), Some("two")), second);
    assert_eq!(chosen(Some(&in_right.join("deep")), None), third);
    // Back to a change means everything its session did since, and nothing of others.
    let back = place.snapshots.preview(&UndoChoice::To(first.clone())).unwrap();
    assert_eq!(back.changes.into_iter().map(|change| change.id).collect::<Vec<_>>(), [first, third]);
}

#[test]
fn several_changes_are_taken_back_to_the_first_state() {
    let place = Place::new();
    let path = place.write("p", "a file");
    let first = place
        .change(&[(&path, SaveExtent::Below)], || {
            std::fs::remove_file(&path).unwrap();
            place.write("p/x", "in a folder");
        })
        .unwrap();
    place.change(&[(&path, SaveExtent::Below)], || std::fs::remove_dir_all(&path).unwrap()).unwrap();
    let undone = place.snapshots.undo(&UndoChoice::To(first)).unwrap();
    assert_eq!((undone.problems, undone.restored), (vec![], vec![path.clone()]));
    assert_eq!(place.text("p").as_deref(), Some("a file"));
}

#[test]
fn a_preview_changes_nothing_and_names_what_would_change() {
    let place = Place::new();
    let (file, same, made) = (place.write("f", "old"), place.write("same", "old"), place.dir.join("made"));
    let paths = [&file, &same, &made].map(|path| (path.as_path(), SaveExtent::Itself));
    place
        .change(&paths, || {
            std::fs::write(&file, "new").unwrap();
            std::fs::write(&made, "new").unwrap();
        })
        .unwrap();
    let seen = place.snapshots.preview(&place.newest()).unwrap();
    assert_eq!((seen.restored, seen.removed, seen.id), (vec![file.clone()], vec![made.clone()], None));
    assert_eq!((place.text("f").as_deref(), place.text("made").as_deref()), (Some("new"), Some("new")));
    assert_eq!(place.snapshots.list().len(), 1);
}

#[test]
fn a_folder_in_the_place_of_a_file_gives_way_only_when_it_is_empty() {
    let place = Place::new();
    let (file, link) = (place.write("f", "old"), place.dir.join("l"));
    symlink("one", &link).unwrap();
    let both = [(file.as_path(), SaveExtent::Itself), (link.as_path(), SaveExtent::Itself)];
    place
        .change(&both, || {
            std::fs::remove_file(&file).unwrap();
            std::fs::remove_file(&link).unwrap();
        })
        .unwrap();
    std::fs::create_dir(&file).unwrap();
    std::fs::create_dir(&link).unwrap();
    place.write("l/own", "mine");
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(place.text("f").as_deref(), Some("old"));
    let problems: Vec<(PathBuf, &str)> =
        undone.problems.iter().map(|problem| (problem.path.clone(), problem.why.as_str())).collect();
    assert_eq!(problems, [(link, "it now holds other files; it was left alone")]);
    assert_eq!(place.text("l/own").as_deref(), Some("mine"));
    // No temporary file is left.
    assert_eq!(std::fs::read_dir(&place.dir).unwrap().count(), 2);
}

#[test]
fn a_damaged_copy_is_not_restored() {
    let place = Place::new();
    let file = place.write("f", "old");
    let id = place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "new").unwrap()).unwrap();
    let PathState::File { blob, .. } = place.snapshots.load(&id).unwrap().entries.remove(0).state else {
        panic!("a file was saved")
    };
    std::fs::write(place.snapshots.blobs().root().join(&blob[..2]).join(&blob[2..]), "bad").unwrap();
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(undone.problems[0].why, "the saved copy is damaged");
    assert_eq!(place.text("f").as_deref(), Some("new"));
    assert_eq!(std::fs::read_dir(&place.dir).unwrap().count(), 1);
}

#[test]
fn a_link_that_gives_way_to_a_folder_or_file_is_not_followed() {
    let place = Place::new();
    let folder = place.dir.join("d");
    place.write("d/f", "old");
    let outside = place.write("../outside/f", "outside");
    place.change(&[(&folder, SaveExtent::Below)], || std::fs::remove_dir_all(&folder).unwrap()).unwrap();
    symlink("../outside", &folder).unwrap();
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(undone.problems, vec![]);
    assert!(std::fs::symlink_metadata(&folder).unwrap().is_dir());
    assert_eq!(place.text("d/f").as_deref(), Some("old"));
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "outside");
}

/// Makes a snapshot look this old; its contents too.
fn age(place: &Place, id: &str, hours: u64) {
    let mut manifest = place.snapshots.load(id).unwrap();
    manifest.header.at -= hours * 60 * 60 * 1000;
    manifest.write(&place.snapshots.manifest_path(id)).unwrap();
    let then = std::time::UNIX_EPOCH + Duration::from_millis(manifest.header.at);
    let folders = std::fs::read_dir(place.snapshots.blobs().root()).unwrap().flatten();
    let blobs = folders.flat_map(|dir| std::fs::read_dir(dir.path()).unwrap().flatten());
    for path in blobs.map(|blob| blob.path()).chain([place.snapshots.root.join("pruned")]) {
        if let Ok(file) = std::fs::File::open(path) {
            file.set_times(std::fs::FileTimes::new().set_modified(then)).unwrap();
        }
    }
}

#[test]
fn snapshots_are_forgotten_by_age_and_then_by_size_oldest_first() {
    let place = Place::new();
    let file = place.write("f", "0123456789");
    let ids: Vec<String> = ["1", "2", "3"]
        .iter()
        .map(|text| {
            std::fs::write(&file, format!("{text}123456789")).unwrap();
            place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "other").unwrap()).unwrap()
        })
        .collect();
    for (id, hours) in ids.iter().zip([100, 50, 2]) {
        age(&place, id, hours);
    }
    let left = || place.snapshots.list().into_iter().map(|header| header.id).collect::<Vec<_>>();
    let prune = |hours, bytes| {
        std::fs::remove_file(place.snapshots.root.join("pruned")).ok();
        place.snapshots.prune_daily(Duration::from_hours(hours), bytes);
        left()
    };
    assert_eq!(prune(200, 1 << 30), ids);
    assert_eq!(prune(75, 1 << 30), ids[1..]);
    // Room for one and a half.
    assert_eq!(prune(75, 15), ids[2..]);
    // Contents that a snapshot needs stay as long as it does.
    place.snapshots.undo(&UndoChoice::To(ids[2].clone())).unwrap();
    assert_eq!(place.text("f").as_deref(), Some("3123456789"));
    // Once a day is enough.
    std::fs::write(place.snapshots.root.join("pruned"), "").unwrap();
    place.snapshots.prune_daily(Duration::ZERO, 0);
    assert!(left().contains(&ids[2]));
}

#[test]
fn what_an_interrupted_save_left_is_removed_when_it_is_old() {
    let place = Place::new();
    let file = place.write("f", "old");
    place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "new").unwrap()).unwrap();
    let root = place.snapshots.blobs().root().to_path_buf();
    let (old, young) = (root.join("new-old"), root.join("new-young"));
    std::fs::write(&old, "").unwrap();
    std::fs::write(&young, "").unwrap();
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    std::fs::File::open(&old).unwrap().set_times(std::fs::FileTimes::new().set_modified(long_ago)).unwrap();
    place.snapshots.prune_daily(Duration::from_hours(24), 1 << 30);
    assert!(!old.exists() && young.exists());
    assert_eq!(place.snapshots.list().len(), 1);
}

#[test]
fn contents_that_are_saved_again_are_not_pruned_before_their_snapshot_is_written() {
    let place = Place::new();
    let file = place.write("f", "old");
    let first = place.change(&[(&file, SaveExtent::Itself)], || std::fs::write(&file, "new").unwrap()).unwrap();
    age(&place, &first, 48);
    std::fs::write(&file, "old").unwrap();
    let mut draft = place.snapshots.begin(place.about("change"), SnapshotLimits::default());
    draft.save(&file, SaveExtent::Itself);
    // Another session prunes meanwhile.
    place.snapshots.prune_daily(Duration::from_hours(24), 1 << 30);
    assert!(place.snapshots.list().is_empty());
    let kept = draft.commit().unwrap().unwrap();
    std::fs::write(&file, "newer").unwrap();
    kept.complete().unwrap().unwrap();
    place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!(place.text("f").as_deref(), Some("old"));
}
