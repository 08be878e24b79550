use super::*;
use crate::find::{self, LatestScope};
use sys::Env;

const ID: &str = "11111111-2222-4333-8444-555555555555";

struct World {
    dir: tempfile::TempDir,
    layout: StoreLayout,
    old: PathBuf,
    new: PathBuf,
}

impl World {
    /// Creates a session of the directory `a`, with a session folder.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let layout = StoreLayout::new(&Env::default().with([("CLAUDE_CONFIG_DIR", dir.path().join("home"))]));
        for place in ["a", "b"] {
            std::fs::create_dir_all(dir.path().join(place)).unwrap();
        }
        let place = |name: &str| layout.transcript(&dir.path().join(name).canonicalize().unwrap(), ID);
        let (old, new) = (place("a"), place("b"));
        let world = Self { dir, layout, old, new };
        let subagents = world.old.with_extension("").join("subagents");
        std::fs::create_dir_all(&subagents).unwrap();
        std::fs::create_dir_all(world.new.parent().unwrap()).unwrap();
        std::fs::write(subagents.join("agent-1.jsonl"), "x\n").unwrap();
        let line = format!(
            r#"{{"parentUuid":null,"isSidechain":false,"type":"user","message":{{"role":"user","content":"hello"}},"uuid":"u","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{}","sessionId":"{ID}"}}"#,
            world.place("a").display()
        );
        std::fs::write(&world.old, line + "\n").unwrap();
        world
    }

    fn place(&self, name: &str) -> PathBuf {
        self.dir.path().join(name).canonicalize().unwrap()
    }

    /// The directories that list the session.
    fn listed(&self) -> Vec<&'static str> {
        let at = |name: &&str| find::latest(&self.layout, &self.place(name), LatestScope::Headless).is_some();
        ["a", "b"].into_iter().filter(at).collect()
    }

    fn moving(&self, places: &[PathBuf; 2]) -> Result<PathBuf, StoreError> {
        relocate(&self.layout, SessionMove { transcript: &self.old, from: &places[0], to: &places[1] })
    }

    fn places(&self) -> [PathBuf; 2] {
        ["a", "b"].map(|name| self.place(name))
    }

    /// Resumes the session by its id from `name` and checks that it is complete.
    fn take_up(&self, name: &str) -> PathBuf {
        let found = find::by_id(&self.layout, &self.place(name), ID).unwrap();
        let path = finish_move(&self.layout, &found);
        assert!(path.with_extension("").join("subagents/agent-1.jsonl").exists(), "{name}");
        assert!(std::fs::read_to_string(&path).unwrap().contains("hello"));
        path
    }
}

fn committed(world: &World) {
    let [from, to] = world.places();
    let moving = SessionMove { transcript: &world.old, from: &from, to: &to };
    list::add(&world.old, move_entry(&world.old, moving)).unwrap();
}

#[test]
fn a_session_moves_with_everything_it_has() {
    // [TST-184]
    let world = World::new();
    assert_eq!(world.listed(), ["a"]);
    assert_eq!(world.moving(&world.places()).unwrap(), world.new);
    assert_eq!(world.listed(), ["b"]);
    assert!(!world.old.exists() && !world.old.with_extension("").exists());
    assert_eq!(world.take_up("a"), world.new);
    assert_eq!(sticky_lines(&world.new).len(), 1);
    // Move it back.
    let [a, b] = world.places();
    let back = relocate(&world.layout, SessionMove { transcript: &world.new, from: &b, to: &a }).unwrap();
    assert_eq!((back, world.listed()), (world.old.clone(), vec!["a"]));
    assert_eq!(world.take_up("b"), world.old);
}

#[test]
fn wherever_a_move_is_cut_short_one_directory_lists_the_session() {
    // [TST-184]
    type Cut = fn(&World);
    let linked: Cut = |world| std::fs::hard_link(&world.old, &world.new).unwrap();
    let cuts: [(&str, Cut, &[&str], bool); 5] = [
        ("linked", |world| std::fs::hard_link(&world.old, &world.new).unwrap(), &["a"], false),
        (
            "said",
            |world| {
                std::fs::hard_link(&world.old, &world.new).unwrap();
                committed(world);
            },
            &["b"],
            true,
        ),
        (
            "left",
            |world| {
                std::fs::hard_link(&world.old, &world.new).unwrap();
                committed(world);
                std::fs::remove_file(&world.old).unwrap();
            },
            &["b"],
            true,
        ),
        // On a file system without hard links.
        ("said, without links", committed, &[], true),
        (
            "renamed",
            |world| {
                committed(world);
                std::fs::rename(&world.old, &world.new).unwrap();
            },
            &["b"],
            true,
        ),
    ];
    for (what, cut, listed, moved) in cuts {
        for from in ["a", "b"] {
            let world = World::new();
            cut(&world);
            assert_eq!(world.listed(), listed, "{what}");
            let home = if moved { &world.new } else { &world.old };
            assert_eq!(&world.take_up(from), home, "{what} from {from}");
            assert_eq!(world.listed(), if moved { ["b"] } else { ["a"] }, "{what}");
        }
    }
    // A move that stopped at the link can be made again.
    let world = World::new();
    linked(&world);
    assert_eq!(world.moving(&world.places()).unwrap(), world.new);
    assert_eq!(world.listed(), ["b"]);
}

#[test]
fn nothing_is_overwritten_and_copies_stay_where_they_are() {
    let world = World::new();
    std::fs::copy(&world.old, &world.new).unwrap();
    assert!(matches!(world.moving(&world.places()), Err(StoreError::Write { .. })));
    assert_eq!(world.listed(), ["a"]);
    assert_eq!(finish_move(&world.layout, &world.new), world.new);
    // A session that another program moved away is not listed.
    let world = World::new();
    let text = std::fs::read_to_string(&world.old).unwrap();
    std::fs::write(&world.old, text + "{\"type\":\"relocated\"}\n").unwrap();
    assert!(world.listed().is_empty());
}

#[test]
fn directories_whose_names_fall_together_are_told_apart() {
    let world = World::new();
    let places = ["my-app", "my_app"].map(|name| {
        std::fs::create_dir_all(world.dir.path().join(name)).unwrap();
        world.place(name)
    });
    let here = relocate(&world.layout, SessionMove { transcript: &world.old, from: &world.place("a"), to: &places[0] })
        .unwrap();
    let there = relocate(&world.layout, SessionMove { transcript: &here, from: &places[0], to: &places[1] }).unwrap();
    assert_eq!(here, there);
    let lists = |place: &Path| find::latest(&world.layout, place, LatestScope::Headless).is_some();
    assert_eq!((lists(&places[0]), lists(&places[1])), (false, true));
    assert_eq!(finish_move(&world.layout, &there), there);
}
