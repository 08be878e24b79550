//! Builds nodes from the events of the YAML parser: lines are recorded, repeated keys are kept, aliases are copied up
//! to a limit.

use super::{FrontMatterField, YamlNode};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::BTreeMap;

/// The largest number of nodes in a block, including copies of anchors.
const MAX_NODES: usize = 20_000;
const MAX_DEPTH: usize = 32;

/// Why a block is not YAML: the line within it (from 0) and the parser's message.
#[derive(Debug)]
pub(super) struct YamlError {
    pub(super) line: usize,
    pub(super) problem: String,
}

/// The fields of a block that is one mapping. `first_line` is the line of the block in the file.
pub(super) fn mapping(text: &str, first_line: usize) -> Result<Vec<FrontMatterField>, YamlError> {
    // YAML takes it for the end of a line, and nobody else does: the numbers of all later lines would be wrong.
    if let Some((at, _)) = text.match_indices('\r').find(|(at, _)| !text[at + 1..].starts_with('\n')) {
        let line = text[..at].matches('\n').count();
        return Err(YamlError { line, problem: "there is a carriage return within a line".into() });
    }
    let mut builder = NodeBuilder { parser: Parser::new_from_str(text), anchors: BTreeMap::new(), nodes: 0 };
    let (first, span) = loop {
        match builder.next()? {
            (Event::StreamStart | Event::DocumentStart(_), _) => {}
            (Event::StreamEnd | Event::DocumentEnd, _) => return Ok(Vec::new()),
            other => break other,
        }
    };
    let fields = match first {
        Event::MappingStart(..) => builder.top_level(first_line)?,
        // A block that contains only comments.
        Event::Scalar(value, ..) if value.is_empty() => Vec::new(),
        _ => return Err(fault(span, "it is not a list of `key: value` fields")),
    };
    // A second document would be lost without a message.
    match builder.next()? {
        (Event::DocumentEnd, span) => match builder.next()? {
            (Event::StreamEnd, _) => Ok(fields),
            _ => Err(fault(span, "there is more than one document")),
        },
        (_, span) => Err(fault(span, "there is more than one value")),
    }
}

fn fault(span: Span, problem: &str) -> YamlError {
    YamlError { line: span.start.line().saturating_sub(1), problem: problem.to_owned() }
}

struct NodeBuilder<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    anchors: BTreeMap<usize, YamlNode>,
    nodes: usize,
}

impl<'a> NodeBuilder<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), YamlError> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let line = error.marker().line().saturating_sub(1);
                Err(YamlError { line, problem: error.info().to_owned() })
            }
            None => Err(YamlError { line: 0, problem: "it ends too early".into() }),
        }
    }

    fn top_level(&mut self, first_line: usize) -> Result<Vec<FrontMatterField>, YamlError> {
        let mut fields = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(fields);
            }
            let line = first_line + span.start.line().saturating_sub(1);
            let key = self.key(event, span)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span, 0)?;
            fields.push(FrontMatterField { key, value, line });
        }
    }

    fn key(&mut self, event: Event<'a>, span: Span) -> Result<String, YamlError> {
        match self.node(event, span, 0)? {
            YamlNode::Plain(text) | YamlNode::Text(text) => Ok(text),
            YamlNode::Null => Ok(String::new()),
            YamlNode::List(_) | YamlNode::Map(_) => Err(fault(span, "a key is not a word")),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<YamlNode, YamlError> {
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            return Err(fault(span, "it is nested too deep or too large"));
        }
        let (anchor, node) = match event {
            Event::Scalar(value, style, anchor, _) => (anchor, scalar(&value, style)),
            Event::Alias(id) => {
                let node = self.anchors.get(&id).cloned().unwrap_or(YamlNode::Null);
                self.nodes += size(&node);
                (0, node)
            }
            Event::SequenceStart(anchor, _) => (anchor, self.list(depth)?),
            Event::MappingStart(anchor, _) => (anchor, self.map(depth)?),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => return Err(fault(span, "a value is missing")),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<YamlNode, YamlError> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(YamlNode::List(items)),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<YamlNode, YamlError> {
        let mut members = Vec::new();
        loop {
            match self.next()? {
                (Event::MappingEnd, _) => return Ok(YamlNode::Map(members)),
                (event, span) => {
                    let key = self.key(event, span)?;
                    let (event, span) = self.next()?;
                    members.push((key, self.node(event, span, depth + 1)?));
                }
            }
        }
    }
}

fn scalar(value: &str, style: ScalarStyle) -> YamlNode {
    match style {
        ScalarStyle::Plain if value.is_empty() || value == "~" || value == "null" => YamlNode::Null,
        ScalarStyle::Plain => YamlNode::Plain(value.to_owned()),
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted | ScalarStyle::Literal | ScalarStyle::Folded => {
            YamlNode::Text(value.to_owned())
        }
    }
}

fn size(node: &YamlNode) -> usize {
    match node {
        YamlNode::Null | YamlNode::Plain(_) | YamlNode::Text(_) => 1,
        YamlNode::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        YamlNode::Map(members) => 1 + members.iter().map(|(_, value)| size(value)).sum::<usize>(),
    }
}
