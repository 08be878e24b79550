//! Transcript load: never a panic, one entry per uuid, bodies that are JSON, and a torn last line changes nothing.

use store::LoadedConversation;
use store::resume::{LoadOptions, load_bytes};

pub(crate) fn check(bytes: &[u8]) {
    let ended = [bytes, b"\n"].concat();
    let loaded = load(&ended, None);
    if let Some(loaded) = &loaded {
        let mut uuids: Vec<&str> = loaded.entries.iter().map(|e| &*e.uuid).collect();
        uuids.sort_unstable();
        assert!(uuids.windows(2).all(|pair| pair[0] != pair[1]), "a uuid stands once");
        for body in loaded.entries.iter().filter_map(|e| e.body.as_deref()) {
            assert!(serde_json::from_str::<&serde_json::value::RawValue>(body).is_ok(), "a body is JSON");
        }
        for entry in loaded.entries.iter().take(4) {
            load(&ended, Some(&entry.uuid));
        }
    }
    let torn = [&ended[..], br#"{"parentUuid":"x","type":"user","uuid":"torn","mess"#].concat();
    let names =
        |l: Option<LoadedConversation>| l.map(|l| l.entries.iter().map(|e| e.uuid.to_string()).collect::<Vec<_>>());
    assert_eq!(names(load(&torn, None)), names(loaded), "a torn last line changes nothing");
}

fn load(bytes: &[u8], at: Option<&str>) -> Option<LoadedConversation> {
    load_bytes(bytes, &LoadOptions { at: at.map(str::to_owned), ..LoadOptions::default() }).ok()
}
