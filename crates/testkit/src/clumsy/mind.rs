//! The model of one conversation: goes through the intents, slips, and recovers by the rules.

use super::attempt::{Attempt, AttemptMode, fill, filled, right_call};
use super::call::PlannedCall;
use super::intent::{Intent, IntentKind};
use super::lines::{brought_up_to_date, numbered_blocks, replaced_lines, requoted_lines, same_quotes};
use super::log::{Answer, DoneWork, FurtherCall, MindLog, SlipEvent, SlipOutcome};
use super::random::Dice;
use super::recovery::{Move, after_failure, after_look, says_done, says_to_go_on};
use super::slips::{BeforeGoal, SUMMARY_SLIP, SlipForm, SlipScene, choose};
use super::view::{RequestView, ShownResult};
use super::{Clumsiness, OutsideCommand};
use crate::message::ScriptedBlock;
use std::collections::{HashMap, HashSet};

/// Sends of one call before the model stops repeating itself.
const MOST_REPEATS: usize = 6;
/// Precedes the number of finished intents in a hand-over.
const PROGRESS: &str = "Steps finished so far: ";

pub(super) struct Mind {
    intents: Vec<Intent>,
    at: usize,
    pub(super) turn: usize,
    seed: u64,
    dice: Dice,
    percent: u64,
    reminds: bool,
    /// Makes the ids of calls unique.
    prefix: usize,
    calls: usize,
    seen: HashSet<String>,
    learned: Vec<(String, String)>,
    current: Option<Attempt>,
    /// Calls under way: id, and the intent when it is not the current one.
    pending: Vec<(String, Option<usize>)>,
    /// Results of intents that were sent together with an earlier one.
    ahead: HashMap<usize, ShownResult>,
    has_background: bool,
    /// Lines that requests said were replaced by somebody else.
    news: Vec<(String, String)>,
    /// Files as they were shown, newest last: path and lines.
    shown: Vec<(String, Vec<String>)>,
    /// A check that was left out, and its slip.
    left_out: Option<(Intent, usize)>,
    after_summary: bool,
    summary_slip: Option<usize>,
    pub(super) log: MindLog,
}

impl Mind {
    pub(super) fn new(intents: &[Intent], clumsiness: Clumsiness, reminds: bool) -> Self {
        Self {
            intents: intents.to_vec(),
            at: 0,
            turn: 1,
            seed: clumsiness.seed,
            dice: Dice::new(clumsiness.seed),
            percent: clumsiness.percent,
            reminds,
            prefix: 0,
            calls: 0,
            seen: HashSet::new(),
            learned: Vec::new(),
            current: None,
            pending: Vec::new(),
            ahead: HashMap::new(),
            has_background: false,
            news: Vec::new(),
            shown: Vec::new(),
            left_out: None,
            after_summary: false,
            summary_slip: None,
            log: MindLog::default(),
        }
    }

    pub(super) fn for_agent(mut self, number: usize) -> Self {
        self.prefix = number;
        self
    }

    /// The next message of the model.
    pub(super) fn respond(&mut self, view: &RequestView, outside: &mut OutsideCommand) -> Answer {
        self.news.extend(replaced_lines(&view.last_text));
        self.take_results(view);
        if view.asks_for_summary() {
            return self.summarise(view);
        }
        self.notice_summary(view);
        if self.current.is_none() && self.is_reminded(view) {
            self.take_up_left_out(view);
        }
        self.next_message(view, outside)
    }

    pub(super) fn finish(&mut self) {
        for slip in &mut self.log.slips {
            if slip.outcome == SlipOutcome::Open {
                slip.outcome = SlipOutcome::Never;
            }
        }
    }

    // Results

    fn take_results(&mut self, view: &RequestView) {
        let pending = std::mem::take(&mut self.pending);
        if pending.iter().any(|(id, _)| !view.results.contains_key(id)) {
            // They were summarised away: the intent is begun again.
            self.current = None;
            return;
        }
        for (id, intent) in pending {
            let result = view.results[&id].clone();
            match intent {
                Some(at) => {
                    self.ahead.insert(at, result);
                }
                None => self.digest(&result, view),
            }
        }
    }

    /// Takes in the result of the current attempt's last call.
    fn digest(&mut self, result: &ShownResult, view: &RequestView) {
        let Some(mut attempt) = self.current.take() else { return };
        self.note_result(&attempt, result);
        if result.is_error {
            self.news.extend(replaced_lines(&result.text));
        }
        let look = attempt.look.take();
        self.remember_lines(look.as_ref().unwrap_or(&attempt.call), result);
        if look.is_none()
            && attempt.call.tool == "Bash"
            && attempt.call == attempt.right
            && attempt.mode == AttemptMode::Normal
        {
            // The command ran as it should; how it ended is not about the slip.
            self.close(attempt.slip, None);
        }
        match attempt.mode.clone() {
            AttemptMode::Before(goal) => self.after_before(attempt, &goal, result),
            AttemptMode::Repeating(times) => self.after_repeat(attempt, times, result, view),
            AttemptMode::Insisting(times) => self.after_insisting(attempt, times, result),
            AttemptMode::Again => self.after_again(attempt, look.is_some(), result),
            AttemptMode::Normal | AttemptMode::ThenAgain => {
                let next = match &look {
                    Some(look) => after_look(&attempt, look, result),
                    None if attempt.is_fulfilled_by(result) => Move::Accept,
                    None if attempt.is_hopeless(&result.text) => Move::GiveUp,
                    None => after_failure(&attempt, result, view),
                };
                self.make(attempt, next, result);
            }
        }
    }

    fn remember_lines(&mut self, call: &PlannedCall, result: &ShownResult) {
        if call.tool == "Read" && !result.is_error {
            let lines = numbered_blocks(&result.text).into_iter().flat_map(|block| block.lines).collect();
            self.shown.push((call.text("file_path").to_owned(), lines));
        }
    }

    fn make(&mut self, mut attempt: Attempt, next: Move, result: &ShownResult) {
        match next {
            Move::Send(call) => attempt.send(call),
            Move::Look(call) => {
                attempt.looks += 1;
                attempt.look = Some(call);
            }
            Move::Accept => return self.fulfilled(attempt, result),
            Move::GiveUp => return self.give_up(&attempt),
        }
        self.current = Some(attempt);
    }

    /// Records the result with the slip it belongs to.
    fn note_result(&mut self, attempt: &Attempt, result: &ShownResult) {
        let Some(slip) = attempt.slip.map(|at| &mut self.log.slips[at]) else { return };
        if slip.outcome != SlipOutcome::Open {
            return;
        }
        let sent = attempt.look.as_ref().unwrap_or(&attempt.call).shown();
        if slip.result.is_empty() {
            (slip.sent, slip.result) = (sent, result.text.clone());
        } else {
            slip.further.push(FurtherCall { call: sent, result: result.text.clone() });
        }
    }

    fn close(&mut self, slip: Option<usize>, outcome: Option<SlipOutcome>) {
        let Some(slip) = slip.map(|at| &mut self.log.slips[at]) else { return };
        if slip.outcome == SlipOutcome::Open {
            slip.outcome = outcome.unwrap_or(SlipOutcome::Recovered(slip.further.len()));
        }
    }

    fn fulfilled(&mut self, mut attempt: Attempt, result: &ShownResult) {
        if let Some(found) = attempt.learned(&result.text) {
            self.learned.push(found);
        }
        if attempt.mode == AttemptMode::ThenAgain {
            self.record_done(&attempt);
            attempt.slip = Some(self.open("already applied", &attempt));
            attempt.mode = AttemptMode::Again;
            self.current = Some(attempt);
            return;
        }
        self.close(attempt.slip, None);
        if attempt.mode != AttemptMode::Again {
            self.record_done(&attempt);
        }
        self.advance(&attempt);
    }

    fn record_done(&mut self, attempt: &Attempt) {
        match (&attempt.intent.kind, &attempt.meant) {
            (IntentKind::Edit { file, .. }, Some(text)) => {
                self.log.done.push(DoneWork::Edit { file: file.clone(), text: text.clone() });
            }
            (IntentKind::Write { file, content }, _) => {
                self.log.done.push(DoneWork::Write { file: file.clone(), content: content.clone() });
            }
            (IntentKind::Run { fields, .. }, _) => self.has_background |= fields["run_in_background"] == true,
            _ => {}
        }
        if let Some(file) = attempt.intent.file() {
            self.seen.insert(file.to_owned());
        }
    }

    fn give_up(&mut self, attempt: &Attempt) {
        self.close(attempt.slip, Some(SlipOutcome::Never));
        self.log.given_up.push(attempt.call.shown());
        if let Some(file) = attempt.intent.file() {
            self.seen.insert(file.to_owned());
        }
        self.advance(attempt);
    }

    fn advance(&mut self, attempt: &Attempt) {
        self.current = None;
        if !attempt.is_implied {
            self.at += 1;
        }
    }

    // Behaviour beside the rules of recovery

    fn after_before(&mut self, mut attempt: Attempt, goal: &BeforeGoal, result: &ShownResult) {
        let is_reached = match goal {
            BeforeGoal::Names(name) => result.text.lines().any(|line| line.trim().ends_with(name.as_str())),
            // A tool that does not exist cannot be asked with.
            BeforeGoal::GoOn => says_to_go_on(&result.text) || result.text.contains("No such tool"),
            BeforeGoal::Works => !result.is_error,
        };
        if !is_reached && !attempt.is_hopeless(&result.text) {
            if let BeforeGoal::Names(name) = goal {
                attempt.call = PlannedCall::glob(&format!("**/{name}"));
            }
            self.current = Some(attempt);
            return;
        }
        self.close(attempt.slip, (!is_reached).then_some(SlipOutcome::Never));
        (attempt.slip, attempt.mode) = (None, AttemptMode::Normal);
        attempt.call = attempt.right.clone();
        self.current = Some(attempt);
    }

    /// Repeats until the result says something new; what helps then counts as recovery.
    fn after_repeat(&mut self, mut attempt: Attempt, times: usize, result: &ShownResult, view: &RequestView) {
        let slip = attempt.slip.map(|at| &mut self.log.slips[at]);
        let is_new = slip.as_ref().is_some_and(|slip| times > 1 && slip.result != result.text);
        if !is_new && times < MOST_REPEATS {
            attempt.mode = AttemptMode::Repeating(times + 1);
            self.current = Some(attempt);
            return;
        }
        if let Some(slip) = slip {
            if is_new {
                result.text.clone_into(&mut slip.result);
                slip.further.clear();
            } else {
                slip.outcome = SlipOutcome::Never;
            }
        }
        attempt.mode = AttemptMode::Normal;
        let next = after_failure(&attempt, result, view);
        self.make(attempt, next, result);
    }

    fn after_insisting(&mut self, mut attempt: Attempt, times: usize, result: &ShownResult) {
        if times == 1 {
            attempt.mode = AttemptMode::Insisting(2);
            self.current = Some(attempt);
            return;
        }
        let is_told = says_to_go_on(&result.text) || !result.is_error;
        if !is_told && times < 3 {
            attempt.mode = AttemptMode::Insisting(times + 1);
            self.current = Some(attempt);
            return;
        }
        if let Some(slip) = attempt.slip.map(|at| &mut self.log.slips[at]) {
            slip.further.clear();
        }
        self.close(attempt.slip, (!is_told).then_some(SlipOutcome::Never));
        self.advance(&attempt);
    }

    /// After an edit that was made already: the result says so, or a look shows it.
    fn after_again(&mut self, mut attempt: Attempt, was_look: bool, result: &ShownResult) {
        let new = same_quotes(attempt.right.text("new_string").trim());
        let blocks = numbered_blocks(&result.text);
        let is_shown = blocks.iter().any(|block| same_quotes(&block.lines.join("\n")).contains(&new));
        if is_shown || !was_look && (!result.is_error || says_done(&result.text)) {
            self.close(attempt.slip, None);
            return self.advance(&attempt);
        }
        if was_look || attempt.is_hopeless(&result.text) {
            self.close(attempt.slip, Some(SlipOutcome::Never));
            return self.advance(&attempt);
        }
        attempt.look = Some(PlannedCall::read(attempt.call.text("file_path")));
        self.current = Some(attempt);
    }

    // Summaries and reminders

    fn summarise(&mut self, view: &RequestView) -> Answer {
        let mut dice = Dice::new(self.seed.wrapping_add(0x5a5a));
        if self.summary_slip.is_none() && dice.percent(self.percent) {
            let call = PlannedCall::glob("*");
            self.log.slips.push(SlipEvent {
                slip: SUMMARY_SLIP,
                file: None,
                sent: call.shown(),
                result: view.last_text.clone(),
                further: Vec::new(),
                outcome: SlipOutcome::Open,
            });
            self.summary_slip = Some(self.log.slips.len() - 1);
            return Answer(vec![self.block(&call).1]);
        }
        if let Some(at) = self.summary_slip {
            self.close(Some(at), Some(SlipOutcome::Recovered(1)));
        }
        self.after_summary = true;
        self.seen.clear();
        Answer::text(&format!("{PROGRESS}{}. Go on with the next one.", self.at))
    }

    /// After a hand-over only what it says is known.
    fn notice_summary(&mut self, view: &RequestView) {
        if let Some(at) = self.summary_slip {
            self.close(Some(at), Some(SlipOutcome::Never));
        }
        if !std::mem::take(&mut self.after_summary) {
            return;
        }
        let told = view.all_text.rsplit_once(PROGRESS).map(|(_, rest)| rest);
        let number = told.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
        if number != Some(self.at) {
            self.current = None;
            let first = self.intents.iter().position(|intent| intent.turn == self.turn);
            self.at = number.or(first).unwrap_or(self.at);
        }
    }

    /// Whether the request asks to go on after the end, for a check that was left out.
    fn is_reminded(&self, view: &RequestView) -> bool {
        let is_over = self.intents.get(self.at).is_none_or(|intent| intent.turn > self.turn);
        self.left_out.is_some() && is_over && !view.last_text.contains("<task-notification>")
    }

    fn take_up_left_out(&mut self, view: &RequestView) {
        let Some((intent, slip)) = self.left_out.take() else { return };
        let Some(right) = right_call(&intent.kind, view) else { return };
        view.last_text.clone_into(&mut self.log.slips[slip].result);
        let mut attempt = Attempt::new(intent, right, true);
        attempt.slip = Some(slip);
        self.current = Some(attempt);
    }

    // Messages

    fn next_message(&mut self, view: &RequestView, outside: &mut OutsideCommand) -> Answer {
        loop {
            if let Some(attempt) = &self.current {
                let call = attempt.look.clone().unwrap_or_else(|| attempt.call.clone());
                let mut blocks = vec![self.pend(&call, None)];
                blocks.extend(self.companions(view));
                return Answer(blocks);
            }
            let Some(intent) = self.intents.get(self.at).filter(|intent| intent.turn <= self.turn).cloned() else {
                return Answer::text("Done.");
            };
            let intent = self.resolve(intent, view);
            if let IntentKind::Say { text } = &intent.kind {
                self.at += 1;
                return Answer::text(text);
            }
            self.begin(intent, view, outside);
        }
    }

    /// The intent with learned values, and as a correction in the request has it.
    fn resolve(&self, mut intent: Intent, view: &RequestView) -> Intent {
        if let Some((words, otherwise)) = intent.unless_told.take()
            && !view.all_text.contains(&words)
        {
            let turn = intent.turn;
            intent = Intent { turn, ..*otherwise };
        }
        match &mut intent.kind {
            IntentKind::Say { text } => *text = filled(text, &self.learned),
            IntentKind::Run { command, .. } => *command = filled(command, &self.learned),
            IntentKind::Call { input, .. } => fill(input, &self.learned),
            IntentKind::Edit { file, text, .. } => {
                let shown = self.shown.iter().rev().find(|(path, _)| path.ends_with(file.as_str()));
                let requoted = shown.map(|(_, lines)| requoted_lines(&text.old, lines)).unwrap_or_default();
                for news in [&self.news, &requoted] {
                    text.old = brought_up_to_date(&text.old, news);
                    text.new = brought_up_to_date(&text.new, news);
                }
            }
            _ => {}
        }
        intent
    }

    fn begin(&mut self, intent: Intent, view: &RequestView, outside: &mut OutsideCommand) {
        let needs_read = matches!(intent.kind, IntentKind::Edit { .. } | IntentKind::Call { .. });
        if let Some(file) = intent.file().filter(|file| needs_read && !self.seen.contains(*file)) {
            let read = Intent::plain(IntentKind::Read { file: file.to_owned(), expect: None }, intent.turn);
            return self.attempt(Intent { careful: intent.careful, ..read }, true, view, outside);
        }
        if let Some(result) = self.ahead.remove(&self.at) {
            return self.take_ahead(intent, &result, view);
        }
        self.attempt(intent, false, view, outside);
    }

    /// The intent was sent together with an earlier one.
    fn take_ahead(&mut self, intent: Intent, result: &ShownResult, view: &RequestView) {
        let Some(right) = right_call(&intent.kind, view) else { return };
        self.current = Some(Attempt::new(intent, right, false));
        self.digest(result, view);
    }

    fn attempt(&mut self, intent: Intent, implied: bool, view: &RequestView, outside: &mut OutsideCommand) {
        let Some(right) = right_call(&intent.kind, view) else { return };
        let mut attempt = Attempt::new(intent, right, implied);
        // Each intent has a sequence of its own: what another binary does to one leaves the slips of the others alone.
        let place = (self.at * 2 + usize::from(implied)) as u64;
        self.dice = Dice::new(self.seed.wrapping_add(place.wrapping_mul(0x2545_f491_4f6c_dd1d)));
        // An intent that names its slips is there for them.
        let percent =
            if attempt.intent.slips.is_empty() || self.percent == 0 { self.percent } else { self.percent.max(80) };
        let slips = !attempt.intent.careful && self.dice.percent(percent);
        if slips && !self.slip(&mut attempt, view, outside) {
            self.at += 1;
            return;
        }
        self.current = Some(attempt);
    }

    /// Makes the attempt a slip; false when the intent is left out.
    fn slip(&mut self, attempt: &mut Attempt, view: &RequestView, outside: &mut OutsideCommand) -> bool {
        let next = self.intents.get(self.at + 1).cloned();
        let mut scene = SlipScene {
            intent: &attempt.intent.clone(),
            next: next.as_ref().filter(|_| !attempt.is_implied),
            view,
            dice: &mut self.dice,
            has_background: self.has_background,
            reminds: self.reminds,
        };
        let Some((name, form)) = choose(&attempt.right, &mut scene) else { return true };
        match form {
            SlipForm::Sent(call) => attempt.send(call),
            SlipForm::Before(call, goal) => {
                attempt.call = call;
                attempt.mode = AttemptMode::Before(goal);
            }
            SlipForm::Again => {
                attempt.mode = AttemptMode::ThenAgain;
                return true;
            }
            SlipForm::Repeated(call) => {
                attempt.send(call);
                attempt.mode = AttemptMode::Repeating(1);
            }
            SlipForm::Together => attempt.intent.with_next = true,
            SlipForm::Stale(command) => self.make_stale(attempt, &command, outside),
            SlipForm::Insisted => attempt.mode = AttemptMode::Insisting(1),
            SlipForm::Skipped => {
                let slip = self.open(name, attempt);
                self.left_out = Some((attempt.intent.clone(), slip));
                return false;
            }
        }
        attempt.slip = Some(self.open(name, attempt));
        true
    }

    fn make_stale(&mut self, attempt: &mut Attempt, command: &str, outside: &mut OutsideCommand) {
        outside(command);
        self.log.done.push(DoneWork::Outside { command: command.to_owned() });
        if let IntentKind::Edit { stale: Some(stale), .. } = &attempt.intent.kind {
            attempt.meant = Some(stale.text.clone());
        }
    }

    fn open(&mut self, slip: &'static str, attempt: &Attempt) -> usize {
        self.log.slips.push(SlipEvent {
            slip,
            file: attempt.intent.file().map(str::to_owned),
            sent: attempt.call.shown(),
            result: String::new(),
            further: Vec::new(),
            outcome: SlipOutcome::Open,
        });
        self.log.slips.len() - 1
    }

    /// The calls of the next intents, when this one is sent together with them.
    fn companions(&mut self, view: &RequestView) -> Vec<ScriptedBlock> {
        let mut blocks = Vec::new();
        let mut at = self.at;
        let mut goes_on =
            self.current.as_mut().is_some_and(|a| !a.is_implied && std::mem::take(&mut a.intent.with_next));
        while goes_on {
            at += 1;
            let Some(intent) = self.intents.get(at).cloned() else { break };
            goes_on = intent.with_next;
            let intent = self.resolve(intent, view);
            if let Some(call) = right_call(&intent.kind, view) {
                blocks.push(self.pend(&call, Some(at)));
            }
        }
        blocks
    }

    fn pend(&mut self, call: &PlannedCall, ahead: Option<usize>) -> ScriptedBlock {
        let (id, block) = self.block(call);
        self.pending.push((id, ahead));
        block
    }

    fn block(&mut self, call: &PlannedCall) -> (String, ScriptedBlock) {
        self.calls += 1;
        let id = format!("toolu_eval_{}_{}", self.prefix, self.calls);
        (id.clone(), ScriptedBlock::Tool { id: Some(id), name: call.tool.clone(), input: call.wire_input() })
    }
}
