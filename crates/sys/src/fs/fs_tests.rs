use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

fn mode_of(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o7777
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_file_gets_the_mode_and_an_old_one_keeps_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.json");
    atomic_write(&path, b"one", 0o600).unwrap();
    assert_eq!(mode_of(&path), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
    atomic_write_with(&path, b"two", 0o600, Durability::Disk).unwrap();
    assert_eq!(mode_of(&path), 0o751);
    assert_eq!(std::fs::read(&path).unwrap(), b"two");
    assert_eq!(names(dir.path()), ["a.json"]);
}

#[test]
fn links_stay_links_also_when_they_dangle() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("real")).unwrap();
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    std::os::unix::fs::symlink("real/target", &second).unwrap();
    std::os::unix::fs::symlink("second", &first).unwrap();
    for text in ["new", "old"] {
        atomic_write(&first, text.as_bytes(), 0o644).unwrap();
        assert!(std::fs::symlink_metadata(&first).unwrap().is_symlink());
        assert!(std::fs::symlink_metadata(&second).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(dir.path().join("real/target")).unwrap(), text);
    }
    std::os::unix::fs::symlink("loop", dir.path().join("loop")).unwrap();
    assert!(atomic_write(&dir.path().join("loop"), b"x", 0o644).is_err());
}

#[test]
fn hard_links_are_cut_and_special_files_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("a"), dir.path().join("b"));
    std::fs::write(&path, "shared").unwrap();
    std::fs::hard_link(&path, &other).unwrap();
    atomic_write(&path, b"mine", 0o644).unwrap();
    assert_eq!(std::fs::read(&other).unwrap(), b"shared");
    assert_eq!(atomic_write(Path::new("/dev/null"), b"x", 0o644).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(atomic_write(dir.path(), b"x", 0o644).unwrap_err().kind(), io::ErrorKind::IsADirectory);
}

#[test]
fn a_missing_directory_is_an_error_and_long_names_work() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(atomic_write(&dir.path().join("no/a"), b"x", 0o644).unwrap_err().kind(), io::ErrorKind::NotFound);
    let long = dir.path().join("é".repeat(127));
    atomic_write(&long, b"x", 0o644).unwrap();
    assert_eq!(std::fs::read(&long).unwrap(), b"x");
}

#[test]
fn lines_start_fresh_after_a_torn_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    std::fs::write(&path, "whole\n{\"to").unwrap();
    let mut file = AppendFile::open(&path).unwrap();
    file.append(b"next\n").unwrap();
    file.append(b"more\n").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "whole\n{\"to\nnext\nmore\n");
    let fresh = dir.path().join("new.jsonl");
    AppendFile::open(&fresh).unwrap().append(b"x\n").unwrap();
    assert_eq!(mode_of(&fresh), 0o600);
}

#[test]
fn a_lock_keeps_others_out_and_gives_up_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let inner = with_lock(&path, Duration::ZERO, || with_lock(&path, Duration::from_millis(20), || 1)).unwrap();
    assert_eq!(inner.unwrap_err().kind(), io::ErrorKind::TimedOut);
    assert_eq!(with_lock(&path, Duration::ZERO, || 2).unwrap(), 2);
}

#[test]
fn reads_stop_at_the_limit_and_refuse_endless_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    std::fs::write(&path, "12345").unwrap();
    assert_eq!(read_limited(&path, 5).unwrap(), LimitedRead { bytes: b"12345".to_vec(), more: false });
    assert_eq!(read_limited(&path, 4).unwrap(), LimitedRead { bytes: b"1234".to_vec(), more: true });
    assert_eq!(read_limited(&path, 0).unwrap(), LimitedRead { bytes: vec![], more: true });
    assert!(!read_limited(&path, usize::MAX).unwrap().more);
    assert_eq!(read_limited(dir.path(), 4).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert_eq!(read_limited(Path::new("/dev/zero"), 4).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    let fifo = dir.path().join("fifo");
    let name = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
    // SAFETY: the name is a terminated string that outlives the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    assert_eq!(read_limited(&fifo, 4).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(open_regular(&fifo).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(read_whole(&path, 5).unwrap(), b"12345");
    assert_eq!(read_whole(&path, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(read_text(&path, 5).unwrap(), "12345");
    std::fs::write(&path, b"\xff").unwrap();
    assert_eq!(read_text(&path, 5).unwrap_err().kind(), io::ErrorKind::InvalidData);
    let sparse = dir.path().join("sparse");
    std::fs::File::create(&sparse).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(read_whole(&sparse, 1 << 20).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}
