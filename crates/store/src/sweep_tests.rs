use super::*;
use std::fs::{self, FileTimes};
use std::time::SystemTime;

const OLD: &str = "11111111-1111-4111-8111-111111111111";
const NEW: &str = "22222222-2222-4222-8222-222222222222";
const LIVE: &str = "33333333-3333-4333-8333-333333333333";
const AGENT: &str = "44444444-4444-4444-8444-444444444444";
const MONTH: Duration = Duration::from_hours(24 * 30);

const NOTHING: SweepCount = SweepCount { sessions: 0, others: 0 };

struct Place {
    dir: tempfile::TempDir,
    layout: StoreLayout,
    now: Duration,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env = sys::Env::default().with([("CLAUDE_CONFIG_DIR", dir.path().to_str().unwrap())]);
        let now = Duration::from_millis(sys::clock::now_ms());
        Self { layout: StoreLayout::new(&env), dir, now }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.dir.path().join(relative)
    }

    fn has(&self, relative: &str) -> bool {
        fs::symlink_metadata(self.path(relative)).is_ok()
    }

    fn write(&self, relative: &str, days: u64) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}\n").unwrap();
        self.age(relative, days);
    }

    fn age(&self, relative: &str, days: u64) {
        let at = SystemTime::UNIX_EPOCH + self.now - DAY * u32::try_from(days).unwrap();
        let file = fs::File::open(self.path(relative)).unwrap();
        file.set_times(FileTimes::new().set_modified(at)).unwrap();
    }

    /// What was removed and what was announced; `None` when no sweep was due.
    fn sweep(&self, later: Duration) -> Option<(SweepCount, SweepCount)> {
        match sweep(&self.layout, MONTH, self.now + later).unwrap() {
            SweepResult::NotDue => None,
            SweepResult::Swept { removed, announcement } => {
                let told = announcement.count;
                announcement.record().unwrap();
                Some((removed, told))
            }
        }
    }

    /// An old transcript that ends with this line.
    fn session(&self, id: &str, line: &str) -> String {
        let path = format!("projects/-p/{id}.jsonl");
        self.write(&path, 40);
        let prompt =
            r#"{"type":"user","uuid":"u","message":{"role":"user","content":"hello"},"slug":"brave-old-plan"}"#;
        fs::write(self.path(&path), format!("{prompt}\n{line}\n")).unwrap();
        self.age(&path, 40);
        path
    }
}

fn furnished() -> Place {
    let place = Place::new();
    place.write(&format!("projects/-p/{OLD}.jsonl"), 40);
    place.write(&format!("projects/-p/{OLD}/tool-results/a.txt"), 40);
    place.age(&format!("projects/-p/{OLD}/tool-results"), 40);
    place.age(&format!("projects/-p/{OLD}"), 40);
    place.write(&format!("projects/-p/{NEW}.jsonl"), 3);
    place.write(&format!("projects/-p/{LIVE}.jsonl"), 40);
    // The transcript is old, but one of its agents wrote yesterday.
    place.write(&format!("projects/-p/{AGENT}.jsonl"), 40);
    place.write(&format!("projects/-p/{AGENT}/subagents/agent-a.jsonl"), 1);
    place.write("projects/-p/memory/MEMORY.md", 400);
    place.age("projects/-p/memory", 400);
    place.write("projects/-p/sessions-index.json", 400);
    place.write("history.jsonl", 400);
    place.write("settings.json", 400);
    place.write("plans/old.md", 40);
    place.write("plans/new.md", 2);
    place.write("skills/mine/SKILL.md", 400);
    let start = sys::proc_start(1).unwrap_or_default();
    let record = format!(r#"{{"pid":1,"sessionId":"{LIVE}","procStart":"{start}"}}"#);
    fs::create_dir_all(place.path("sessions")).unwrap();
    fs::write(place.path("sessions/1.json"), record).unwrap();
    place
}

// [TST-148] [TST-149]
#[test]
fn old_sessions_go_after_they_were_announced() {
    let place = furnished();
    assert_eq!(place.sweep(Duration::ZERO), Some((NOTHING, SweepCount { sessions: 1, others: 1 })));
    assert!(place.has(&format!("projects/-p/{OLD}.jsonl")) && place.has("plans/old.md"));
    assert_eq!(place.sweep(DAY / 2), None);
    let next = place.sweep(DAY + Duration::from_hours(1));
    assert_eq!(next, Some((SweepCount { sessions: 1, others: 1 }, NOTHING)));
    assert!(!place.has(&format!("projects/-p/{OLD}.jsonl")) && !place.has(&format!("projects/-p/{OLD}")));
    assert!(!place.has("plans/old.md"));
    for kept in [
        format!("projects/-p/{NEW}.jsonl"),
        format!("projects/-p/{LIVE}.jsonl"),
        format!("projects/-p/{AGENT}.jsonl"),
        format!("projects/-p/{AGENT}/subagents/agent-a.jsonl"),
        "projects/-p/memory/MEMORY.md".into(),
        "projects/-p/sessions-index.json".into(),
        "history.jsonl".into(),
        "settings.json".into(),
        "plans/new.md".into(),
        "skills/mine/SKILL.md".into(),
    ] {
        assert!(place.has(&kept), "{kept}");
    }
}

// [TST-148]
#[test]
fn links_are_not_followed() {
    let place = Place::new();
    place.write("elsewhere/precious.txt", 400);
    fs::create_dir_all(place.path("projects/-p")).unwrap();
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path(&format!("projects/-p/{OLD}"))).unwrap();
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path("projects/linked")).unwrap();
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path("plans")).unwrap();
    let far = MONTH + DAY * 2;
    // The folder of plans is a link: its target must not be touched.
    place.sweep(far);
    place.sweep(far + DAY * 2);
    assert!(place.has("elsewhere/precious.txt"));
}

// [LNG-39]
#[test]
fn nothing_goes_that_was_not_announced_itself() {
    let place = furnished();
    place.sweep(Duration::ZERO);
    // A second session became old after the first announcement.
    let late = place.session("55555555-5555-4555-8555-555555555555", "{}");
    place.write("debug/log.txt", 40);
    let next = place.sweep(DAY + Duration::from_hours(1)).unwrap();
    assert_eq!(next, (SweepCount { sessions: 1, others: 1 }, SweepCount { sessions: 1, others: 1 }));
    assert!(place.has(&late) && place.has("debug/log.txt") && !place.has(&format!("projects/-p/{OLD}.jsonl")));
    let last = place.sweep(DAY * 2 + Duration::from_hours(2)).unwrap();
    assert_eq!(last.0, SweepCount { sessions: 1, others: 1 });
    assert!(!place.has(&late) && !place.has("debug/log.txt"));
}

// [LNG-39]
#[test]
fn an_announcement_that_nobody_saw_does_not_count() {
    let place = furnished();
    // The process ended before it could tell.
    drop(sweep(&place.layout, MONTH, place.now).unwrap());
    let next = place.sweep(DAY + Duration::from_hours(1)).unwrap();
    assert_eq!(next, (NOTHING, SweepCount { sessions: 1, others: 1 }));
    // The mark of an earlier version names nothing.
    fs::write(place.path(".cleanup-announced"), "").unwrap();
    let next = place.sweep(DAY * 2 + Duration::from_hours(2)).unwrap();
    assert_eq!(next.0, NOTHING);
}

// [LNG-39]
#[test]
fn named_tagged_and_archived_sessions_stay_with_their_files() {
    let place = furnished();
    let ids = ["a", "b", "c"].map(|n| OLD.replace('1', n));
    let named = place.session(&ids[0], r#"{"type":"custom-title","customTitle":"Kept","sessionId":"s"}"#);
    let tagged = place.session(&ids[1], r#"{"type":"tag","tag":"later","sessionId":"s"}"#);
    let archived = place.session(&ids[2], "{}");
    place.write(&format!("projects/-p/{}/archived.json", ids[2]), 40);
    fs::write(place.path(&format!("projects/-p/{}/archived.json", ids[2])), r#"{"archived":true}"#).unwrap();
    place.age(&format!("projects/-p/{}/archived.json", ids[2]), 40);
    place.age(&format!("projects/-p/{}", ids[2]), 40);
    let own = [format!("file-history/{}", ids[0]), format!("tasks/{}", ids[1]), "plans/brave-old-plan.md".to_owned()];
    for path in &own {
        place.write(path, 40);
    }
    let reasons: Vec<_> =
        plan(&place.layout, MONTH, place.now).sessions.iter().filter_map(|session| session.kept).collect();
    let mut expected = vec![KeptReason::Open, KeptReason::Named, KeptReason::Tagged, KeptReason::Archived];
    for reason in reasons {
        expected.retain(|other| *other != reason);
    }
    assert!(expected.is_empty(), "{expected:?} is not told");
    for days in [0, 2, 4] {
        place.sweep(DAY * days);
    }
    assert!(!place.has(&format!("projects/-p/{OLD}.jsonl")));
    for kept in [named, tagged, archived].iter().chain(&own) {
        assert!(place.has(kept), "{kept}");
    }
    // Taking the name away lets it go, after it was announced.
    let path = place.path(&format!("projects/-p/{}.jsonl", ids[0]));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"Kept\"", "\"\"")).unwrap();
    place.age(&format!("projects/-p/{}.jsonl", ids[0]), 40);
    place.sweep(DAY * 6);
    assert!(path.exists());
    place.sweep(DAY * 8);
    assert!(!path.exists());
}
