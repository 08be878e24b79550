use super::*;
use std::fs::{self, FileTimes};
use std::time::SystemTime;

const OLD: &str = "11111111-1111-4111-8111-111111111111";
const NEW: &str = "22222222-2222-4222-8222-222222222222";
const LIVE: &str = "33333333-3333-4333-8333-333333333333";
const AGENT: &str = "44444444-4444-4444-8444-444444444444";
const MONTH: Duration = Duration::from_hours(24 * 30);

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

    fn sweep(&self, later: Duration) -> SweepResult {
        sweep(&self.layout, MONTH, self.now + later).unwrap()
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
    assert_eq!(place.sweep(Duration::ZERO), SweepResult::Announced(1));
    assert!(place.has(&format!("projects/-p/{OLD}.jsonl")) && place.has("plans/old.md"));
    assert_eq!(place.sweep(DAY / 2), SweepResult::NotDue);
    assert_eq!(place.sweep(DAY + Duration::from_hours(1)), SweepResult::Removed(1));
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
    place.write(".cleanup-announced", 0);
    let far = MONTH + DAY * 2;
    // The folder of plans is a link: its target must not be touched.
    place.sweep(far);
    assert!(place.has("elsewhere/precious.txt"));
}
