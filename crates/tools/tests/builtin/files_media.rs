//! Read of images and PDFs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common::Bench;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::{DynamicImage, ImageFormat, RgbImage, RgbaImage};
use lopdf::{Document, Object, Stream, dictionary};
use serde_json::{Value, json};
use std::io::Cursor;
use std::os::unix::fs::PermissionsExt;
use wire::block::{ContentBlock, MessageContent};

fn encode(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn plain(width: u32, height: u32) -> DynamicImage {
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, 7])))
}

/// An image that cannot be compressed, so that the size rules apply.
fn noise(width: u32, height: u32) -> DynamicImage {
    let mut seed = 1u32;
    DynamicImage::ImageRgba8(RgbaImage::from_fn(width, height, |_, _| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        image::Rgba(seed.to_be_bytes())
    }))
}

async fn blocks(bench: &Bench, input: Value) -> (Vec<ContentBlock>, Value) {
    let outcome = bench.call("Read", input).await;
    assert!(!outcome.is_error, "{}", outcome.content.text());
    let structured = serde_json::from_str(outcome.structured.unwrap().get()).unwrap();
    match outcome.content {
        MessageContent::Blocks(blocks) => (blocks, structured),
        MessageContent::Text(text) => panic!("text: {text}"),
    }
}

fn image_of(block: &ContentBlock) -> (&str, Vec<u8>) {
    match block {
        ContentBlock::Image { source } => (&source.media_type, STANDARD.decode(&source.data).unwrap()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn images_are_known_by_their_bytes() {
    // [TST-23]
    let bench = Bench::new();
    for (format, media) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        let bytes = encode(&plain(40, 20), format);
        bench.file("picture.txt", &bytes);
        let (blocks, result) = blocks(&bench, json!({"file_path": "picture.txt"})).await;
        assert_eq!(image_of(&blocks[0]), (media, bytes.clone()), "sent as it is");
        let expected = json!({"type": "image", "file": {"base64": STANDARD.encode(&bytes), "type": media,
            "originalSize": bytes.len(), "dimensions": {"originalWidth": 40, "originalHeight": 20,
            "displayWidth": 40, "displayHeight": 20}}});
        assert_eq!(result.to_string(), expected.to_string());
    }
    bench.file("page.png", "<html>\n</html>");
    let (text, _) = bench.ok("Read", json!({"file_path": "page.png"})).await;
    assert!(text.starts_with("1\t<html>"));
}

#[tokio::test]
async fn large_images_are_scaled_down() {
    // [TST-24]
    let bench = Bench::new();
    bench.file("big.png", encode(&plain(4000, 3000), ImageFormat::Png));
    let (blocks, result) = blocks(&bench, json!({"file_path": "big.png"})).await;
    let (media, bytes) = image_of(&blocks[0]);
    let shown = image::load_from_memory(&bytes).unwrap();
    assert_eq!((shown.width(), shown.height()), (2000, 1500));
    assert!(bytes.len() <= 500 * 1024 || media == "image/jpeg");
    let dimensions =
        json!({"originalWidth": 4000, "originalHeight": 3000, "displayWidth": 2000, "displayHeight": 1500});
    assert_eq!(result["file"]["dimensions"], dimensions);
    assert!(matches!(&blocks[1], ContentBlock::Text { text } if text.contains("4000×3000") && text.contains("2.00")));
}

#[tokio::test]
async fn heavy_images_become_jpeg_at_the_same_size() {
    // [TST-24]
    let bench = Bench::new();
    bench.file("noise.png", encode(&noise(600, 500), ImageFormat::Png));
    let (blocks, _) = blocks(&bench, json!({"file_path": "noise.png"})).await;
    let (media, bytes) = image_of(&blocks[0]);
    assert_eq!(media, "image/jpeg");
    assert!(bytes.len() <= 500 * 1024, "{}", bytes.len());
    assert_eq!(image::load_from_memory(&bytes).unwrap().width(), 600);
    assert_eq!(blocks.len(), 1, "no scaling note");
}

#[tokio::test]
async fn broken_images_become_text() {
    // [TST-25]
    let bench = Bench::new();
    let mut bytes = encode(&plain(64, 64), ImageFormat::Png);
    bytes.truncate(bytes.len() / 2);
    bench.file("cut.png", &bytes);
    let (text, result) = bench.ok("Read", json!({"file_path": "cut.png"})).await;
    assert!(text.starts_with("[The image") && text.contains("could not be decoded"), "{text}");
    assert_eq!(result["type"], "text");
    bench.file("empty.png", "");
    assert!(bench.fails("Read", json!({"file_path": "empty.png"})).await.contains("empty file"));
    let mut huge = encode(&plain(1, 1), ImageFormat::Png);
    huge[16..24].copy_from_slice(&[0, 1, 0, 0, 0, 1, 0, 0]);
    bench.file("bomb.png", &huge);
    assert!(bench.ok("Read", json!({"file_path": "bomb.png"})).await.0.starts_with("[The image"));
}

fn pdf(pages: usize) -> Vec<u8> {
    let mut document = Document::with_version("1.5");
    let root = document.new_object_id();
    let kids: Vec<Object> = (1..=pages)
        .map(|n| {
            let text = format!("BT /F1 24 Tf 72 700 Td (page number {n}) Tj ET");
            let content = document.add_object(Stream::new(dictionary! {}, text.into_bytes()));
            let page = dictionary! { "Type" => "Page", "Parent" => root, "Contents" => content };
            document.add_object(page).into()
        })
        .collect();
    let tree = dictionary! {
        "Type" => "Pages", "Kids" => kids, "Count" => pages as i64,
        "MediaBox" => vec![0.into(), 0.into(), 612.into(), 792.into()],
    };
    document.objects.insert(root, Object::Dictionary(tree));
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => root });
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn short_pdfs_are_sent_whole() {
    // [TST-26]
    let bench = Bench::new();
    let bytes = pdf(10);
    let path = bench.file("ten.pdf", &bytes);
    let (blocks, result) = blocks(&bench, json!({"file_path": path})).await;
    let ContentBlock::Document { source } = &blocks[1] else { panic!("{blocks:?}") };
    assert_eq!(
        (source.media_type.as_str(), STANDARD.decode(&source.data).unwrap()),
        ("application/pdf", bytes.clone())
    );
    let expected = json!({"type": "pdf", "file": {
        "filePath": path, "base64": STANDARD.encode(&bytes), "originalSize": bytes.len()}});
    assert_eq!(result.to_string(), expected.to_string());
}

#[tokio::test]
async fn longer_pdfs_need_pages() {
    // [TST-26]
    let bench = Bench::new();
    bench.file("long.pdf", pdf(30));
    assert!(bench.fails("Read", json!({"file_path": "long.pdf"})).await.contains("`pages`"));
    let refused = bench.try_call("Read", json!({"file_path": "long.pdf", "pages": "1-21"})).await.unwrap_err();
    assert!(refused.0.contains("at most 20"), "{}", refused.0);
    assert!(bench.try_call("Read", json!({"file_path": "long.pdf", "pages": "5-2"})).await.is_err());
    assert!(bench.fails("Read", json!({"file_path": "long.pdf", "pages": "30-31"})).await.contains("30 pages"));
    let (blocks, _) = blocks(&bench, json!({"file_path": "long.pdf", "pages": "12-14"})).await;
    let ContentBlock::Document { source } = &blocks[1] else { panic!("{blocks:?}") };
    let part = Document::load_mem(&STANDARD.decode(&source.data).unwrap()).unwrap();
    let texts: Vec<String> =
        part.get_pages().values().map(|id| String::from_utf8(part.get_page_content(*id)).unwrap()).collect();
    assert_eq!(texts.len(), 3);
    assert!(texts[0].contains("number 12") && texts[2].contains("number 14"), "{texts:?}");
    bench.file("book.pdf", pdf(101));
    assert!(bench.fails("Read", json!({"file_path": "book.pdf"})).await.contains("101 pages"));
    bench.file("bad.pdf", "%PDF-1.7 nothing else");
    assert!(bench.fails("Read", json!({"file_path": "bad.pdf"})).await.contains("not a readable PDF"));
}

#[tokio::test]
async fn pages_are_drawn_where_documents_are_not_taken() {
    // [TST-26]
    let mut bench = Bench::new();
    bench.facts.documents = false;
    let bin = bench.dir.join("bin");
    let picture = bench.file("page.jpg", encode(&plain(30, 40), ImageFormat::Jpeg));
    let script = format!(
        "#!/bin/sh\nfor last; do :; done\n[ \"$SECRET\" = \"\" ] || exit 9\ncp '{0}' \"$last-1.jpg\"; cp '{0}' \"$last-2.jpg\"\n",
        picture.display()
    );
    let program = bench.file("bin/pdftoppm", script);
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    bench.facts.secret_vars = vec!["SECRET".into()];
    let search = format!("bin:{}:/usr/bin:/bin", bin.display());
    bench.facts.env = bench.facts.env.with([("PATH", search.as_str()), ("SECRET", "hidden")]);
    let path = bench.file("a.pdf", pdf(3));
    let (blocks, result) = blocks(&bench, json!({"file_path": path, "pages": "1-2"})).await;
    assert_eq!(blocks.len(), 3);
    assert_eq!(image_of(&blocks[1]).0, "image/jpeg");
    assert_eq!((&result["type"], &result["file"]["count"]), (&json!("parts"), &json!(2)));
    assert!(result["file"]["outputDir"].as_str().unwrap().contains("tool-results"));
}

#[tokio::test]
async fn without_documents_and_a_program_the_reason_is_given() {
    // [TST-26]
    let mut bench = Bench::new();
    bench.facts.documents = false;
    bench.facts.env = bench.facts.env.with([("PATH", "bin")]);
    bench.file("bin/pdftoppm", "planted");
    bench.file("a.pdf", pdf(1));
    let text = bench.fails("Read", json!({"file_path": "a.pdf"})).await;
    assert!(text.contains("pdftoppm") && text.contains("not installed"), "{text}");
}
