//! Building blocks of a terminal program, independent of sessions: styled text and its width, the surface that is the
//! only writer to the screen, keys and their bindings, a line editor, Markdown and source code as styled lines, colour
//! themes.

pub mod editor;
pub mod glyphs;
pub mod highlight;
pub mod html;
pub mod keys;
pub mod markdown;
pub mod style;
pub mod surface;
pub mod text;
pub mod theme;
