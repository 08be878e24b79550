//! Images, recognised by their bytes and scaled for a request: at most 2000 pixels per side and, where possible,
//! 500 KB. Decoding is limited in pixels and memory; an image that cannot be decoded becomes text, never an image
//! block.

use super::OpenFile;
use crate::contract::{CallContext, ToolOutcome};
use crate::file_work::structured;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use serde::Serialize;
use std::io::Cursor;
use std::path::Path;
use wire::block::{ContentBlock, MediaSource as BlockSource, MessageContent};

const MAX_SIDE: u32 = 2000;
const MAX_BYTES: usize = 500 * 1024;
const MAX_FILE: u64 = 64 * 1024 * 1024;
const MAX_PIXELS: u64 = 100_000_000;
const MAX_MEMORY: u64 = 512 * 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImageKind {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl ImageKind {
    pub(super) fn sniff(head: &[u8]) -> Option<Self> {
        if head.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if head.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
            Some(Self::WebP)
        } else {
            None
        }
    }

    pub(super) fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }

    fn format(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Gif => ImageFormat::Gif,
            Self::WebP => ImageFormat::WebP,
        }
    }
}

/// An image ready to be sent.
#[derive(Debug)]
pub(super) struct FittedImage {
    pub(super) kind: ImageKind,
    pub(super) data: String,
    pub(super) dimensions: ImageDimensions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImageDimensions {
    original_width: u32,
    original_height: u32,
    display_width: u32,
    display_height: u32,
}

impl FittedImage {
    pub(super) fn block(&self) -> ContentBlock {
        ContentBlock::Image { source: BlockSource::base64(self.kind.media_type(), self.data.clone()) }
    }
}

/// Why there is no image; completes "the image … ".
type UnfitImage = String;

/// Checks, shrinks and re-encodes the image as needed.
pub(super) fn fit(bytes: &[u8], kind: ImageKind) -> Result<FittedImage, UnfitImage> {
    let mut picture = decode(bytes, kind)?;
    let (width, height) = (picture.width(), picture.height());
    let small = width <= MAX_SIDE && height <= MAX_SIDE;
    if small && bytes.len() <= MAX_BYTES {
        return Ok(fitted(bytes, kind, (width, height), (width, height)));
    }
    if !small {
        picture = shrink(&picture);
    }
    let shown = (picture.width(), picture.height());
    let (encoded, new_kind) = encode(&picture, kind)?;
    if small && encoded.len() >= bytes.len() {
        return Ok(fitted(bytes, kind, shown, shown));
    }
    Ok(fitted(&encoded, new_kind, (width, height), shown))
}

fn fitted(bytes: &[u8], kind: ImageKind, original: (u32, u32), shown: (u32, u32)) -> FittedImage {
    let dimensions = ImageDimensions {
        original_width: original.0,
        original_height: original.1,
        display_width: shown.0,
        display_height: shown.1,
    };
    FittedImage { kind, data: STANDARD.encode(bytes), dimensions }
}

/// Decodes and applies the orientation that the camera recorded, because re-encoding drops that metadata.
fn decode(bytes: &[u8], kind: ImageKind) -> Result<DynamicImage, UnfitImage> {
    let unreadable = |e: image::ImageError| format!("could not be decoded ({e})");
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), kind.format());
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(unreadable)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(format!("has {width}×{height} pixels, too many to process"));
    }
    if width == 0 || height == 0 {
        return Err("has no pixels".into());
    }
    let orientation = decoder.orientation().unwrap_or(image::metadata::Orientation::NoTransforms);
    let mut picture = DynamicImage::from_decoder(decoder).map_err(unreadable)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

fn shrink(picture: &DynamicImage) -> DynamicImage {
    let scale = f64::from(MAX_SIDE) / f64::from(picture.width().max(picture.height()));
    let side = |length: u32| ((f64::from(length) * scale).round() as u32).clamp(1, MAX_SIDE);
    let small =
        DynamicImage::from(super::scale::down(&picture.to_rgba8(), side(picture.width()), side(picture.height())));
    if picture.color().has_alpha() { small } else { small.to_rgb8().into() }
}

/// Encodes as PNG when the source was lossless and the result is small enough, else as JPEG with decreasing quality
/// until it fits.
fn encode(picture: &DynamicImage, kind: ImageKind) -> Result<(Vec<u8>, ImageKind), UnfitImage> {
    let failed = |e: image::ImageError| format!("could not be encoded ({e})");
    if kind != ImageKind::Jpeg {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, ImageFormat::Png).map_err(failed)?;
        if bytes.get_ref().len() <= MAX_BYTES {
            return Ok((bytes.into_inner(), ImageKind::Png));
        }
    }
    let flat = DynamicImage::ImageRgb8(on_white(picture));
    let mut bytes = Vec::new();
    for quality in [85, 70, 50, 30] {
        bytes.clear();
        flat.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality)).map_err(failed)?;
        if bytes.len() <= MAX_BYTES {
            break;
        }
    }
    Ok((bytes, ImageKind::Jpeg))
}

/// Draws the image on white: JPEG has no transparency, and text on a transparent background is usually dark.
fn on_white(picture: &DynamicImage) -> image::RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let rgba = picture.to_rgba8();
    image::RgbImage::from_fn(rgba.width(), rgba.height(), |x, y| {
        let [r, g, b, a] = rgba.get_pixel(x, y).0;
        let blend = |c: u8| ((u32::from(c) * u32::from(a) + 255 * (255 - u32::from(a))) / 255) as u8;
        image::Rgb([blend(r), blend(g), blend(b)])
    })
}

#[derive(Serialize)]
struct ImageEnvelope<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    file: ImageOutput<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImageOutput<'a> {
    base64: &'a str,
    #[serde(rename = "type")]
    media_type: &'static str,
    original_size: usize,
    dimensions: ImageDimensions,
}

pub(super) fn show(cx: &CallContext, mut source: OpenFile, kind: ImageKind) -> Result<ToolOutcome, ToolOutcome> {
    if source.meta.len() > MAX_FILE {
        let mb = source.meta.len() >> 20;
        return Ok(placeholder(&source.path, &format!("is {mb} MB, too large to process")));
    }
    let bytes = source.all(MAX_FILE)?;
    let fitted = match fit(&bytes, kind) {
        Ok(fitted) => fitted,
        Err(why) => return Ok(placeholder(&source.path, &why)),
    };
    cx.state.reads.record_shown(&source.path, &bytes);
    let file = ImageOutput {
        base64: &fitted.data,
        media_type: fitted.kind.media_type(),
        original_size: bytes.len(),
        dimensions: fitted.dimensions,
    };
    let structured = structured(&ImageEnvelope { kind: "image", file });
    let mut blocks = vec![fitted.block()];
    blocks.extend(resize_note(fitted.dimensions).map(ContentBlock::text));
    Ok(ToolOutcome {
        content: MessageContent::Blocks(blocks),
        is_error: false,
        structured,
        mcp_meta: None,
        effects: Vec::new(),
    })
}

/// Tells the model how to map coordinates in the shown image to pixels of the file.
fn resize_note(d: ImageDimensions) -> Option<String> {
    (d.original_width != d.display_width).then(|| {
        let factor = f64::from(d.original_width) / f64::from(d.display_width);
        format!(
            "[The image is {}×{} pixels and is shown at {}×{}. Multiply coordinates by {factor:.2} for the original.]",
            d.original_width, d.original_height, d.display_width, d.display_height
        )
    })
}

fn placeholder(path: &Path, why: &str) -> ToolOutcome {
    super::text::substitute_outcome(path, format!("[The image {} {why} and is not shown.]", path.display()))
}
