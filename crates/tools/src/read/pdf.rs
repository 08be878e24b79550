//! PDFs. Providers that accept documents get the pages as a document; for others an installed `pdftoppm` renders
//! them; without it the read is refused with a reason. Page counts and sizes are limited.

use super::{OpenFile, ReadStep, image};
use crate::contract::{CallContext, ToolOutcome};
use crate::file_work::{self, structured};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use sys::process::{self, ChildInput, ChildOutput as Pipes, RunOptions, SpawnSpec};
use wire::block::{ContentBlock, MediaSource as BlockSource, MessageContent};

const MAX_FILE: u64 = 20 * 1024 * 1024;
/// Largest size, in bytes, of one decompressed stream.
const MAX_STREAM: usize = 64 * 1024 * 1024;
const MAX_PAGES: u32 = 100;
/// Most pages without the `pages` field.
const MAX_WHOLE: u32 = 10;
const MAX_RANGE: u32 = 20;
const RENDER_TIMEOUT: Duration = Duration::from_mins(1);

/// Pages counted from 1; both ends are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRange {
    first: u32,
    last: u32,
}

impl PageRange {
    /// Parses `"3"` or `"1-5"`. The error completes "the field `pages` … ".
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse()) else {
            return Err(format!("must be a page or a range such as \"3\" or \"1-5\", got {text:?}"));
        };
        if first == 0 || last < first {
            return Err(format!("must name pages from 1 upwards, first to last, got {text:?}"));
        }
        if last - first >= MAX_RANGE {
            return Err(format!("may name at most {MAX_RANGE} pages, got {text:?}"));
        }
        Ok(Self { first, last })
    }

    fn count(self) -> u32 {
        self.last - self.first + 1
    }
}

/// Pages to be rendered by a program.
pub(super) struct RenderJob {
    path: PathBuf,
    size: u64,
    pages: PageRange,
}

#[derive(Serialize)]
struct PdfEnvelope<T> {
    #[serde(rename = "type")]
    kind: &'static str,
    file: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PdfOutput<'a> {
    file_path: String,
    base64: &'a str,
    original_size: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PdfPartsOutput {
    file_path: String,
    original_size: u64,
    count: usize,
    output_dir: String,
}

pub(super) fn show(cx: &CallContext, mut source: OpenFile, asked: Option<PageRange>) -> Result<ReadStep, ToolOutcome> {
    let path = source.path.display().to_string();
    if source.meta.len() > MAX_FILE {
        let mb = source.meta.len() >> 20;
        return Err(ToolOutcome::failed(format!(
            "{path} is {mb} MB; PDFs are read up to 20 MB. Extract the pages you need into a smaller file first."
        )));
    }
    let bytes = source.all(MAX_FILE)?;
    let options = lopdf::LoadOptions { max_decompressed_size: Some(MAX_STREAM), ..Default::default() };
    let mut document = lopdf::Document::load_mem_with_options(&bytes, options)
        .map_err(|e| ToolOutcome::failed(format!("{path} is not a readable PDF: {e}")))?;
    if document.is_encrypted() {
        return Err(ToolOutcome::failed(format!("{path} is encrypted and cannot be read.")));
    }
    let count = u32::try_from(document.get_pages().len()).unwrap_or(u32::MAX);
    let pages = choose(&path, count, asked)?;
    let size = bytes.len() as u64;
    if !cx.state.facts.documents {
        return Ok(ReadStep::Render(RenderJob { path: source.path, size, pages }));
    }
    let data = if pages.count() == count { bytes } else { extract(&mut document, &path, pages, count)? };
    let data = STANDARD.encode(data);
    let output = PdfOutput { file_path: path.clone(), base64: &data, original_size: size };
    let structured = structured(&PdfEnvelope { kind: "pdf", file: output });
    let blocks = vec![
        ContentBlock::text(headline(&path, pages, count)),
        ContentBlock::Document { source: BlockSource::base64("application/pdf", data) },
    ];
    Ok(ReadStep::Done(ToolOutcome {
        content: MessageContent::Blocks(blocks),
        is_error: false,
        structured,
        mcp_meta: None,
        effects: Vec::new(),
    }))
}

fn headline(path: &str, pages: PageRange, count: u32) -> String {
    format!("{path}: pages {} to {} of {count}", pages.first, pages.last)
}

fn choose(path: &str, count: u32, asked: Option<PageRange>) -> Result<PageRange, ToolOutcome> {
    let refuse = |why: String| Err(ToolOutcome::failed(format!("{path} {why}")));
    if count == 0 {
        return refuse("has no pages.".into());
    }
    if count > MAX_PAGES {
        return refuse(format!(
            "has {count} pages; PDFs are read up to {MAX_PAGES}. Extract the pages you need into a smaller file first."
        ));
    }
    match asked {
        Some(range) if range.last > count => refuse(format!("has {count} pages; page {} does not exist.", range.last)),
        Some(range) => Ok(range),
        None if count > MAX_WHOLE => refuse(format!(
            "has {count} pages, more than the {MAX_WHOLE} that are read at once. Name up to {MAX_RANGE} with `pages`, \
             for example \"1-5\"."
        )),
        None => Ok(PageRange { first: 1, last: count }),
    }
}

/// A document with only the chosen pages.
fn extract(document: &mut lopdf::Document, path: &str, pages: PageRange, count: u32) -> Result<Vec<u8>, ToolOutcome> {
    let others: Vec<u32> = (1..=count).filter(|n| !(pages.first..=pages.last).contains(n)).collect();
    document.delete_pages(&others);
    document.prune_objects();
    let mut bytes = Vec::new();
    document
        .save_to(&mut bytes)
        .map_err(|e| ToolOutcome::failed(format!("The pages could not be taken out of {path}: {e}")))?;
    Ok(bytes)
}

/// Renders the pages with `pdftoppm`.
pub(super) async fn render(cx: &CallContext, job: RenderJob) -> Result<ToolOutcome, ToolOutcome> {
    let Some(program) = find_program(cx, "pdftoppm") else {
        return Err(ToolOutcome::failed(format!(
            "{} cannot be shown: this model takes no PDF documents, and `pdftoppm` (poppler-utils), which would draw \
             the pages, is not installed. Extract the text with another program.",
            job.path.display()
        )));
    };
    let dir = cx.state.facts.session_dir.join("tool-results").join(format!("pdf-{}", sys::id::base36(8)));
    std::fs::create_dir_all(&dir).map_err(|e| file_work::io_error("create", &dir, &e))?;
    run_pdftoppm(cx, program, &job, &dir).await?;
    file_work::run_until_cancelled(cx, move || collect(&job, &dir)).await
}

/// Looks in absolute `PATH` entries only, because a repository could provide a program at a relative one.
fn find_program(cx: &CallContext, name: &str) -> Option<PathBuf> {
    let path = cx.state.facts.env.get("PATH")?;
    std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name)).find(|p| p.is_file())
}

async fn run_pdftoppm(
    cx: &CallContext,
    program: PathBuf,
    job: &RenderJob,
    dir: &std::path::Path,
) -> Result<(), ToolOutcome> {
    let facts = &cx.state.facts;
    let mut args: Vec<OsString> = ["-jpeg", "-r", "110", "-f"].map(OsString::from).into();
    args.extend([job.pages.first.to_string().into(), "-l".into(), job.pages.last.to_string().into()]);
    args.extend([job.path.clone().into(), dir.join("page").into()]);
    let secret = |name: &std::ffi::OsStr| facts.secret_vars.iter().any(|s| name == s.as_str());
    let env = facts.env.iter().filter(|(k, _)| !secret(k)).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let failed = |why: String| ToolOutcome::failed(format!("pdftoppm could not draw {}: {why}", job.path.display()));
    let spec = SpawnSpec {
        program: program.into(),
        args,
        env,
        cwd: dir.to_owned(),
        stdin: ChildInput::Null,
        output: Pipes::Merged,
    };
    let options = RunOptions { timeout: RENDER_TIMEOUT, keep: 8 * 1024, ..RunOptions::default() };
    let done = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return Err(ToolOutcome::failed("The call was cancelled before it ended.")),
        done = process::run(spec, options) => done.map_err(|e| failed(e.to_string()))?,
    };
    if done.timed_out {
        return Err(failed(format!("it took longer than {} seconds", RENDER_TIMEOUT.as_secs())));
    }
    match done.exit.code {
        Some(0) => Ok(()),
        _ => Err(failed(String::from_utf8_lossy(&done.stdout.to_bytes()).trim().to_owned())),
    }
}

fn collect(job: &RenderJob, dir: &std::path::Path) -> Result<ToolOutcome, ToolOutcome> {
    let path = job.path.display().to_string();
    let listed = std::fs::read_dir(dir).map_err(|e| file_work::io_error("read", dir, &e))?;
    let mut files: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut blocks = vec![ContentBlock::text(format!("{path}: pages {} to {}", job.pages.first, job.pages.last))];
    for file in &files {
        let bytes = std::fs::read(file).map_err(|e| file_work::io_error("read", file, &e))?;
        let fitted = image::ImageKind::sniff(&bytes).ok_or_else(|| "is no image".to_owned());
        match fitted.and_then(|kind| image::fit(&bytes, kind)) {
            Ok(fitted) => blocks.push(fitted.block()),
            Err(why) => {
                blocks.push(ContentBlock::text(format!("[The page {} {why} and is not shown.]", file.display())));
            }
        }
    }
    if files.is_empty() {
        return Err(ToolOutcome::failed(format!("pdftoppm drew no pages of {path}.")));
    }
    let output = PdfPartsOutput {
        file_path: path,
        original_size: job.size,
        count: files.len(),
        output_dir: dir.display().to_string(),
    };
    let structured = structured(&PdfEnvelope { kind: "parts", file: output });
    Ok(ToolOutcome {
        content: MessageContent::Blocks(blocks),
        is_error: false,
        structured,
        mcp_meta: None,
        effects: Vec::new(),
    })
}
