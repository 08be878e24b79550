//! Read: shows one file, or lists one directory. The kind of file is determined from its bytes, not its name. Devices and FIFOs are refused
//! without being opened, memory is bounded for any file size, and media that cannot be processed become text, never
//! an invalid request.

mod directory;
mod image;
mod notebook;
mod pdf;
mod scale;
mod text;

use crate::contract::{
    CallConcurrency, CallContext, InputError, PathDiscovery, Tool, ToolCall, ToolOutcome, ToolSpec, Workspace,
};
use crate::facts::{AgentUse, CallBounds, OutputBound, TimeBound, ToolClass, ToolFacts};
use crate::file_work::{self, PathKind};
use crate::input::ToolInput;
use crate::missing_file;
use crate::read_state::FileStamp;
use crate::session_facts::is_compatible_output;
use crate::text_file;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use permission::Access;
use serde_json::value::RawValue;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek};
use std::path::{Path, PathBuf};

pub struct ReadTool;

const FACTS: ToolFacts = ToolFacts {
    bounds: CallBounds { time: TimeBound::Work, output: OutputBound::Limited },
    agents: AgentUse::Always,
    is_basic: true,
    ..ToolFacts::of(ToolClass::Read).reads("file_path")
};

static SPEC: ToolSpec = ToolSpec::of("Read", include_str!("read.md"), include_str!("read.schema.json"), FACTS);

/// An image for a prompt: its media type and base64 data, within the size limits of a request. The error completes
/// "the picture …".
pub fn picture(bytes: &[u8]) -> Result<(&'static str, String), String> {
    let kind = image::ImageKind::sniff(bytes).ok_or("is in no format that can be sent")?;
    let fitted = image::fit(bytes, kind)?;
    Ok((fitted.kind.media_type(), fitted.data))
}

impl Tool for ReadTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn parse(&self, input: &RawValue) -> Result<Box<dyn ToolCall>, InputError> {
        let input = ToolInput::of("Read", input)?;
        let limit = input.opt_number("limit")?;
        if limit == Some(0) {
            return Err(input.refuse("limit", "must be 1 or more"));
        }
        let pages = match input.opt_string("pages")?.filter(|p| !p.trim().is_empty()) {
            Some(text) => Some(pdf::PageRange::parse(&text).map_err(|why| input.refuse("pages", &why))?),
            None => None,
        };
        Ok(Box::new(ReadFileCall {
            file_path: input.string("file_path")?,
            offset: input.opt_number("offset")?,
            limit,
            pages,
            allow_large: input.opt_bool("allow_large")?.unwrap_or(false),
        }))
    }
}

#[derive(Clone, Debug)]
struct ReadFileCall {
    file_path: String,
    offset: Option<u64>,
    limit: Option<u64>,
    pages: Option<pdf::PageRange>,
    allow_large: bool,
}

impl ToolCall for ReadFileCall {
    fn access(&self, at: &Workspace) -> Vec<Access> {
        vec![Access::ReadPath(at.absolute(&self.file_path))]
    }

    fn concurrency(&self) -> CallConcurrency {
        CallConcurrency::Shared
    }

    fn run(self: Box<Self>, cx: CallContext) -> BoxFuture<'static, ToolOutcome> {
        async move {
            let path = cx.workspace.absolute(&self.file_path);
            let work = {
                let cx = cx.clone();
                move || self.read(&cx, &path)
            };
            match file_work::run_until_cancelled(&cx, work).await {
                Ok(ReadStep::Done(outcome)) => outcome,
                Ok(ReadStep::Render(job)) => pdf::render(&cx, job).await.unwrap_or_else(|failed| failed),
                Err(refused) => refused,
            }
        }
        .boxed()
    }
}

/// The result of the blocking part of a read.
enum ReadStep {
    Done(ToolOutcome),
    /// PDF pages must be rendered by an installed program.
    Render(pdf::RenderJob),
}

/// An open regular file, with its first bytes.
struct OpenFile {
    path: PathBuf,
    file: File,
    meta: Metadata,
    head: Vec<u8>,
    /// The file as it was before anything was read from it.
    stamp: Option<FileStamp>,
}

/// Bytes needed to determine the kind of file.
const HEAD_BYTES: u64 = 8 * 1024;

impl OpenFile {
    fn open(path: PathBuf, meta: Metadata) -> io::Result<Self> {
        let (mut file, opened) = sys::fs::open_regular(&path)?;
        let stamp = FileStamp::settled(&opened);
        // With room for one byte more the end is found without a read into a small buffer.
        let mut head = Vec::with_capacity(opened.len().min(HEAD_BYTES) as usize + 1);
        file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        file.rewind()?;
        Ok(Self { path, file, meta, head, stamp })
    }

    /// All bytes, or an error above `limit` bytes. The size is checked while reading, because a file may grow and
    /// `/proc` files report no size.
    fn all(&mut self, limit: u64) -> Result<Vec<u8>, ToolOutcome> {
        let mut bytes = Vec::with_capacity(self.meta.len().min(limit) as usize);
        let taken = self.file.by_ref().take(limit + 1).read_to_end(&mut bytes);
        taken.map_err(|e| file_work::io_error("read", &self.path, &e))?;
        if bytes.len() as u64 > limit {
            let path = self.path.display();
            return Err(ToolOutcome::failed(format!(
                "{path} is larger than {} MB and cannot be read whole.",
                limit >> 20
            )));
        }
        Ok(bytes)
    }
}

impl ReadFileCall {
    fn read(&self, cx: &CallContext, path: &Path) -> Result<ReadStep, ToolOutcome> {
        if !(cx.may_read)(path, PathDiscovery::Named) {
            return Err(file_work::denied_error(path));
        }
        let meta = match file_work::inspect(path).map_err(|e| file_work::io_error("read", path, &e))? {
            PathKind::File(meta) => meta,
            PathKind::Nothing => return Err(ToolOutcome::failed(missing_file::text(path, cx))),
            PathKind::Special(kind) => return Err(file_work::special_file_error(path, kind)),
            PathKind::Directory if !is_compatible_output(&cx.state.facts.env) => {
                return directory::show(cx, path).map(ReadStep::Done);
            }
            PathKind::Directory => {
                return Err(ToolOutcome::failed(format!(
                    "EISDIR: {} is a directory. List it with Glob or `ls`.",
                    path.display()
                )));
            }
        };
        let source = OpenFile::open(path.to_path_buf(), meta).map_err(|e| file_work::io_error("read", path, &e))?;
        self.show(cx, source)
    }

    fn show(&self, cx: &CallContext, source: OpenFile) -> Result<ReadStep, ToolOutcome> {
        if let Some(kind) = image::ImageKind::sniff(&source.head) {
            return image::show(cx, source, kind).map(ReadStep::Done);
        }
        if source.head.starts_with(b"%PDF-") {
            return pdf::show(cx, source, self.pages);
        }
        if source.head.is_empty() && source.meta.len() == 0 && has_image_name(&source.path) {
            return Err(ToolOutcome::failed(format!("{} is an empty file, not an image.", source.path.display())));
        }
        if file_work::is_notebook(&source.path) && !source.head.is_empty() {
            let cap = text::token_cap(&cx.state.facts.env, self.allow_large);
            return notebook::show(cx, source, cap).map(ReadStep::Done);
        }
        if text_file::looks_binary(&source.head) {
            return Err(binary(&source.path));
        }
        text::show(cx, source, self).map(ReadStep::Done)
    }
}

fn binary(path: &Path) -> ToolOutcome {
    let kind = path.extension().map_or("no extension".into(), |e| format!("extension .{}", e.to_string_lossy()));
    ToolOutcome::invalid(format!(
        "{} is a binary file ({kind}) and cannot be shown as text. Use a program that understands it.",
        path.display()
    ))
}

fn has_image_name(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    matches!(extension.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp")
}
