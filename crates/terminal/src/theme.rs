//! Colours by name. A theme is a table from tokens to colours; built-in themes differ only in their tables, custom
//! themes consist of a base and overrides. Unknown tokens and colours are ignored. The terminal's default colours are
//! used where they are sufficient.

use crate::style::{Colour, ColourDepth, TextStyle, contrast, reduce_background, reduce_colour};
use serde::Deserialize;
use std::collections::BTreeMap;

macro_rules! tokens {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// The purpose of a colour. The names are those of theme files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ThemeToken { $($variant),* }

        impl ThemeToken {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

tokens! {
    Accent "claude",
    Text "text",
    InverseText "inverseText",
    Inactive "inactive",
    Subtle "subtle",
    Suggestion "suggestion",
    Permission "permission",
    Remember "remember",
    Success "success",
    Error "error",
    Warning "warning",
    Merged "merged",
    PromptBorder "promptBorder",
    PlanMode "planMode",
    AutoAccept "autoAccept",
    BashBorder "bashBorder",
    Ide "ide",
    FastMode "fastMode",
    DiffAdded "diffAdded",
    DiffRemoved "diffRemoved",
    DiffAddedDimmed "diffAddedDimmed",
    DiffRemovedDimmed "diffRemovedDimmed",
    DiffAddedWord "diffAddedWord",
    DiffRemovedWord "diffRemovedWord",
    UserMessageBackground "userMessageBackground",
    UserMessageBackgroundHover "userMessageBackgroundHover",
    BashMessageBackground "bashMessageBackgroundColor",
    MemoryBackground "memoryBackgroundColor",
    SelectionBackground "selectionBg",
    RateLimitFill "rate_limit_fill",
    RateLimitEmpty "rate_limit_empty",
    LabelYou "briefLabelYou",
    LabelOther "briefLabelClaude",
    CodeKeyword "codeKeyword",
    CodeString "codeString",
    CodeNumber "codeNumber",
    CodeComment "codeComment",
    CodeName "codeName",
}

/// The built-in themes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseTheme {
    Dark,
    Light,
    DarkDaltonized,
    LightDaltonized,
    DarkAnsi,
    LightAnsi,
}

impl BaseTheme {
    pub const ALL: [Self; 6] =
        [Self::Dark, Self::Light, Self::DarkDaltonized, Self::LightDaltonized, Self::DarkAnsi, Self::LightAnsi];

    pub fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::DarkDaltonized => "dark-daltonized",
            Self::LightDaltonized => "light-daltonized",
            Self::DarkAnsi => "dark-ansi",
            Self::LightAnsi => "light-ansi",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|base| base.name() == name)
    }

    fn is_light(self) -> bool {
        match self {
            Self::Light | Self::LightDaltonized | Self::LightAnsi => true,
            Self::Dark | Self::DarkDaltonized | Self::DarkAnsi => false,
        }
    }

    fn is_ansi(self) -> bool {
        match self {
            Self::DarkAnsi | Self::LightAnsi => true,
            Self::Dark | Self::Light | Self::DarkDaltonized | Self::LightDaltonized => false,
        }
    }

    fn is_daltonized(self) -> bool {
        match self {
            Self::DarkDaltonized | Self::LightDaltonized => true,
            Self::Dark | Self::Light | Self::DarkAnsi | Self::LightAnsi => false,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Theme {
    base: BaseTheme,
    overrides: BTreeMap<ThemeToken, Colour>,
}

/// A file in the themes directory.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ThemeFile {
    base: Option<String>,
    overrides: serde_json::Map<String, serde_json::Value>,
}

impl Theme {
    pub fn new(base: BaseTheme) -> Self {
        Self { base, overrides: BTreeMap::new() }
    }

    /// A custom theme. Invalid parts are ignored; text that is not a JSON object gives the dark theme.
    pub fn parse(json: &str) -> Self {
        let file: ThemeFile = serde_json::from_str(json).unwrap_or_default();
        let base = file.base.as_deref().and_then(BaseTheme::parse).unwrap_or(BaseTheme::Dark);
        let overrides = file.overrides.iter().filter_map(|(name, value)| {
            let token = ThemeToken::ALL.iter().find(|token| token.name() == name)?;
            Some((*token, parse_colour(value.as_str()?)?))
        });
        Self { base, overrides: overrides.collect() }
    }

    pub fn base(&self) -> BaseTheme {
        self.base
    }

    pub fn colour(&self, token: ThemeToken) -> Option<Colour> {
        self.overrides.get(&token).copied().or_else(|| built_in(self.base, token))
    }

    /// The colour that a person calls so; `None` for a name that is not known.
    pub fn named(&self, name: &str) -> Option<Colour> {
        let (dark, light, plain) = match name {
            "red" => ((229, 115, 115), (179, 38, 30), 1),
            "blue" => ((110, 160, 245), (30, 90, 190), 4),
            "green" => ((140, 205, 110), (50, 120, 30), 2),
            "yellow" => ((230, 210, 90), (138, 110, 0), 3),
            "purple" => ((175, 135, 255), (110, 60, 190), 5),
            "orange" => ((245, 160, 90), (180, 85, 0), 11),
            "pink" => ((245, 140, 190), (190, 30, 110), 13),
            "cyan" => ((95, 205, 215), (0, 115, 130), 6),
            _ => return None,
        };
        let (r, g, b) = if self.base.is_light() { light } else { dark };
        Some(if self.base.is_ansi() { Colour::Ansi(plain) } else { Colour::Rgb(r, g, b) })
    }

    /// A style with this text colour.
    pub fn fg(&self, token: ThemeToken) -> TextStyle {
        TextStyle::fg(self.colour(token))
    }

    pub fn bg(&self, token: ThemeToken) -> TextStyle {
        TextStyle::PLAIN.on(self.colour(token))
    }

    /// `style` on `background`: its colour when it can be read there, otherwise black or white. The terminal's own text colour
    /// is never used, because it may be that of another background than the theme is made for.
    pub fn readable(&self, style: TextStyle, background: Colour) -> TextStyle {
        let is_readable = |fg: &Colour| {
            [ColourDepth::True, ColourDepth::Ansi256, ColourDepth::Ansi16].into_iter().all(|depth| {
                let pair = reduce_colour(*fg, depth).zip(reduce_background(background, depth));
                pair.is_some_and(|(fg, bg)| contrast(fg, bg) >= READABLE)
            })
        };
        let safe = if self.base.is_light() { Colour::Rgb(0, 0, 0) } else { Colour::Rgb(255, 255, 255) };
        let fg = style.fg.filter(is_readable).unwrap_or(safe);
        TextStyle { fg: Some(fg), ..style }.on(Some(background))
    }
}

/// The least contrast of text.
const READABLE: f64 = 4.5;

impl Default for Theme {
    fn default() -> Self {
        Self::new(BaseTheme::Dark)
    }
}

/// The colour in a built-in theme; `None` is the terminal's default colour.
fn built_in(base: BaseTheme, token: ThemeToken) -> Option<Colour> {
    if base.is_daltonized()
        && let Some(colour) = daltonized(base, token)
    {
        return Some(colour);
    }
    let light = base.is_light();
    let pick = |dark: Colour, for_light: Colour| Some(if light { for_light } else { dark });
    let ansi = Colour::Ansi;
    let grey = |dark: u8, for_light: u8| {
        if base.is_ansi() { Some(ansi(8)) } else { pick(Colour::Indexed(dark), Colour::Indexed(for_light)) }
    };
    let shade = |dark: (u8, u8, u8), pale: (u8, u8, u8), plain: Colour| {
        if base.is_ansi() {
            Some(plain)
        } else {
            pick(Colour::Rgb(dark.0, dark.1, dark.2), Colour::Rgb(pale.0, pale.1, pale.2))
        }
    };
    // Colours behind text: none of the terminal's own is safe, because its text colour is not known.
    let tint = |dark: (u8, u8, u8), pale: (u8, u8, u8)| {
        if base.is_ansi() {
            None
        } else {
            pick(Colour::Rgb(dark.0, dark.1, dark.2), Colour::Rgb(pale.0, pale.1, pale.2))
        }
    };
    let lime = shade((168, 214, 92), (77, 122, 18), if light { ansi(2) } else { ansi(10) });
    let amber = shade((232, 183, 90), (138, 90, 0), if light { ansi(3) } else { ansi(11) });
    let info = shade((143, 179, 232), (47, 95, 168), if light { ansi(4) } else { ansi(12) });
    match token {
        ThemeToken::Text => None,
        ThemeToken::InverseText => pick(ansi(0), ansi(15)),
        ThemeToken::Accent | ThemeToken::LabelOther | ThemeToken::Success => lime,
        ThemeToken::Inactive | ThemeToken::RateLimitEmpty | ThemeToken::CodeComment => grey(246, 242),
        ThemeToken::Subtle | ThemeToken::PromptBorder => grey(243, 247),
        ThemeToken::Suggestion | ThemeToken::RateLimitFill | ThemeToken::Ide | ThemeToken::PlanMode => info,
        ThemeToken::Remember | ThemeToken::LabelYou | ThemeToken::CodeName => pick(ansi(12), ansi(4)),
        ThemeToken::CodeString => pick(ansi(10), ansi(2)),
        ThemeToken::Error => shade((229, 115, 115), (179, 38, 30), if light { ansi(1) } else { ansi(9) }),
        ThemeToken::Permission | ThemeToken::Warning | ThemeToken::FastMode => amber,
        ThemeToken::Merged | ThemeToken::AutoAccept => shade((175, 135, 255), (110, 60, 190), ansi(5)),
        ThemeToken::BashBorder => shade((240, 100, 170), (190, 30, 110), ansi(5)),
        ThemeToken::DiffAdded => tint((18, 66, 32), (208, 244, 212)),
        ThemeToken::DiffRemoved => tint((82, 24, 30), (255, 220, 220)),
        ThemeToken::DiffAddedDimmed => tint((24, 50, 32), (226, 246, 228)),
        ThemeToken::DiffRemovedDimmed => tint((60, 30, 34), (252, 234, 234)),
        ThemeToken::DiffAddedWord => tint((24, 120, 40), (140, 220, 150)),
        ThemeToken::DiffRemovedWord => tint((148, 30, 40), (255, 160, 160)),
        ThemeToken::UserMessageBackground => tint((48, 48, 48), (238, 238, 238)),
        ThemeToken::UserMessageBackgroundHover => tint((60, 60, 60), (226, 226, 226)),
        ThemeToken::BashMessageBackground => tint((56, 40, 48), (250, 236, 242)),
        ThemeToken::MemoryBackground => tint((40, 44, 56), (232, 238, 250)),
        ThemeToken::SelectionBackground => shade((38, 79, 120), (173, 214, 255), ansi(4)),
        ThemeToken::CodeKeyword => pick(ansi(13), ansi(5)),
        ThemeToken::CodeNumber => pick(ansi(14), ansi(6)),
    }
}

/// Uses blue and orange instead of green and red; `None` keeps the colour of the base.
fn daltonized(base: BaseTheme, token: ThemeToken) -> Option<Colour> {
    let pick = |dark: (u8, u8, u8), pale: (u8, u8, u8)| {
        let (r, g, b) = if base.is_light() { pale } else { dark };
        Some(Colour::Rgb(r, g, b))
    };
    match token {
        ThemeToken::Success => pick((90, 160, 255), (0, 90, 190)),
        ThemeToken::Error => pick((255, 150, 60), (180, 80, 0)),
        ThemeToken::DiffAdded => pick((0, 48, 92), (206, 228, 255)),
        ThemeToken::DiffRemoved => pick((92, 52, 0), (255, 228, 196)),
        ThemeToken::DiffAddedDimmed => pick((10, 40, 66), (226, 238, 252)),
        ThemeToken::DiffRemovedDimmed => pick((64, 42, 12), (252, 238, 220)),
        ThemeToken::DiffAddedWord => pick((0, 90, 170), (130, 190, 255)),
        ThemeToken::DiffRemovedWord => pick((160, 96, 0), (255, 190, 110)),
        _ => None,
    }
}

/// `#rrggbb`, `#rgb`, `rgb(r,g,b)`, `ansi256(n)`, `ansi:<name>`.
pub fn parse_colour(text: &str) -> Option<Colour> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix('#') {
        return parse_hex(hex);
    }
    if let Some(inside) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) {
        let mut parts = inside.split(',').map(|part| part.trim().parse::<u8>().ok());
        let (r, g, b) = (parts.next()??, parts.next()??, parts.next()??);
        return parts.next().is_none().then_some(Colour::Rgb(r, g, b));
    }
    if let Some(inside) = text.strip_prefix("ansi256(").and_then(|rest| rest.strip_suffix(')')) {
        return inside.trim().parse().ok().map(Colour::Indexed);
    }
    let name = text.strip_prefix("ansi:")?;
    const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
    let (bright, name) = match name.strip_suffix("Bright") {
        Some(name) => (8, name),
        None => (0, name),
    };
    NAMES.iter().position(|known| *known == name).map(|n| Colour::Ansi(n as u8 + bright))
}

fn parse_hex(hex: &str) -> Option<Colour> {
    if !hex.is_ascii() {
        return None;
    }
    let byte = |text: &str| u8::from_str_radix(text, 16).ok();
    match hex.len() {
        6 => Some(Colour::Rgb(byte(&hex[0..2])?, byte(&hex[2..4])?, byte(&hex[4..6])?)),
        3 => {
            let digit = |at: usize| byte(&hex[at..=at]).map(|n| n * 17);
            Some(Colour::Rgb(digit(0)?, digit(1)?, digit(2)?))
        }
        _ => None,
    }
}

/// Environment variables that concern colours.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColourHints<'a> {
    pub term: &'a str,
    pub colorterm: &'a str,
    pub no_color: bool,
    pub force_color: Option<&'a str>,
}

/// The number of colours to use.
pub fn depth(hints: ColourHints<'_>) -> ColourDepth {
    if hints.no_color {
        return ColourDepth::None;
    }
    match hints.force_color {
        Some("0" | "false") => return ColourDepth::None,
        Some("1") => return ColourDepth::Ansi16,
        Some("2") => return ColourDepth::Ansi256,
        Some("3") => return ColourDepth::True,
        Some(_) | None => {}
    }
    if hints.term == "dumb" {
        ColourDepth::None
    } else if matches!(hints.colorterm, "truecolor" | "24bit") || hints.term.contains("direct") {
        ColourDepth::True
    } else if hints.term.contains("256color") || hints.term.contains("kitty") || hints.term.contains("alacritty") {
        ColourDepth::Ansi256
    } else if hints.term.is_empty() {
        if hints.force_color.is_some() { ColourDepth::Ansi16 } else { ColourDepth::None }
    } else {
        ColourDepth::Ansi16
    }
}

/// The base theme for a background colour as OSC 11 reports it: `rgb:RRRR/GGGG/BBBB`. `None` when it cannot be read.
pub fn base_for_background(report: &str) -> Option<BaseTheme> {
    let mut parts = report.strip_prefix("rgb:").or_else(|| report.strip_prefix("rgba:"))?.split('/');
    let mut component = || {
        let text = parts.next()?;
        let full = (1_u32 << (4 * text.len().clamp(1, 4))) - 1;
        u32::from_str_radix(text, 16).ok().map(|value| f64::from(value) / f64::from(full))
    };
    let (r, g, b) = (component()?, component()?, component()?);
    let luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    Some(if luminance > 0.5 { BaseTheme::Light } else { BaseTheme::Dark })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_themes_override_their_base_and_ignore_what_they_cannot_read() {
        // [TST-248]
        let theme = Theme::parse(
            r##"{"name":"x","base":"light","overrides":{"error":"#f00","claude":"rgb(1, 2,3)","success":"ansi256(7)",
                "warning":"ansi:blueBright","nonsense":"#fff","text":"#12345","permission":5}}"##,
        );
        assert_eq!(theme.base(), BaseTheme::Light);
        assert_eq!(theme.colour(ThemeToken::Error), Some(Colour::Rgb(255, 0, 0)));
        assert_eq!(theme.colour(ThemeToken::Accent), Some(Colour::Rgb(1, 2, 3)));
        assert_eq!(theme.colour(ThemeToken::Success), Some(Colour::Indexed(7)));
        assert_eq!(theme.colour(ThemeToken::Warning), Some(Colour::Ansi(12)));
        assert_eq!(theme.colour(ThemeToken::Text), None);
        assert_eq!(theme.colour(ThemeToken::Permission), Theme::new(BaseTheme::Light).colour(ThemeToken::Permission));
        assert_eq!(Theme::parse("[").base(), BaseTheme::Dark);
    }

    #[test]
    fn ansi_themes_use_the_terminals_colours_only() {
        // [TST-248]
        for base in [BaseTheme::DarkAnsi, BaseTheme::LightAnsi] {
            for token in ThemeToken::ALL {
                let colour = Theme::new(base).colour(*token);
                assert!(matches!(colour, None | Some(Colour::Ansi(_))), "{token:?}");
            }
        }
    }

    #[test]
    fn daltonised_themes_tell_added_from_removed_without_red_and_green() {
        for base in [BaseTheme::DarkDaltonized, BaseTheme::LightDaltonized] {
            let theme = Theme::new(base);
            let Some(Colour::Rgb(_, _, blue)) = theme.colour(ThemeToken::DiffAddedWord) else { panic!() };
            let Some(Colour::Rgb(red, _, _)) = theme.colour(ThemeToken::DiffRemovedWord) else { panic!() };
            assert!(blue > 150 && red > 150);
        }
    }

    #[test]
    fn every_text_can_be_read_on_every_background_it_stands_on() {
        let depths = [ColourDepth::True, ColourDepth::Ansi256, ColourDepth::Ansi16];
        let backgrounds = [
            ThemeToken::DiffAdded,
            ThemeToken::DiffRemoved,
            ThemeToken::DiffAddedDimmed,
            ThemeToken::DiffRemovedDimmed,
            ThemeToken::DiffAddedWord,
            ThemeToken::DiffRemovedWord,
            ThemeToken::UserMessageBackground,
            ThemeToken::UserMessageBackgroundHover,
            ThemeToken::BashMessageBackground,
            ThemeToken::MemoryBackground,
        ];
        let mut seen = 0;
        for (base, depth) in BaseTheme::ALL.into_iter().flat_map(|base| depths.map(|depth| (base, depth))) {
            let theme = Theme::new(base);
            for (background, text) in
                backgrounds.into_iter().flat_map(|bg| ThemeToken::ALL.iter().map(move |fg| (bg, fg)))
            {
                let Some(bg) = theme.colour(background) else { continue };
                let style = theme.readable(theme.fg(*text), bg);
                let (fg, bg) = (style.fg.and_then(|fg| reduce_colour(fg, depth)), reduce_background(bg, depth));
                let reached = contrast(fg.unwrap(), bg.unwrap());
                assert!(reached >= 4.5, "{base:?} {depth:?} {text:?} on {background:?}: {reached:.2}");
                seen += 1;
            }
        }
        assert!(seen > 4 * 3 * 10 * 30, "{seen}");
    }

    #[test]
    fn colours_with_a_meaning_can_be_read_in_dark_and_light_windows() {
        let tokens = [ThemeToken::Accent, ThemeToken::Permission, ThemeToken::Suggestion, ThemeToken::Error];
        for (base, window) in
            [(BaseTheme::Dark, Colour::Rgb(30, 30, 30)), (BaseTheme::Light, Colour::Rgb(255, 255, 255))]
        {
            for token in tokens {
                let colour = Theme::new(base).colour(token).unwrap();
                assert!(contrast(colour, window) >= 4.5, "{base:?} {token:?}: {:.2}", contrast(colour, window));
            }
        }
        let reduced = |token, base, depth| reduce_colour(Theme::new(base).colour(token).unwrap(), depth).unwrap();
        for (token, dark, light, plain, plain_light) in [
            (ThemeToken::Accent, 149, 64, 10, 2),
            (ThemeToken::Permission, 179, 94, 11, 3),
            (ThemeToken::Suggestion, 110, 25, 12, 4),
            (ThemeToken::Error, 167, 124, 9, 1),
        ] {
            assert_eq!(reduced(token, BaseTheme::Dark, ColourDepth::Ansi256), Colour::Indexed(dark), "{token:?}");
            assert_eq!(reduced(token, BaseTheme::Light, ColourDepth::Ansi256), Colour::Indexed(light), "{token:?}");
            assert_eq!(reduced(token, BaseTheme::Dark, ColourDepth::Ansi16), Colour::Ansi(plain), "{token:?}");
            assert_eq!(reduced(token, BaseTheme::Light, ColourDepth::Ansi16), Colour::Ansi(plain_light), "{token:?}");
        }
    }

    #[test]
    fn the_environment_decides_the_depth() {
        // [TST-248]
        let hints = |term, colorterm| ColourHints { term, colorterm, ..ColourHints::default() };
        assert_eq!(depth(hints("xterm-256color", "")), ColourDepth::Ansi256);
        assert_eq!(depth(hints("xterm", "truecolor")), ColourDepth::True);
        assert_eq!(depth(hints("vt220", "")), ColourDepth::Ansi16);
        assert_eq!(depth(hints("dumb", "")), ColourDepth::None);
        assert_eq!(depth(ColourHints { no_color: true, ..hints("xterm", "truecolor") }), ColourDepth::None);
        assert_eq!(depth(ColourHints { force_color: Some("3"), ..hints("dumb", "") }), ColourDepth::True);
    }

    #[test]
    fn the_background_chooses_the_base() {
        assert_eq!(base_for_background("rgb:ffff/ffff/ffff"), Some(BaseTheme::Light));
        assert_eq!(base_for_background("rgb:1e/1e/1e"), Some(BaseTheme::Dark));
        assert_eq!(base_for_background("#fff"), None);
    }
}
