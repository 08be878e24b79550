//! Parses argv into `Args`, with a parser built from the flag table. Errors are one line, worded as scripts expect.

use crate::args::Args;
use crate::flags::{CliFlag, FLAGS, FlagEffect, FlagGroup, FlagKind};
use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsString;

const PROMPT: &str = "prompt";

/// Results other than a session to run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParseExit {
    Help,
    Version,
    Usage(String),
}

/// Parses everything after the program name.
pub(crate) fn parse(argv: &[OsString]) -> Result<Args, ParseExit> {
    // Most runs name few flags, and building the others takes longer than the rest of the parsing. Only a word that
    // begins like a flag could mean something else with all of them, and such a word fails here.
    let named: Vec<&'static CliFlag> = FLAGS.iter().filter(|flag| may_be_named(flag, argv)).collect();
    let matches = command_of(named.iter().copied())
        .try_get_matches_from(argv)
        .or_else(|_| command().try_get_matches_from(argv))
        .map_err(|error| explain(&error))?;
    let mut args = Args::default();
    let given = named.into_iter().filter(|f| matches.value_source(f.long).is_some_and(is_given));
    for flag in given {
        apply(flag, values_of(flag, &matches), &mut args).map_err(ParseExit::Usage)?;
    }
    args.prompt = prompt(&matches).map_err(ParseExit::Usage)?;
    Ok(args)
}

/// Whether a word could name the flag, alone, with a value, or among other letters.
fn may_be_named(flag: &CliFlag, argv: &[OsString]) -> bool {
    let names_it = |word: &[u8]| match word.strip_prefix(b"--") {
        Some(rest) => {
            let name = rest.split(|byte| *byte == b'=').next().unwrap_or(rest);
            std::iter::once(&flag.long).chain(flag.aliases).any(|long| long.as_bytes() == name)
        }
        None => word.first() == Some(&b'-') && flag.short.is_some_and(|short| word.contains(&(short as u8))),
    };
    argv.iter().any(|word| names_it(word.as_encoded_bytes()))
}

fn is_given(source: clap::parser::ValueSource) -> bool {
    source == clap::parser::ValueSource::CommandLine
}

fn values_of(flag: &CliFlag, matches: &ArgMatches) -> Vec<String> {
    if flag.kind == FlagKind::Switch {
        return Vec::new();
    }
    let values = matches.get_many::<OsString>(flag.long).into_iter().flatten();
    values.map(|v| v.to_string_lossy().into_owned()).collect()
}

fn apply(flag: &'static CliFlag, values: Vec<String>, args: &mut Args) -> Result<(), String> {
    if flag.kind == FlagKind::Greedy && values.len() > 1 {
        args.greedy.push(flag.long);
    }
    match flag.effect {
        FlagEffect::Set(set) => {
            set(args, values);
            Ok(())
        }
        FlagEffect::Check(check) => {
            let shown = values.last().cloned().unwrap_or_default();
            check(args, values)
                .map_err(|why| format!("error: option '{}' argument '{shown}' is invalid. {why}", flag.label()))
        }
        FlagEffect::Ignored => {
            args.without_effect.push(flag.long);
            Ok(())
        }
        FlagEffect::Refused(why) => Err(format!("error: option '{}' is not available: {why}", flag.label())),
    }
}

/// The prompt. Empty words are dropped: some hosts send them after a switch.
fn prompt(matches: &ArgMatches) -> Result<Option<String>, String> {
    let words = matches.get_many::<OsString>(PROMPT).into_iter().flatten();
    let mut words: Vec<String> = words.map(|w| w.to_string_lossy().into_owned()).filter(|w| !w.is_empty()).collect();
    if words.len() > 1 {
        return Err(format!(
            "error: too many arguments. Expected 1 prompt but got {}; put quotes around it",
            words.len()
        ));
    }
    Ok(words.pop())
}

/// The session command line. Subcommands are dispatched before this parser is built.
pub(crate) fn command() -> Command {
    command_of(FLAGS)
}

fn command_of(flags: impl IntoIterator<Item = &'static CliFlag>) -> Command {
    let mut command = Command::new("gimlet")
        .no_binary_name(true)
        .args_override_self(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .max_term_width(100)
        .override_usage("gimlet [options] [prompt]\n       gimlet <command> [options]")
        .help_template("gimlet, a coding agent for the command line\n\nUsage: {usage}\n\n{all-args}{after-help}");
    for flag in flags {
        command = command.arg(argument(flag));
    }
    let last = |name, short, action, help| {
        Arg::new(name).long(name).short(short).action(action).help(help).help_heading(FlagGroup::Diagnosis.heading())
    };
    // clap's Version action needs a version; the text shown is ours.
    command = command
        .version(wire::version::COMPAT)
        .arg(last("help", 'h', ArgAction::Help, "Show this help"))
        .arg(last("version", 'v', ArgAction::Version, "Show the version"));
    let prompt = Arg::new(PROMPT)
        .value_name("prompt")
        .num_args(0..)
        .action(ArgAction::Append)
        .value_parser(ValueParser::os_string())
        .hide(true);
    command.arg(prompt)
}

fn argument(flag: &'static CliFlag) -> Arg {
    let mut arg = Arg::new(flag.long).long(flag.long).help(flag.help).hide(flag.group == FlagGroup::Hidden);
    if let Some(short) = flag.short {
        arg = arg.short(short);
    }
    if flag.group != FlagGroup::Hidden {
        arg = arg.help_heading(flag.group.heading());
    }
    arg = arg.aliases(flag.aliases.iter().copied());
    if flag.kind == FlagKind::Switch {
        return arg.action(ArgAction::SetTrue);
    }
    arg = arg.value_name(flag.value).value_parser(ValueParser::os_string());
    match flag.kind {
        FlagKind::Switch => arg,
        FlagKind::One => arg.action(ArgAction::Set).num_args(1).allow_hyphen_values(true),
        FlagKind::Repeat => arg.action(ArgAction::Append).num_args(1).allow_hyphen_values(true),
        FlagKind::Optional => arg.action(ArgAction::Set).num_args(0..=1),
        FlagKind::OptionalEquals => arg.action(ArgAction::Set).num_args(0..=1).require_equals(true),
        FlagKind::Greedy => arg.action(ArgAction::Append).num_args(1..),
    }
}

fn explain(error: &clap::Error) -> ParseExit {
    match error.kind() {
        ErrorKind::DisplayHelp => return ParseExit::Help,
        ErrorKind::DisplayVersion => return ParseExit::Version,
        _ => {}
    }
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let named = context(ContextKind::InvalidArg).unwrap_or_default();
    ParseExit::Usage(match error.kind() {
        ErrorKind::UnknownArgument => {
            let near = context(ContextKind::SuggestedArg).map(|s| format!("\n(Did you mean {s}?)")).unwrap_or_default();
            format!("error: unknown option '{named}'{near}")
        }
        ErrorKind::TooManyValues => format!("error: option '{named}' does not take a value"),
        ErrorKind::InvalidValue | ErrorKind::NoEquals | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("error: option '{}' argument missing", label_of(&named))
        }
        _ => error.to_string().lines().next().unwrap_or("error: invalid command line").to_owned(),
    })
}

/// clap names an option in its own style; error messages use the label of the table.
fn label_of(named: &str) -> String {
    let long = named.split([' ', '=']).next().unwrap_or(named).trim_start_matches('-');
    FLAGS.iter().find(|f| f.long == long).map_or_else(|| named.to_owned(), CliFlag::label)
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
