//! Work that is newer than the change to be taken back, and what a restore brings back around it.

use super::tests::Place;
use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

impl Place {
    /// A change to one path, which is saved first.
    fn change_one(&self, path: &Path, change: impl FnOnce()) -> String {
        self.change(&[(path, SaveExtent::Itself)], change).unwrap()
    }

    /// The paths that an undo would not replace without being told to.
    fn refused(&self) -> Vec<PathBuf> {
        let previewed = self.snapshots.preview(&self.newest()).unwrap().newer;
        match self.snapshots.undo_unless_newer(&self.newest()) {
            Err(StoreError::NewerWork { paths }) => {
                assert_eq!(paths, previewed);
                paths
            }
            Ok(undone) => {
                assert_eq!((&undone.newer, &previewed), (&Vec::new(), &Vec::new()));
                Vec::new()
            }
            Err(other) => panic!("{other}"),
        }
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn touch(path: &Path) {
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    std::fs::File::open(path).unwrap().set_times(std::fs::FileTimes::new().set_modified(long_ago)).unwrap();
}

#[test]
fn what_another_program_wrote_since_is_not_replaced_unasked() {
    let place = Place::new();
    let file = place.write("f", "old");
    place.change_one(&file, || std::fs::write(&file, "new").unwrap());
    std::fs::write(&file, "own").unwrap();
    assert_eq!(place.refused(), std::slice::from_ref(&file));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "own");
    // Asked to, it does.
    assert_eq!(place.snapshots.undo(&place.newest()).unwrap().newer, std::slice::from_ref(&file));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
}

#[test]
fn the_content_decides_and_not_the_time() {
    let place = Place::new();
    let file = place.write("f", "old");
    place.change_one(&file, || std::fs::write(&file, "new").unwrap());
    touch(&file);
    assert!(place.refused().is_empty());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
}

#[test]
fn a_mode_that_was_set_since_is_newer_work() {
    let place = Place::new();
    let file = place.write("f", "old");
    set_mode(&file, 0o644);
    place.change_one(&file, || std::fs::write(&file, "new").unwrap());
    set_mode(&file, 0o600);
    assert_eq!(place.refused(), [file]);
}

#[test]
fn a_file_that_is_there_again_is_newer_work() {
    let place = Place::new();
    let file = place.write("f", "old");
    place.change_one(&file, || std::fs::remove_file(&file).unwrap());
    std::fs::write(&file, "own").unwrap();
    assert_eq!(place.refused(), std::slice::from_ref(&file));
    // Removed again, nothing is newer.
    std::fs::remove_file(&file).unwrap();
    assert!(place.refused().is_empty());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
}

#[test]
fn links_are_compared_by_where_they_lead() {
    let place = Place::new();
    let link = place.dir.join("l");
    symlink("one", &link).unwrap();
    let lead = |to: &str| {
        std::fs::remove_file(&link).unwrap();
        symlink(to, &link).unwrap();
    };
    place.change_one(&link, || lead("two"));
    lead("three");
    assert_eq!(place.refused(), std::slice::from_ref(&link));
    lead("two");
    assert!(place.refused().is_empty());
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("one"));
}

#[test]
fn a_link_that_a_change_left_alone_is_not_in_its_snapshot() {
    let place = Place::new();
    let (link, file) = (place.dir.join("l"), place.write("f", "old"));
    symlink("one", &link).unwrap();
    let both = [(link.as_path(), SaveExtent::Itself), (file.as_path(), SaveExtent::Itself)];
    let id = place.change(&both, || std::fs::write(&file, "new").unwrap()).unwrap();
    let saved: Vec<PathBuf> = place.snapshots.load(&id).unwrap().entries.into_iter().map(|entry| entry.path).collect();
    assert_eq!(saved, [file]);
}

#[test]
fn folders_on_the_way_are_made_again() {
    let place = Place::new();
    let file = place.write("a/b/c/f", "old");
    place.change_one(&file, || std::fs::remove_dir_all(place.dir.join("a")).unwrap());
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!((undone.restored, undone.problems), (vec![file.clone()], vec![]));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
}

#[test]
fn a_folder_that_is_there_again_keeps_what_is_in_it() {
    let place = Place::new();
    let file = place.write("d/f", "old");
    let folder = place.dir.join("d");
    place.change(&[(&folder, SaveExtent::Below)], || std::fs::remove_dir_all(&folder).unwrap()).unwrap();
    let own = place.write("d/own", "mine");
    assert!(place.refused().is_empty());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "mine");
}

#[test]
fn a_folder_with_other_files_in_it_is_left_alone_and_named() {
    let place = Place::new();
    let folder = place.dir.join("made");
    place.change(&[(&folder, SaveExtent::Below)], || std::fs::create_dir(&folder).unwrap()).unwrap();
    place.write("made/own", "mine");
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    let why: Vec<&str> = undone.problems.iter().map(|problem| problem.why.as_str()).collect();
    assert_eq!(why, ["it now holds other files; it was left alone"]);
    assert!(folder.join("own").exists());
}

#[test]
fn an_undo_says_what_it_took_back() {
    let place = Place::new();
    let file = place.write("f", "1");
    let first = place.change_one(&file, || std::fs::write(&file, "2").unwrap());
    place.change_one(&file, || std::fs::write(&file, "3").unwrap());
    place.snapshots.undo(&place.newest()).unwrap();
    let newest = || place.snapshots.list().into_iter().max_by_key(|header| header.at).unwrap().what;
    assert_eq!(newest(), "undo of: change");
    place.change_one(&file, || std::fs::write(&file, "4").unwrap());
    place.snapshots.undo(&UndoChoice::To(first)).unwrap();
    assert!(newest().starts_with("undo of ") && newest().ends_with(" changes since: change"), "{}", newest());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "1");
}

#[test]
fn a_failed_change_keeps_what_it_did_and_no_complaint() {
    let place = Place::new();
    (0..3).for_each(|n| drop(place.write(&format!("d/{n}"), "0123456789")));
    let begin = || {
        let mut draft =
            place.snapshots.begin(place.about("rm"), SnapshotLimits { files: 2, ..SnapshotLimits::default() });
        draft.save(&place.dir.join("d"), SaveExtent::Below);
        draft.commit().unwrap().unwrap()
    };
    let pending = begin();
    assert!(pending.header().cut.is_some());
    assert_eq!(pending.abandon().unwrap(), None, "nothing was changed");
    assert!(place.snapshots.list().is_empty());
    let pending = begin();
    std::fs::remove_dir_all(place.dir.join("d")).unwrap();
    let kept = pending.abandon().unwrap().unwrap();
    assert!(kept.is_complete() && kept.files > 0, "{kept:?}");
}

#[test]
fn moments_of_snapshots_are_never_the_same() {
    let moments: Vec<u64> = (0..1_000).map(|_| Snapshots::next_moment()).collect();
    assert!(moments.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn what_was_there_and_not_saved_is_not_removed_by_an_undo() {
    let place = Place::new();
    (0..4).for_each(|n| drop(place.write(&format!("d/{n}"), "0123456789")));
    let mut draft = place.snapshots.begin(place.about("rm"), SnapshotLimits { files: 3, ..SnapshotLimits::default() });
    draft.save(&place.dir.join("d"), SaveExtent::Below);
    let pending = draft.commit().unwrap().unwrap();
    std::fs::remove_file(place.dir.join("d/0")).unwrap();
    assert!(!pending.complete().unwrap().unwrap().is_complete());
    place.snapshots.undo(&place.newest()).unwrap();
    assert!((0..4).all(|n| place.dir.join(format!("d/{n}")).exists()));
}

#[test]
fn a_socket_that_was_there_is_no_product_of_the_change() {
    let place = Place::new();
    let folder = place.dir.join("d");
    place.write("d/old", "1");
    let _listener = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
    place.change(&[(&folder, SaveExtent::Below)], || drop(place.write("d/new", "2"))).unwrap();
    let undone = place.snapshots.undo(&place.newest()).unwrap();
    assert_eq!((undone.removed, undone.problems), (vec![folder.join("new")], vec![]));
    assert!(folder.join("socket").exists() && folder.join("old").exists());
}

#[test]
fn a_file_that_is_there_again_in_a_new_folder_is_newer_work() {
    let place = Place::new();
    let file = place.write("d/f", "old");
    place.change_one(&file, || std::fs::remove_dir_all(place.dir.join("d")).unwrap());
    place.write("d/f", "own");
    assert_eq!(place.refused(), [file]);
}

#[test]
fn a_way_that_cannot_be_followed_is_not_taken_for_an_absent_file() {
    let place = Place::new();
    let file = place.write("d/f", "old");
    let folder = place.dir.join("d");
    place.change_one(&file, || {
        std::fs::remove_dir_all(&folder).unwrap();
        symlink("elsewhere", &folder).unwrap();
    });
    // What is behind a link is not known, so nothing there is called newer.
    std::fs::remove_file(&folder).unwrap();
    place.write("d/f", "own");
    assert!(place.refused().is_empty());
}

/// One staged file: the time in it, its object, its name.
type StagedFile<'a> = (u32, u8, &'a str);

/// The index of a repository as git writes it, with hashes of `hash` bytes.
fn index(version: u32, hash: usize, files: &[StagedFile<'_>]) -> Vec<u8> {
    let mut bytes = [b"DIRC".as_slice(), &version.to_be_bytes(), &(files.len() as u32).to_be_bytes()].concat();
    for (time, object, name) in files {
        let start = bytes.len();
        for number in [*time, 0, *time, 0, 1, 2, 0o100_644, 3, 4, 5] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(std::iter::repeat_n(*object, hash));
        bytes.extend((name.len() as u16).to_be_bytes());
        // Version 4 shares the beginning of a name with the one before: nothing of it here.
        bytes.extend((version == 4).then_some(0));
        bytes.extend(name.as_bytes());
        let padding = if version == 4 { 1 } else { 8 - (bytes.len() - start) % 8 };
        bytes.extend(std::iter::repeat_n(0, padding));
    }
    // An extension, and the hash of the file.
    bytes.extend([b"TREE".as_slice(), &3_u32.to_be_bytes(), b"abc"].concat());
    bytes.extend(std::iter::repeat_n(7, hash));
    bytes
}

#[test]
fn an_index_is_compared_by_what_is_staged() {
    for (version, hash) in [(2, 20), (3, 20), (4, 20), (2, 32), (4, 32)] {
        let changed_later = |later: &[StagedFile<'_>]| {
            let place = Place::new();
            place.write("r/HEAD", "ref: refs/heads/main");
            let path = place.write("r/index", "");
            std::fs::write(&path, index(version, hash, &[(1, 1, "a")])).unwrap();
            let staged = index(version, hash, &[(1, 1, "a"), (1, 2, "src/longer.rs")]);
            place.change_one(&path, || std::fs::write(&path, staged).unwrap());
            std::fs::write(&path, index(version, hash, later)).unwrap();
            place.refused() == [path]
        };
        let what = format!("version {version}, {hash} bytes");
        assert!(!changed_later(&[(9, 1, "a"), (8, 2, "src/longer.rs")]), "{what}: only times are refreshed");
        assert!(changed_later(&[(1, 1, "a"), (1, 3, "src/longer.rs")]), "{what}: other content");
        assert!(changed_later(&[(1, 1, "a"), (1, 2, "src/longer.rx")]), "{what}: another name");
        assert!(changed_later(&[(1, 1, "a")]), "{what}: unstaged");
        assert!(changed_later(&[]), "{what}: empty");
    }
}

#[test]
fn what_only_looks_like_an_index_is_compared_by_its_content() {
    let refreshed = |folder_has_head: bool, name: &str, first: &[u8], second: &[u8]| {
        let place = Place::new();
        if folder_has_head {
            place.write("r/HEAD", "ref: refs/heads/main");
        }
        let path = place.write(&format!("r/{name}"), "old");
        place.change_one(&path, || std::fs::write(&path, first).unwrap());
        std::fs::write(&path, second).unwrap();
        place.refused() == [path]
    };
    let (first, second) = (index(2, 20, &[(1, 1, "a")]), index(2, 20, &[(2, 1, "a")]));
    assert!(!refreshed(true, "index", &first, &second));
    assert!(refreshed(false, "index", &first, &second), "no repository");
    assert!(refreshed(true, "index.lock", &first, &second), "another file");
    let other = |bytes: &[u8]| [b"CRID", &bytes[4..]].concat();
    assert!(refreshed(true, "index", &other(&first), &other(&second)), "another format");
}
