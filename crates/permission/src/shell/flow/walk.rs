//! Follows the parsed command: lists, pipes, loops and branches change what the shell knows, simple commands are noted.

use super::renames::{self, ProgramAlias};
use super::words::VariableValue;
use super::{
    CommandFlow, FlowArgument, MAX_DEPTH, MAX_INVOCATIONS, MAX_VALUES, ProgramInvocation, ShellField, ShellStart,
    StdinSource, TextOrigin,
};
use brush_parser::{ParserOptions, ast};
use std::collections::BTreeMap;

/// What the shell knows at one place of the command.
#[derive(Clone, Debug, Default)]
pub(super) struct ShellState {
    pub(super) variables: BTreeMap<String, VariableValue>,
    pub(super) dirs: Vec<Option<ShellField>>,
}

pub(super) struct FlowWalker<'a> {
    pub(super) start: &'a ShellStart<'a>,
    pub(super) options: ParserOptions,
    pub(super) flow: CommandFlow,
    pub(super) state: ShellState,
    pub(super) stdin: StdinSource,
    /// Unquoted values are split at blanks.
    pub(super) splits: bool,
    /// What the last process substitution prints.
    pub(super) stream: Option<std::ops::Range<usize>>,
    /// Programs under other names.
    pub(super) renamed: Vec<ProgramAlias>,
    /// Some code runs later than its position in the text: functions, traps, aliases.
    pub(super) defers: bool,
    /// Names of variables do not say any more which of them is meant.
    pub(super) is_confused: bool,
    /// Every value and directory so far, whatever the order.
    seen: ShellState,
    /// Values and directories count whatever the order.
    unordered: bool,
    depth: u32,
}

impl<'a> FlowWalker<'a> {
    pub(super) fn new(start: &'a ShellStart<'a>) -> Self {
        let dirs = vec![Some(ShellField::literal(&start.cwd.to_string_lossy()))];
        let state = ShellState { dirs, ..ShellState::default() };
        Self {
            start,
            options: ParserOptions::default(),
            flow: CommandFlow::default(),
            seen: state.clone(),
            state,
            stdin: StdinSource::Inherited,
            splits: true,
            stream: None,
            renamed: Vec::new(),
            defers: false,
            is_confused: false,
            unordered: false,
            depth: 0,
        }
    }

    /// A walk on which everything that was ever set counts everywhere.
    pub(super) fn with_everything(start: &'a ShellStart<'a>, everything: ShellState) -> Self {
        Self { state: everything.clone(), seen: everything, unordered: true, ..Self::new(start) }
    }

    /// What was set on the whole way, when some code runs later than its position in the text.
    pub(super) fn everything_seen(&self) -> Option<ShellState> {
        self.defers.then(|| self.seen.clone())
    }

    pub(super) fn finish(mut self) -> CommandFlow {
        renames::add_renamed(&mut self.flow, &self.renamed);
        self.flow
    }

    /// Gives a variable a value.
    pub(super) fn assign(&mut self, name: String, value: VariableValue) {
        let seen = self.seen.variables.entry(name.clone()).or_default();
        seen.join(&value);
        let value = if self.unordered { seen.clone() } else { value };
        self.state.variables.insert(name, value);
    }

    /// Moves the shell to one of these.
    pub(super) fn stand_in(&mut self, dirs: Vec<Option<ShellField>>) {
        self.seen.join_dirs(&dirs);
        self.state.dirs = if self.unordered { self.seen.dirs.clone() } else { dirs };
    }

    /// Text that this shell runs.
    pub(super) fn run_text(&mut self, text: &str) {
        if self.depth >= MAX_DEPTH || text.len() > 40_000 || crate::shell::grammar::is_hard(text) {
            self.flow.incomplete = true;
            return;
        }
        self.depth += 1;
        match brush_parser::uncached_tokenize_str(text, &self.options.tokenizer_options())
            .ok()
            .filter(|tokens| !crate::shell::grammar::is_deep(tokens))
            .and_then(|tokens| brush_parser::parse_tokens(&tokens, &self.options).ok())
        {
            Some(program) => program.complete_commands.iter().for_each(|list| self.list(list)),
            None => self.flow.incomplete = true,
        }
        self.depth -= 1;
    }

    /// Runs `part` in a shell of its own: what it changes is forgotten.
    pub(super) fn in_subshell(&mut self, part: impl FnOnce(&mut Self)) -> std::ops::Range<usize> {
        let before = self.state.clone();
        let from = self.flow.invocations.len();
        part(self);
        self.state = before;
        from..self.flow.invocations.len()
    }

    fn list(&mut self, list: &ast::CompoundList) {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            match separator {
                ast::SeparatorOperator::Async => {
                    self.in_subshell(|this| this.and_or(and_or));
                }
                ast::SeparatorOperator::Sequence => self.and_or(and_or),
            }
        }
    }

    fn and_or(&mut self, and_or: &ast::AndOrList) {
        let before = self.state.dirs.clone();
        self.pipeline(&and_or.first);
        // After the list it is not known which of its parts succeeded, `cd` among them.
        let mut after = self.state.clone();
        for next in &and_or.additional {
            match next {
                ast::AndOr::And(pipeline) => self.pipeline(pipeline),
                ast::AndOr::Or(pipeline) => {
                    self.state.join_dirs(&before);
                    self.pipeline(pipeline);
                }
            }
            after.join(&self.state, self.start);
        }
        self.state = after;
        self.state.join_dirs(&before);
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) {
        if let [only] = pipeline.seq.as_slice() {
            return self.command(only);
        }
        let stdin = self.stdin.clone();
        for command in &pipeline.seq {
            let printed = self.in_subshell(|this| this.command(command));
            self.stdin = StdinSource::Pipe(printed);
        }
        self.stdin = stdin;
    }

    fn command(&mut self, command: &ast::Command) {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                self.redirected(redirects.as_ref(), |this| this.compound(compound));
            }
            ast::Command::Function(function) => {
                self.defers = true;
                let before = self.state.clone();
                self.redirected(function.body.1.as_ref(), |this| this.compound(&function.body.0));
                self.state.join(&before, self.start);
            }
            ast::Command::ExtendedTest(test, redirects) => self.redirected(redirects.as_ref(), |this| {
                this.test(&test.expr);
            }),
        }
    }

    fn redirected(&mut self, redirects: Option<&ast::RedirectList>, part: impl FnOnce(&mut Self)) {
        let stdin = self.stdin.clone();
        let mut unit = self.invocation();
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            self.redirect(redirect, &mut unit);
        }
        self.stdin = unit.input.clone();
        if !unit.reads.is_empty() || !unit.writes.is_empty() {
            self.record_invocation(unit);
        }
        part(self);
        self.stdin = stdin;
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::Arithmetic(arithmetic) => {
                // `( ( a b ) )`: two shells inside each other are taken for a calculation.
                if crate::shell::grammar::looks_like_commands(&arithmetic.expr.value) {
                    self.in_subshell(|this| this.run_text(&arithmetic.expr.value));
                }
                self.arithmetic(&arithmetic.expr.value);
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                for expr in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&expr.value);
                }
                self.run_twice(|this| this.list(&clause.body.list));
            }
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(shell) => {
                self.in_subshell(|this| this.list(&shell.list));
            }
            ast::CompoundCommand::ForClause(clause) => self.for_loop(clause),
            ast::CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value);
                let before = self.state.clone();
                let mut after = before.clone();
                for item in &clause.cases {
                    self.state = before.clone();
                    item.patterns.iter().for_each(|pattern| drop(self.word(&pattern.value)));
                    item.cmd.iter().for_each(|list| self.list(list));
                    after.join(&self.state, self.start);
                }
                self.state = after;
            }
            ast::CompoundCommand::IfClause(clause) => self.branches(clause),
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.run_twice(|this| {
                    this.list(&clause.0);
                    this.list(&clause.1.list);
                });
            }
            ast::CompoundCommand::Coprocess(process) => {
                self.in_subshell(|this| this.command(&process.body));
            }
        }
    }

    fn for_loop(&mut self, clause: &ast::ForClauseCommand) {
        let value = match &clause.values {
            Some(words) => {
                let args: Vec<FlowArgument> = words.iter().flat_map(|word| self.word(&word.value)).collect();
                VariableValue::from_args(&args)
            }
            None => VariableValue::unknown(TextOrigin::Outside),
        };
        self.run_twice(|this| {
            this.assign(clause.variable_name.clone(), value.clone());
            this.list(&clause.body.list);
        });
    }

    /// Twice, so that what one round sets is there in the next.
    fn run_twice(&mut self, round: impl Fn(&mut Self)) {
        for _ in 0..2 {
            let before = self.state.clone();
            round(self);
            self.state.join(&before, self.start);
        }
    }

    fn branches(&mut self, clause: &ast::IfClauseCommand) {
        self.list(&clause.condition);
        let before = self.state.clone();
        self.list(&clause.then);
        let mut after = self.state.clone();
        after.join(&before, self.start);
        self.state = before;
        for branch in clause.elses.iter().flatten() {
            branch.condition.iter().for_each(|list| self.list(list));
            let before = self.state.clone();
            self.list(&branch.body);
            after.join(&self.state, self.start);
            self.state = before;
        }
        self.state = after;
    }

    fn test(&mut self, expr: &ast::ExtendedTestExpr) {
        match expr {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ast::ExtendedTestExpr::UnaryTest(_, word) => drop(self.word(&word.value)),
            ast::ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.word(&left.value);
                self.word(&right.value);
            }
        }
    }

    /// Expansions inside are followed; names that it may set hold numbers afterwards.
    pub(super) fn arithmetic(&mut self, text: &str) {
        if text.contains(['$', '`']) {
            self.word(text);
        }
        if text.contains(['=', '+', '-']) {
            let names = text.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
            for name in names.filter(|name| name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())) {
                let mut value = self.bound(name).unwrap_or_default();
                value.join(&VariableValue::number());
                self.assign(name.to_owned(), value);
            }
        }
    }

    fn invocation(&self) -> ProgramInvocation {
        ProgramInvocation {
            words: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            dirs: self.state.dirs.clone(),
            input: self.stdin.clone(),
            loose: false,
            assigned: Vec::new(),
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) {
        let mut unit = self.invocation();
        let mut set = Vec::new();
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => set.push(self.assigned(assignment)),
                other => self.item(other, &mut unit),
            }
        }
        if let Some(name) = &simple.word_or_name {
            unit.words = self.word(&name.value);
            unit.loose = unit.words.len() > 1;
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut unit);
        }
        if unit.words.is_empty() {
            self.set(set);
            if !unit.reads.is_empty() || !unit.writes.is_empty() {
                self.record_invocation(unit);
            }
            return;
        }
        unit.assigned = set.iter().map(|(name, ..)| name.clone()).collect();
        self.enter_by_runner(&mut unit);
        let at = self.record_invocation(unit);
        self.builtin(at);
    }

    /// `env -C dir rm x`: the program may run in that directory.
    fn enter_by_runner(&self, unit: &mut ProgramInvocation) {
        let texts: Vec<String> = unit.words.iter().map(|word| word.text().unwrap_or_default()).collect();
        for word in crate::shell::runners::entered(&texts) {
            let field = ShellField::literal(word);
            let known = |dir: &Option<ShellField>| dir.as_ref().and_then(|dir| field.seen_from(dir, dir));
            let dirs: Vec<_> = if word.is_empty() { vec![None] } else { self.state.dirs.iter().map(known).collect() };
            for dir in dirs {
                if !unit.dirs.contains(&dir) {
                    unit.dirs.push(dir);
                }
            }
        }
    }

    /// `name`, value, and whether the value is added to the old one.
    fn assigned(&mut self, assignment: &ast::Assignment) -> (String, VariableValue, bool) {
        let name = match &assignment.name {
            ast::AssignmentName::VariableName(name) => name.clone(),
            ast::AssignmentName::ArrayElementName(name, index) => {
                let index = self.word(index);
                self.rename_by_element(name, &index, assignment);
                name.clone()
            }
        };
        let element = matches!(assignment.name, ast::AssignmentName::ArrayElementName(..));
        let value = match &assignment.value {
            ast::AssignmentValue::Scalar(word) if assignment.append && !element => {
                // The old text with the new one behind it.
                let old = self.bound(&name).unwrap_or_else(VariableValue::empty);
                let new = self.value(&word.value);
                concatenated(&old, &new)
            }
            ast::AssignmentValue::Scalar(word) => self.value(&word.value),
            ast::AssignmentValue::Array(elements) => {
                let args: Vec<FlowArgument> = elements.iter().flat_map(|(_, word)| self.word(&word.value)).collect();
                VariableValue::from_args(&args)
            }
        };
        let adds = element || (assignment.append && matches!(assignment.value, ast::AssignmentValue::Array(_)));
        (name, value, adds)
    }

    pub(super) fn set(&mut self, values: Vec<(String, VariableValue, bool)>) {
        for (name, mut value, adds) in values {
            if name == "IFS" {
                self.flow.odd_patterns = true;
            }
            if adds {
                value.join(&self.bound(&name).unwrap_or_default());
            }
            self.assign(name, value);
        }
    }

    fn item(&mut self, item: &ast::CommandPrefixOrSuffixItem, unit: &mut ProgramInvocation) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect, unit),
            ast::CommandPrefixOrSuffixItem::Word(word) => {
                let words = self.word(&word.value);
                if declares(unit) {
                    self.declare(&word.value, &words);
                }
                unit.words.extend(words);
            }
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                // Of `export`, `local` and their relatives; to other programs it is a word like any other.
                let mut words = self.word(&word.value);
                if words.len() != 1 {
                    words = vec![FlowArgument::Unknown(TextOrigin::Outside)];
                }
                unit.words.extend(words);
                if declares(unit) {
                    let value = self.assigned(assignment);
                    self.set(vec![value]);
                }
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, shell) => unit.words.push(self.streamed(shell)),
        }
    }

    fn streamed(&mut self, shell: &ast::SubshellCommand) -> FlowArgument {
        let stdin = std::mem::take(&mut self.stdin);
        let printed = self.in_subshell(|this| this.list(&shell.list));
        self.stdin = stdin;
        self.stream = Some(printed);
        FlowArgument::Known(ShellField::literal(super::SUBSTITUTED))
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect, unit: &mut ProgramInvocation) {
        match redirect {
            ast::IoRedirect::File(_, kind, target) => self.file(kind, target, unit),
            ast::IoRedirect::HereDocument(_, document) => {
                let text = if document.requires_expansion {
                    self.document(&document.doc.value)
                } else {
                    Some(document.doc.value.clone())
                };
                unit.input = text.map_or_else(|| StdinSource::Unknown(document.doc.value.clone()), StdinSource::Text);
            }
            ast::IoRedirect::HereString(_, word) => {
                let value = self.value(&word.value);
                unit.input = match (value.texts.as_slice(), value.unknown) {
                    (texts, None) => {
                        StdinSource::Text(texts.iter().map(ShellField::text).collect::<Vec<_>>().join("\n"))
                    }
                    (_, Some(_)) => StdinSource::Unknown(word.value.trim_matches('"').to_owned()),
                };
            }
            ast::IoRedirect::OutputAndError(word, _) => {
                let args = self.word(&word.value);
                unit.writes.extend(args);
            }
        }
    }

    fn file(
        &mut self,
        kind: &ast::IoFileRedirectKind,
        target: &ast::IoFileRedirectTarget,
        unit: &mut ProgramInvocation,
    ) {
        let reads = matches!(kind, ast::IoFileRedirectKind::Read | ast::IoFileRedirectKind::DuplicateInput);
        match target {
            ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => {
                let is_descriptor = word.value == "-" || word.value.chars().all(|c| c.is_ascii_digit());
                if is_descriptor && matches!(target, ast::IoFileRedirectTarget::Duplicate(_)) {
                    return;
                }
                let args = self.word(&word.value);
                if reads || matches!(kind, ast::IoFileRedirectKind::ReadAndWrite) {
                    unit.input = StdinSource::File;
                    unit.reads.extend(args.iter().cloned());
                }
                if !reads {
                    unit.writes.extend(args);
                }
            }
            ast::IoFileRedirectTarget::Fd(_) => {}
            ast::IoFileRedirectTarget::ProcessSubstitution(_, shell) => {
                self.streamed(shell);
                if reads {
                    unit.input = self.stream.clone().map_or(StdinSource::File, StdinSource::Pipe);
                }
            }
        }
    }

    fn record_invocation(&mut self, unit: ProgramInvocation) -> usize {
        if self.flow.invocations.len() >= MAX_INVOCATIONS {
            self.flow.incomplete = true;
            return self.flow.invocations.len() - 1;
        }
        self.flow.invocations.push(unit);
        self.flow.invocations.len() - 1
    }

    /// The value of a variable; one that the command did not set is unknown, because a profile may have set it.
    pub(super) fn variable(&self, name: &str) -> VariableValue {
        self.bound(name).unwrap_or_else(|| VariableValue::unknown(TextOrigin::Outside))
    }

    pub(super) fn bound(&self, name: &str) -> Option<VariableValue> {
        if self.is_confused {
            return Some(VariableValue::unknown(TextOrigin::Outside));
        }
        self.state.bound(name, self.start)
    }
}

impl ShellState {
    fn bound(&self, name: &str, start: &ShellStart<'_>) -> Option<VariableValue> {
        if let Some(value) = self.variables.get(name) {
            return Some(value.clone());
        }
        match name {
            "PWD" => {
                let unknown = self.dirs.iter().any(Option::is_none).then_some(TextOrigin::Outside);
                Some(VariableValue { texts: self.dirs.iter().flatten().cloned().collect(), unknown })
            }
            "HOME" => start.home.map(|home| VariableValue::of([ShellField::literal(&home.to_string_lossy())])),
            "RANDOM" | "UID" | "EUID" | "SECONDS" | "LINENO" | "PPID" | "BASHPID" => Some(VariableValue::number()),
            name => start.variables.get(name).map(|text| VariableValue::of([ShellField::literal(text)])),
        }
    }

    fn join(&mut self, other: &Self, start: &ShellStart<'_>) {
        let names: Vec<String> = self.variables.keys().chain(other.variables.keys()).cloned().collect();
        for name in names {
            // Where it is not set it is empty.
            let mut value = self.bound(&name, start).unwrap_or_else(VariableValue::empty);
            value.join(&other.bound(&name, start).unwrap_or_else(VariableValue::empty));
            self.variables.insert(name, value);
        }
        self.join_dirs(&other.dirs);
    }

    pub(super) fn join_dirs(&mut self, dirs: &[Option<ShellField>]) {
        for dir in dirs {
            if self.dirs.contains(dir) {
                continue;
            }
            let full = self.dirs.len() >= MAX_VALUES / 8;
            self.dirs.push(if full { None } else { dir.clone() });
        }
    }
}

fn declares(unit: &ProgramInvocation) -> bool {
    let name = unit.words.first().and_then(FlowArgument::text);
    name.is_some_and(|name| matches!(name.as_str(), "export" | "declare" | "typeset" | "local" | "readonly"))
}

fn concatenated(old: &VariableValue, new: &VariableValue) -> VariableValue {
    let mut value = VariableValue::default();
    for old in &old.texts {
        for new in &new.texts {
            let mut text = old.clone();
            text.push_field(new);
            value.join(&VariableValue::of([text]));
        }
    }
    value.join(&VariableValue { texts: Vec::new(), unknown: old.unknown.or(new.unknown) });
    value
}
