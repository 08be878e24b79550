use super::*;
use terminal::keys::KeyCode;
use terminal::style::StyledLine;

const NOW: Duration = Duration::from_secs(10);

/// A layer that writes down what it gets.
#[derive(Debug)]
struct Probe {
    name: &'static str,
    rank: LayerRank,
    outcome: fn() -> KeyOutcome,
    contexts: &'static [KeyContext],
    is_modal: bool,
    takes: bool,
    covers: bool,
    uncovered_at: Option<Duration>,
    due: Option<Duration>,
}

impl Probe {
    fn new(name: &'static str, rank: LayerRank) -> Self {
        Self {
            name,
            rank,
            outcome: || KeyOutcome::Taken(Vec::new()),
            contexts: &[],
            is_modal: true,
            takes: true,
            covers: false,
            uncovered_at: None,
            due: None,
        }
    }

    fn effects(&self, what: &str) -> Option<Vec<LayerEffect>> {
        self.takes.then(|| vec![LayerEffect::SetPrompt(format!("{} {what}", self.name))])
    }
}

impl Layer for Probe {
    fn rank(&self) -> LayerRank {
        self.rank
    }

    fn contexts(&self) -> &'static [KeyContext] {
        self.contexts
    }

    fn is_modal(&self) -> bool {
        self.is_modal
    }

    fn key(&mut self, _: KeyPress, _: &LayerView<'_>) -> KeyOutcome {
        match (self.outcome)() {
            KeyOutcome::Taken(_) => KeyOutcome::Taken(vec![LayerEffect::SetPrompt(format!("{} key", self.name))]),
            other => other,
        }
    }

    fn action(&mut self, _: KeyAction, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        self.effects("action")
    }

    fn unbound_key(&mut self, _: KeyPress, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        self.effects("unbound")
    }

    fn early_key(&mut self, _: KeyPress, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        self.effects("early")
    }

    fn paste(&mut self, _: &str, _: &LayerView<'_>) -> Option<Vec<LayerEffect>> {
        self.effects("paste")
    }

    fn rows(&self, view: &LayerView<'_>) -> LayerRows {
        let lines = vec![StyledLine::plain(format!("{} +{}", self.name, view.waiting))];
        if self.covers {
            return LayerRows::WholeScreen(LiveFrame { lines, caret: None });
        }
        LayerRows::InPlaceOfPrompt(lines, None)
    }

    fn covers_screen(&self) -> bool {
        self.covers
    }

    fn uncovered(&mut self, now: Duration) {
        self.uncovered_at = Some(now);
    }

    fn next_tick(&self, _: &LayerView<'_>) -> Option<Duration> {
        self.due
    }

    fn tick(&mut self, _: &LayerView<'_>) -> Vec<LayerEffect> {
        self.effects("tick").unwrap_or_default()
    }
}

/// What the layers read in these tests.
#[derive(Default)]
pub(in crate::app) struct Outside {
    pub session: SessionDisplay,
    pub preferences: Preferences,
    pub editor: Editor,
    history: PromptHistory,
    transcript: TranscriptView,
    agents: crate::app::agents::AgentTracker,
    reply: crate::app::reply::StreamingReply,
}

impl Outside {
    pub(in crate::app) fn view(&self) -> LayerView<'_> {
        LayerView {
            session: &self.session,
            preferences: &self.preferences,
            size: TerminalSize { columns: 80, rows: 24 },
            now: NOW,
            typed_at: Duration::ZERO,
            editor: &self.editor,
            history: &self.history,
            transcript: &self.transcript,
            agents: &self.agents,
            reply: &self.reply,
            hint: None,
            waiting: 0,
        }
    }
}

fn stack(layers: Vec<Probe>) -> LayerStack {
    let mut stack = LayerStack::default();
    for layer in layers {
        stack.push(Box::new(layer));
    }
    stack
}

fn names(stack: &LayerStack) -> Vec<&'static str> {
    stack.all::<Probe>().map(|probe| probe.name).collect()
}

fn text_of(effects: &[LayerEffect]) -> &str {
    match effects {
        [LayerEffect::SetPrompt(text)] => text,
        other => panic!("{other:?}"),
    }
}

/// Which layer a key reaches, or which other way it goes.
fn route(stack: &mut LayerStack) -> String {
    let outside = Outside::default();
    match stack.key(KeyPress::plain(KeyCode::Enter), &outside.view()) {
        KeyRoute::Layer(_, effects) => text_of(&effects).to_owned(),
        KeyRoute::Bindings(height) => format!("bindings {height}"),
        KeyRoute::EarlyPrompt => "early prompt".into(),
        KeyRoute::Prompt => "prompt".into(),
    }
}

fn shown(stack: &LayerStack) -> String {
    let outside = Outside::default();
    match stack.rows(&outside.view()) {
        Some((_, LayerRows::InPlaceOfPrompt(rows, _))) => rows[0].text(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn ranks_order_the_layers_however_they_are_opened() {
    let mut stack = stack(vec![
        Probe::new("transcript", LayerRank::Transcript),
        Probe::new("panel", LayerRank::Panel),
        Probe::new("confirm", LayerRank::Confirm),
        Probe::new("menu", LayerRank::Completion),
        Probe::new("question", LayerRank::Question),
        Probe::new("search", LayerRank::HistorySearch),
    ]);
    assert_eq!(names(&stack), ["transcript", "confirm", "question", "panel", "search", "menu"]);
    // A panel opened from a panel is above it.
    stack.push(Box::new(Probe::new("second panel", LayerRank::Panel)));
    assert_eq!(names(&stack)[3..5], ["second panel", "panel"]);
}

#[test]
fn questions_wait_for_the_first_and_are_counted() {
    let mut stack = stack(vec![
        Probe::new("first", LayerRank::Question),
        Probe::new("panel", LayerRank::Panel),
        Probe::new("second", LayerRank::Question),
        Probe::new("third", LayerRank::Question),
    ]);
    assert_eq!(names(&stack), ["first", "second", "third", "panel"]);
    assert_eq!(shown(&stack), "first +2");
    let first = stack.ids(LayerRank::Question)[0];
    stack.remove(first, NOW);
    assert_eq!(shown(&stack), "second +1");
}

#[test]
fn a_key_falls_only_through_layers_that_pass_it() {
    let passing = |name, rank| Probe { outcome: || KeyOutcome::Passed, ..Probe::new(name, rank) };
    let mut open = stack(vec![Probe::new("panel", LayerRank::Panel), passing("confirm", LayerRank::Confirm)]);
    assert_eq!(route(&mut open), "panel key");
    let mut taken = stack(vec![Probe::new("panel", LayerRank::Panel), Probe::new("confirm", LayerRank::Confirm)]);
    assert_eq!(route(&mut taken), "confirm key");
    assert_eq!(route(&mut stack(vec![passing("confirm", LayerRank::Confirm)])), "prompt");
    assert_eq!(route(&mut LayerStack::default()), "prompt");
    let bound = Probe { outcome: || KeyOutcome::Bindings, ..Probe::new("help", LayerRank::Help) };
    let mut bound =
        stack(vec![Probe::new("menu", LayerRank::Completion), bound, passing("onboarding", LayerRank::Onboarding)]);
    assert_eq!(route(&mut bound), "bindings 2", "the bindings begin at the layer that asks for them");
}

#[test]
fn an_early_key_goes_to_what_it_was_typed_for() {
    let question = || Probe { outcome: || KeyOutcome::Early, ..Probe::new("question", LayerRank::Question) };
    let deaf = Probe { takes: false, ..Probe::new("onboarding", LayerRank::Onboarding) };
    assert_eq!(route(&mut stack(vec![question(), Probe::new("panel", LayerRank::Panel)])), "panel early");
    assert_eq!(route(&mut stack(vec![question(), deaf])), "early prompt");
}

#[test]
fn contexts_and_actions_reach_down_to_the_first_modal_layer() {
    let outside = Outside::default();
    let menu = || Probe {
        contexts: &[KeyContext::Autocomplete],
        is_modal: false,
        takes: false,
        ..Probe::new("menu", LayerRank::Completion)
    };
    let search = |takes| Probe {
        contexts: &[KeyContext::HistorySearch, KeyContext::Global],
        takes,
        ..Probe::new("search", LayerRank::HistorySearch)
    };
    let mut open = stack(vec![menu()]);
    assert_eq!(open.contexts(1), (vec![KeyContext::Autocomplete], true));
    assert!(open.action(1, KeyAction::Redraw, &outside.view()).is_none(), "it belongs to the prompt");
    let mut open = stack(vec![menu(), search(false)]);
    assert_eq!(open.contexts(2), (vec![KeyContext::HistorySearch, KeyContext::Global], false));
    assert_eq!(open.contexts(1), (vec![KeyContext::Autocomplete], true), "a height excludes what is above");
    assert_eq!(open.contexts(0), (Vec::new(), true));
    for probe in open.all_mut::<Probe>().filter(|probe| probe.name == "menu") {
        probe.takes = true;
    }
    assert!(open.unbound_key(2, KeyPress::char('x'), &outside.view()).is_none(), "the search hides the menu");
    let mut open = stack(vec![menu(), search(true)]);
    let (id, effects) = open.action(2, KeyAction::SearchNext, &outside.view()).unwrap();
    assert_eq!((text_of(&effects), Some(id)), ("search action", open.ids(LayerRank::HistorySearch).first().copied()));
    // When the search is closed, the contexts of the menu apply again.
    open.remove(id, NOW);
    assert_eq!(open.contexts(open.height()), (vec![KeyContext::Autocomplete], true));
}

#[test]
fn a_paste_goes_to_the_highest_layer_that_takes_it() {
    let outside = Outside::default();
    let deaf = Probe { takes: false, ..Probe::new("confirm", LayerRank::Confirm) };
    let mut open =
        stack(vec![Probe::new("panel", LayerRank::Panel), Probe::new("picker", LayerRank::SessionPicker), deaf]);
    assert_eq!(text_of(&open.paste("text", &outside.view()).unwrap().1), "picker paste");
    let deaf = Probe { takes: false, ..Probe::new("confirm", LayerRank::Confirm) };
    assert!(stack(vec![deaf]).paste("text", &outside.view()).is_none());
}

#[test]
fn closing_a_layer_brings_back_the_one_below() {
    let outside = Outside::default();
    let cover = Probe { covers: true, ..Probe::new("transcript", LayerRank::Transcript) };
    let mut open =
        stack(vec![Probe::new("panel", LayerRank::Panel), Probe::new("question", LayerRank::Question), cover]);
    assert_eq!(open.cover(&outside.view()).unwrap().lines[0].text(), "transcript +0");
    assert_eq!(shown(&open), "question +0", "it is drawn below the cover");
    // What is closed below the top changes nothing on the screen.
    open.remove(open.ids(LayerRank::Panel)[0], NOW);
    assert!(open.all::<Probe>().all(|probe| probe.uncovered_at.is_none()));
    open.remove(open.ids(LayerRank::Transcript)[0], NOW);
    assert!(open.cover(&outside.view()).is_none());
    assert_eq!(open.find::<Probe>().unwrap().uncovered_at, Some(NOW));
    assert_eq!(route(&mut open), "question key");
    open.remove(open.ids(LayerRank::Question)[0], NOW);
    assert!(open.rows(&outside.view()).is_none());
    assert_eq!(route(&mut open), "prompt");
}

#[test]
fn only_the_first_of_a_rank_is_ticked_when_its_time_has_come() {
    let outside = Outside::default();
    let due = |name, rank, due| Probe { due: Some(due), ..Probe::new(name, rank) };
    let mut open = stack(vec![
        due("first", LayerRank::Question, NOW),
        due("second", LayerRank::Question, Duration::ZERO),
        due("panel", LayerRank::Panel, NOW * 2),
    ]);
    assert_eq!(open.next_tick(&outside.view()), Some(NOW));
    let ticked: Vec<String> =
        open.tick(&outside.view()).iter().map(|(_, effects)| text_of(effects).to_owned()).collect();
    assert_eq!(ticked, ["first tick"]);
}
