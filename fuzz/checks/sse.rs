//! SSE: the events do not depend on how the bytes were cut, and whatever they say can be folded into a message.

use model::sse::{SseFrame, SseParser, SseTooLarge};
use model::{ModelEvent, ResponseAssembly};
use serde_json::value::RawValue;

pub(crate) fn check(bytes: &[u8]) {
    let whole = parse(bytes, bytes.len());
    for size in [1, 2, 3, 7, 64] {
        assert_eq!(parse(bytes, size), whole, "in pieces of {size}");
    }
    let mut assembly = ResponseAssembly::default();
    for frame in whole.iter().flatten() {
        assert!(!frame.data.contains('\r') && !frame.event.contains('\n'));
        let Ok(event) = ModelEvent::parse(&frame.event, &frame.data) else { continue };
        let raw = event.raw.get();
        assert!(!raw.contains('\n') && serde_json::from_str::<&RawValue>(raw).is_ok(), "passed on as one line");
        if let Some(closed) = assembly.push(&event) {
            assert!(serde_json::from_str::<serde_json::Value>(closed.block.get()).is_ok());
        }
    }
    assembly.close_partial();
}

fn parse(bytes: &[u8], size: usize) -> Result<Vec<SseFrame>, SseTooLarge> {
    let (mut parser, mut out) = (SseParser::default(), Vec::new());
    for piece in bytes.chunks(size.max(1)) {
        parser.push(piece, &mut out)?;
    }
    parser.finish(&mut out)?;
    Ok(out)
}
