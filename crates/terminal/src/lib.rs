//! What any program in a terminal needs, without a word about sessions: styled text and its width, the surface that alone
//! writes to the screen, keys and their bindings, a line editor, Markdown and source code as styled lines, colour themes.

pub mod editor;
pub mod highlight;
pub mod keys;
pub mod markdown;
pub mod style;
pub mod surface;
pub mod text;
pub mod theme;
