//! How a settings key looks, who may set it and how layers join. The tables are made by `keys!` from the same lines as
//! the typed structures, so validation, schema and documentation cannot drift from the types.

use serde_json::Value;
use std::collections::BTreeMap;

/// The JSON a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Bool,
    Text,
    /// A string, or `false` for none.
    TextOrOff,
    OneOf(&'static [&'static str]),
    Integer {
        min: i64,
        max: i64,
    },
    Number {
        min: f64,
        max: f64,
    },
    /// A single value counts as a list of one.
    List(&'static Shape),
    /// An object with free names.
    Map(&'static Shape),
    Object(&'static [Key]),
    Any,
}

/// How values of several layers become one. Highest layer first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The highest layer that sets the key.
    Replace,
    /// All entries, each once.
    Append,
    /// Member by member.
    Deep,
    /// Member by member, but each member whole.
    PerEntry,
    /// This value wins wherever it is set.
    Sticky(bool),
}

/// Which files may set a key. `--settings` may set whatever the user's file may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Any,
    UserLocalManaged,
    UserManaged,
    Managed,
}

/// What a repository needs before its value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Nothing.
    Open,
    /// Trust: the value grants something.
    Grant,
    /// Trust: the value is a command that runs or decides where credentials go.
    Helper,
    /// Trust, where project code of untrusted folders is refused: scripts rely on it otherwise.
    Code,
    /// Trust, unless it is the stricter value.
    Loosens { strict: bool },
    /// Never: only the user can decide this.
    Own,
}

/// What a managed source means when its value cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenBroken {
    Drop,
    True,
    EmptyList,
}

/// One key of a settings object.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub doc: &'static str,
    pub shape: Shape,
    pub merge: Merge,
    pub scope: Scope,
    pub gate: Gate,
    pub when_broken: WhenBroken,
    /// Member names that have a meaning, for maps that know theirs.
    pub names: &'static [&'static str],
    /// Still read, no longer recommended.
    pub deprecated: bool,
    /// Why the key does nothing here, though files of the compatible product may hold it. `None`: it has its effect.
    pub no_effect: Option<&'static str>,
}

impl Key {
    pub(super) const fn new(name: &'static str, doc: &'static str, shape: Shape) -> Self {
        let merge = match shape {
            Shape::List(_) => Merge::Append,
            Shape::Map(_) | Shape::Object(_) => Merge::Deep,
            Shape::Bool
            | Shape::Text
            | Shape::TextOrOff
            | Shape::OneOf(_)
            | Shape::Integer { .. }
            | Shape::Number { .. }
            | Shape::Any => Merge::Replace,
        };
        let (scope, gate, when_broken) = (Scope::Any, Gate::Open, WhenBroken::Drop);
        Self { name, doc, shape, merge, scope, gate, when_broken, names: &[], deprecated: false, no_effect: None }
    }

    pub(super) const fn one_of(mut self, choices: &'static [&'static str]) -> Self {
        self.shape = Shape::OneOf(choices);
        self
    }

    pub(super) const fn range(mut self, min: i64, max: i64) -> Self {
        self.shape = Shape::Integer { min, max };
        self
    }

    pub(super) const fn between(mut self, min: f64, max: f64) -> Self {
        self.shape = Shape::Number { min, max };
        self
    }

    pub(super) const fn replace(mut self) -> Self {
        self.merge = Merge::Replace;
        self
    }

    pub(super) const fn per_entry(mut self) -> Self {
        self.merge = Merge::PerEntry;
        self
    }

    pub(super) const fn sticky(mut self, value: bool) -> Self {
        self.merge = Merge::Sticky(value);
        self
    }

    pub(super) const fn managed(mut self) -> Self {
        self.scope = Scope::Managed;
        self
    }

    pub(super) const fn user_managed(mut self) -> Self {
        self.scope = Scope::UserManaged;
        self
    }

    pub(super) const fn user_local_managed(mut self) -> Self {
        self.scope = Scope::UserLocalManaged;
        self
    }

    pub(super) const fn grant(mut self) -> Self {
        self.gate = Gate::Grant;
        self
    }

    pub(super) const fn helper(mut self) -> Self {
        self.gate = Gate::Helper;
        self
    }

    pub(super) const fn code(mut self) -> Self {
        self.gate = Gate::Code;
        self
    }

    pub(super) const fn own(mut self) -> Self {
        self.gate = Gate::Own;
        self
    }

    pub(super) const fn loosens_unless(mut self, strict: bool) -> Self {
        self.gate = Gate::Loosens { strict };
        self
    }

    pub(super) const fn fail_closed(mut self, value: WhenBroken) -> Self {
        self.when_broken = value;
        self
    }

    pub(super) const fn named(mut self, names: &'static [&'static str]) -> Self {
        self.names = names;
        self
    }

    pub(super) const fn no_effect(mut self, why: &'static str) -> Self {
        self.no_effect = Some(why);
        self
    }

    /// Whether a single word may stand where a list is expected. Never where entries grant or run something.
    pub fn takes_single_word(&self) -> bool {
        matches!(self.shape, Shape::List(Shape::Text)) && matches!(self.gate, Gate::Open | Gate::Loosens { .. })
    }

    pub(super) const fn deprecated(mut self) -> Self {
        self.deprecated = true;
        self
    }
}

/// A text that can be switched off: `false` and the empty string are none.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum TextOrOff {
    Text(String),
    Switch(bool),
}

impl TextOrOff {
    /// `None` when it is switched off.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            Self::Switch(_) => None,
        }
    }
}

/// A type that knows its JSON shape.
pub trait Shaped {
    const SHAPE: Shape;
}

impl Shaped for bool {
    const SHAPE: Shape = Shape::Bool;
}
impl Shaped for String {
    const SHAPE: Shape = Shape::Text;
}
impl Shaped for TextOrOff {
    const SHAPE: Shape = Shape::TextOrOff;
}
impl Shaped for u32 {
    const SHAPE: Shape = Shape::Integer { min: 0, max: u32::MAX as i64 };
}
impl Shaped for f64 {
    const SHAPE: Shape = Shape::Number { min: f64::MIN, max: f64::MAX };
}
impl Shaped for Value {
    const SHAPE: Shape = Shape::Any;
}
impl<T: Shaped> Shaped for Option<T> {
    const SHAPE: Shape = T::SHAPE;
}
impl<T: Shaped + 'static> Shaped for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);
}
impl<T: Shaped + 'static> Shaped for BTreeMap<String, T> {
    const SHAPE: Shape = Shape::Map(&T::SHAPE);
}

/// Declares a settings structure and its key table in one place.
macro_rules! keys {
    ($(#[$outer:meta])* pub struct $name:ident { $(
        $(#[doc = $doc:literal])+
        $json:literal $field:ident: $ty:ty $(=> $($attr:ident $(($($arg:expr),*))?),+)?;
    )* }) => {
        $(#[$outer])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(default)]
        pub struct $name { $(
            $(#[doc = $doc])+
            #[serde(rename = $json)]
            #[cfg_attr(feature = "settings-readers", deprecated(note = $json))]
            pub $field: $ty,
        )* }

        impl $name {
            /// Every key of this object.
            pub const KEYS: &'static [$crate::settings::Key] = &[ $(
                $crate::settings::Key::new($json, concat!($($doc),+), <$ty as $crate::settings::Shaped>::SHAPE)
                    $($(.$attr($($($arg),*)?))+)?
            ),* ];
        }

        impl $crate::settings::Shaped for $name {
            const SHAPE: $crate::settings::Shape = $crate::settings::Shape::Object(Self::KEYS);
        }
    };
}
pub(crate) use keys;
