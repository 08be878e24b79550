//! Finds what can be mutated in a source file. A mutant is a set of insertions: the original code stays, and a switch
//! chooses between it and the mutation at run time. So all mutants are compiled at once.

use super::edits::Edit;
use anyhow::{Context, Result};
use proc_macro2::Span;
use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ReturnType, Signature, Type, UnOp};

/// One possible change of the program.
#[derive(Debug, Clone)]
pub(super) struct Mutant {
    /// File, function, change and a count: the same mutant has the same key after changes elsewhere in the file.
    pub(super) key: String,
    pub(super) file: String,
    pub(super) first_line: usize,
    pub(super) last_line: usize,
    /// Byte offset in the file.
    pub(super) position: usize,
    change: Change,
}

#[derive(Debug, Clone)]
enum Change {
    /// The function returns this at once. The offset is behind its opening brace.
    Returns { at: usize, value: &'static str },
    /// The result of the expression is negated.
    Negates { start: usize, end: usize },
    /// A comparison includes or excludes equality: the ranges of its sides, the two operators, and the line
    /// breaks between the sides.
    Boundary { left: (usize, usize), right: (usize, usize), operators: (&'static str, &'static str), lines: usize },
    /// `&&` becomes `||` or the other way round.
    Connects { left: (usize, usize), right: (usize, usize) },
    /// A `!` is left out.
    KeepsNot { start: usize, end: usize },
    /// An arm never matches. The offset is behind its pattern, or the guard's range.
    DropsArm { at: usize, guard: Option<(usize, usize)> },
}

impl Mutant {
    /// The edits that build this mutant in, switched on by `number`.
    pub(super) fn edits(&self, number: usize) -> Vec<Edit> {
        let on = format!("crate::mutant_switch::is_on({number})");
        let around = |(start, end): (usize, usize), before: &str, after: &str| {
            Edit::around(start, end, number, before, after).to_vec()
        };
        match &self.change {
            Change::Returns { at, value } => vec![Edit::insert(*at, format!(" if {on} {{ return {value}; }} "))],
            Change::Negates { start, end } | Change::KeepsNot { start, end } => {
                around((*start, *end), &format!("({on} ^ ("), "))")
            }
            Change::Boundary { left, right, operators: (old, new), lines } => {
                let mut edits = around((left.0, right.1), "({ let (left_side, right_side) = ", "");
                edits.extend(around(*left, "(&(", "), "));
                edits.push(Edit::replace(left.1, right.0, "\n".repeat(*lines)));
                let choice =
                    format!(")); if {on} {{ left_side {new} right_side }} else {{ left_side {old} right_side }} }})");
                edits.extend(around(*right, "&(", &choice));
                edits
            }
            Change::Connects { left, right } => {
                let mut edits = around((left.0, right.1), "((", &format!(") ^ {on})"));
                edits.extend(around(*left, "((", &format!(") ^ {on})")));
                edits.extend(around(*right, "((", &format!(") ^ {on})")));
                edits
            }
            Change::DropsArm { at, guard: None } => vec![Edit::insert(*at, format!(" if !{on}"))],
            Change::DropsArm { guard: Some(range), .. } => around(*range, &format!("!{on} && ("), ")"),
        }
    }
}

/// All mutants of one file, in the order of the text.
pub(super) fn mutants(file: &str, text: &str) -> Result<Vec<Mutant>> {
    let parsed = syn::parse_file(text).with_context(|| format!("{file} cannot be parsed"))?;
    let mut finder = Finder { file, text, functions: Vec::new(), counts: BTreeMap::new(), found: Vec::new() };
    finder.visit_file(&parsed);
    Ok(finder.found)
}

struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    functions: Vec<String>,
    counts: BTreeMap<String, usize>,
    found: Vec<Mutant>,
}

fn range(span: Span) -> (usize, usize) {
    let bytes = span.byte_range();
    (bytes.start, bytes.end)
}

impl Finder<'_> {
    fn add(&mut self, span: Span, what: &str, change: Change) {
        let Some(function) = self.functions.last() else { return };
        let name = format!("{} {function}: {what}", self.file.trim_start_matches("crates/"));
        let count = self.counts.entry(name.clone()).or_default();
        *count += 1;
        let key = if *count == 1 { name } else { format!("{name} #{count}") };
        self.found.push(Mutant {
            key,
            file: self.file.to_owned(),
            first_line: span.start().line,
            last_line: span.end().line,
            position: range(span).0,
            change,
        });
    }

    /// The text of a range on one line, shortened.
    fn quoted(&self, (start, end): (usize, usize)) -> String {
        let words: Vec<&str> = self.text.get(start..end).unwrap_or_default().split_whitespace().collect();
        let line = words.join(" ").replace('|', "¦");
        if line.chars().count() > 70 { line.chars().take(69).chain(['…']).collect() } else { line }
    }

    fn function(&mut self, signature: &Signature, body: &Block, visit: impl FnOnce(&mut Self)) {
        if signature.constness.is_some() {
            return;
        }
        self.functions.push(signature.ident.to_string());
        let at = range(body.brace_token.span.open()).1;
        for value in replacements(&signature.output) {
            self.add(signature.span(), &format!("returns {value}"), Change::Returns { at, value });
        }
        visit(self);
        self.functions.pop();
    }

    fn comparison(&mut self, expression: &syn::ExprBinary) {
        let span = expression.span();
        let (whole, left, right) = (range(span), range(expression.left.span()), range(expression.right.span()));
        let quoted = self.quoted(whole);
        self.add(span, &format!("negated `{quoted}`"), Change::Negates { start: whole.0, end: whole.1 });
        let operators = match expression.op {
            BinOp::Lt(_) => ("<", "<="),
            BinOp::Le(_) => ("<=", "<"),
            BinOp::Gt(_) => (">", ">="),
            BinOp::Ge(_) => (">=", ">"),
            _ => return,
        };
        let lines = self.text.get(left.1..right.0).unwrap_or_default().matches('\n').count();
        let change = Change::Boundary { left, right, operators, lines };
        self.add(span, &format!("{} in `{quoted}`", operators.1), change);
    }

    fn connection(&mut self, expression: &syn::ExprBinary, other: &str) {
        if has_let(&expression.left) || has_let(&expression.right) {
            return;
        }
        let (left, right) = (range(expression.left.span()), range(expression.right.span()));
        let quoted = self.quoted(range(expression.span()));
        self.add(expression.span(), &format!("{other} in `{quoted}`"), Change::Connects { left, right });
    }
}

impl Finder<'_> {
    /// Conditions without an operator of their own.
    fn condition(&mut self, condition: &Expr) {
        if matches!(condition, Expr::Binary(_) | Expr::Unary(_) | Expr::Let(_)) {
            return;
        }
        let (start, end) = range(condition.span());
        let quoted = self.quoted((start, end));
        self.add(condition.span(), &format!("negated `{quoted}`"), Change::Negates { start, end });
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig, &item.block, |finder| visit::visit_block(finder, &item.block));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block, |finder| visit::visit_block(finder, &item.block));
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}

    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_expr_binary(&mut self, expression: &'ast syn::ExprBinary) {
        match expression.op {
            BinOp::And(_) => self.connection(expression, "¦¦"),
            BinOp::Or(_) => self.connection(expression, "&&"),
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                self.comparison(expression);
            }
            _ => {}
        }
        visit::visit_expr_binary(self, expression);
    }

    fn visit_expr_if(&mut self, expression: &'ast syn::ExprIf) {
        self.condition(&expression.cond);
        visit::visit_expr_if(self, expression);
    }

    fn visit_expr_unary(&mut self, expression: &'ast syn::ExprUnary) {
        if matches!(expression.op, UnOp::Not(_)) {
            let (start, end) = range(expression.span());
            let quoted = self.quoted((start, end));
            self.add(expression.span(), &format!("`!` left out of `{quoted}`"), Change::KeepsNot { start, end });
        }
        visit::visit_expr_unary(self, expression);
    }

    fn visit_expr_match(&mut self, expression: &'ast syn::ExprMatch) {
        let takes_all = |arm: &syn::Arm| matches!(arm.pat, syn::Pat::Wild(_)) && arm.guard.is_none();
        if expression.arms.last().is_some_and(takes_all) {
            for arm in expression.arms.iter().filter(|arm| !takes_all(arm)) {
                let guard = arm.guard.as_ref().map(|(_, guard)| &**guard);
                if guard.is_some_and(has_let) {
                    continue;
                }
                let at = range(arm.pat.span());
                let quoted = self.quoted(at);
                if let Some(guard) = guard {
                    self.condition(guard);
                }
                let guard = guard.map(|guard| range(guard.span()));
                self.add(arm.pat.span(), &format!("arm left out `{quoted}`"), Change::DropsArm { at: at.1, guard });
            }
        }
        visit::visit_expr_match(self, expression);
    }
}

/// True for code that is compiled for tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || (attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string().contains("test")))
    })
}

/// True when a chain of `&&` binds with `let`, which cannot be put into brackets.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// What a function of this type could return without looking at anything.
fn replacements(output: &ReturnType) -> &'static [&'static str] {
    let ReturnType::Type(_, of) = output else { return &["()"] };
    let text = type_text(of);
    match text.as_str() {
        "()" => &["()"],
        "bool" => &["true", "false"],
        "usize" | "u64" | "u32" | "u8" | "i64" | "i32" => &["0"],
        "String" => &["String::new()"],
        "&str" | "&'staticstr" => &["\"\""],
        text if text.starts_with("Option<") => &["None"],
        text if text.starts_with("Vec<") => &["Vec::new()"],
        text if text.contains("Result<()") => &["Ok(())"],
        text if text.contains("Result<bool") => &["Ok(true)", "Ok(false)"],
        text if text.contains("Result<Option<") => &["Ok(None)"],
        text if text.contains("Result<Vec<") => &["Ok(Vec::new())"],
        text if text.contains("BTreeMap<") || text.contains("BTreeSet<") => &["Default::default()"],
        _ => &[],
    }
}

fn type_text(of: &Type) -> String {
    let mut text = of.span().source_text().unwrap_or_default();
    text.retain(|c| !c.is_whitespace());
    text
}

#[cfg(test)]
mod tests {
    use super::super::edits;
    use super::*;

    const SOURCE: &str = "const LIMIT: bool = 1 < 2;\nfn allowed(a: u32, b: bool) -> bool {\n    match a {\n        1 => !b,\n        2 if b => a < 3,\n        _ => a == 4 && b,\n    }\n}\n#[cfg(test)]\nmod tests { fn f() -> bool { true } }\n";

    #[test]
    fn functions_operators_and_arms_are_found_and_tests_are_not() {
        let found = mutants("crates/x/src/lib.rs", SOURCE).unwrap();
        let names: Vec<&str> =
            found.iter().map(|mutant| mutant.key.strip_prefix("x/src/lib.rs allowed: ").unwrap()).collect();
        assert_eq!(
            names,
            [
                "returns true",
                "returns false",
                "arm left out `1`",
                "negated `b`",
                "arm left out `2`",
                "`!` left out of `!b`",
                "negated `a < 3`",
                "<= in `a < 3`",
                "¦¦ in `a == 4 && b`",
                "negated `a == 4`"
            ]
        );
    }

    #[test]
    fn all_mutants_together_are_still_a_program() {
        let found = mutants("lib.rs", SOURCE).unwrap();
        let all: Vec<Edit> = found.iter().enumerate().flat_map(|(number, mutant)| mutant.edits(number)).collect();
        let text = edits::apply(SOURCE, all);
        assert!(syn::parse_file(&text).is_ok(), "{text}");
        assert_eq!(text.matches("is_on(").count(), 12, "{text}");
        assert_eq!(text.lines().count(), SOURCE.lines().count());
    }
}
