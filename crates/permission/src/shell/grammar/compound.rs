//! Commands made of other commands (loops, branches, groups) and `[[ ]]` tests.

use super::{CommandPosition, GrammarReader, looks_like_commands, plain_unit};
use crate::shell::script::{ReadingStyle, ShellWord, SimpleCommand, SubstitutedText, UnitJoin, join_raw};
use crate::shell::{expansion, late_binding, variables};
use brush_parser::ast;

impl GrammarReader {
    pub(super) fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::Arithmetic(arithmetic) => {
                self.arithmetic(&arithmetic.expr.value);
                // `( ( a b ) )`: two shells inside each other are taken for a calculation.
                if looks_like_commands(&arithmetic.expr.value) {
                    self.read_code(&arithmetic.expr.value);
                }
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                for expr in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    self.arithmetic(&expr.value);
                }
                self.inner_list(&clause.body.list);
            }
            ast::CompoundCommand::BraceGroup(group) => self.inner_list(&group.list),
            ast::CompoundCommand::Subshell(shell) => self.inner_list(&shell.list),
            ast::CompoundCommand::ForClause(clause) => self.for_each(clause),
            ast::CompoundCommand::CaseClause(clause) => self.case(clause),
            ast::CompoundCommand::IfClause(clause) => {
                self.inner_list(&clause.condition);
                self.inner_list(&clause.then);
                for branch in clause.elses.iter().flatten() {
                    branch.condition.iter().for_each(|list| self.inner_list(list));
                    self.inner_list(&branch.body);
                }
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                let from = self.out.units.len();
                self.inner_list(&clause.0);
                self.inner_list(&clause.1.list);
                self.repeated(from);
            }
            ast::CompoundCommand::Coprocess(process) => {
                self.refuse("it starts a coprocess");
                self.scopes += 1;
                self.command(&process.body, CommandPosition { join: UnitJoin::Then, scope: self.scopes, feeds: false });
            }
        }
    }

    /// The body once for each value, where the values are plain.
    fn for_each(&mut self, clause: &ast::ForClauseCommand) {
        let name = &clause.variable_name;
        let mut values = Vec::new();
        for value in clause.values.iter().flatten() {
            match variables::range(&value.value) {
                Some(numbers) => values.extend(numbers),
                None => values.push(self.word(value)),
            }
        }
        if values.iter().any(|value| !value.text.chars().all(|c| c.is_ascii_digit())) {
            self.out.is_late_bound |= late_binding::is_computed(name);
            self.out.filled.push(name.clone());
        }
        if self.loops.contains(name) {
            self.refuse("two loops use one variable");
        }
        let from = self.out.units.len();
        self.loops.push(name.clone());
        self.inner_list(&clause.body.list);
        self.loops.pop();
        self.repeated(from);
        let mut body = self.out.units.split_off(from);
        let is_unknown = values.iter().any(|value| value.substituted.is_some()) || clause.values.is_none();
        let units = variables::unroll(name, &values, &body).filter(|_| !is_unknown);
        if let Some(units) = units {
            self.out.units.extend(units);
            return;
        }
        if self.style == ReadingStyle::Relaxed && clause.values.is_some() && variables::is_ordinary(name) {
            // The values are judged as if they were printed.
            let echo = ShellWord { text: "echo".into(), raw: "echo".into(), ..ShellWord::default() };
            let words = [echo].into_iter().chain(values).collect();
            let scope = self.scopes;
            self.push_unit(SimpleCommand { words, scope, ..plain_unit(UnitJoin::Then) });
            let names = [name.clone()];
            for unit in &mut body {
                variables::make_unknown(unit, &names);
            }
        } else {
            self.refuse("it has an expansion");
        }
        self.out.units.extend(body);
    }

    /// What was read from `from` on runs more than once: a second run would start where the first one ended.
    fn repeated(&mut self, from: usize) {
        let moves = |unit: &SimpleCommand| {
            unit.words.iter().any(|w| matches!(w.text.as_str(), "cd" | "pushd" | "popd" | "chdir"))
        };
        if self.out.units[from..].iter().any(moves) {
            self.refuse("it changes the directory in a loop");
        }
    }

    fn case(&mut self, clause: &ast::CaseClauseCommand) {
        self.refuse("it has a case statement");
        self.word(&clause.value);
        for item in &clause.cases {
            for pattern in &item.patterns {
                self.word(pattern);
            }
            item.cmd.iter().for_each(|list| self.inner_list(list));
        }
    }

    /// `[[ -f x ]]` is what `test -f x` is; anything beyond plain tests of files and texts refuses.
    pub(super) fn plain_test(&mut self, expr: &ast::ExtendedTestExpr, at: CommandPosition) {
        let plain = |text: &str| ShellWord { text: text.into(), raw: text.into(), ..ShellWord::default() };
        let words = match expr {
            ast::ExtendedTestExpr::UnaryTest(operator, operand)
                if !matches!(operator.to_string().as_str(), "-v" | "-R" | "-o" | "-t") =>
            {
                vec![plain("test"), plain(&operator.to_string()), self.argument(operand)]
            }
            ast::ExtendedTestExpr::BinaryTest(
                operator @ (ast::BinaryPredicate::StringExactlyMatchesPattern
                | ast::BinaryPredicate::StringDoesNotExactlyMatchPattern
                | ast::BinaryPredicate::StringExactlyMatchesString
                | ast::BinaryPredicate::StringDoesNotExactlyMatchString),
                left,
                right,
            ) => vec![plain("test"), self.argument(left), plain(&operator.to_string()), self.argument(right)],
            _ => return self.refuse("it has a [[ ]] test"),
        };
        let written = join_raw(&words);
        let mut unit = SimpleCommand { words, scope: at.scope, feeds: at.feeds, written, ..plain_unit(at.join) };
        if self.style == ReadingStyle::Relaxed {
            variables::make_unknown(&mut unit, &self.filled);
        }
        // Between double brackets nothing is split.
        for word in &mut unit.words {
            if let Some(SubstitutedText::Text { quoted, .. }) = &mut word.substituted {
                *quoted = true;
            }
        }
        self.push_unit(unit);
    }

    pub(super) fn test(&mut self, expr: &ast::ExtendedTestExpr) {
        match expr {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ast::ExtendedTestExpr::UnaryTest(operator, word) => {
                let names = [
                    ast::UnaryPredicate::ShellVariableIsSetAndAssigned,
                    ast::UnaryPredicate::ShellVariableIsSetAndNameRef,
                ];
                let is_named = names.iter().any(|known| known.to_string() == operator.to_string());
                self.out.is_late_bound |= is_named && late_binding::is_evaluated(&word.value.replace(['\'', '"'], ""));
                // `-v 'a[$(x)]'` evaluates what the quotes hold.
                expansion::walk(self, &word.value.replace('\'', ""));
                self.word(word);
            }
            ast::ExtendedTestExpr::BinaryTest(operator, left, right) => {
                let (left, right) = (self.word(left), self.word(right));
                if matches!(operator.to_string().as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") {
                    self.out.arithmetic.extend([left.text, right.text]);
                }
            }
        }
    }
}
