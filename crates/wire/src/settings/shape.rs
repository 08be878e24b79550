//! The shape of a settings key, which files may set it and how layers are merged. `keys!` generates the tables from the
//! same lines as the typed structures, so validation, schema and documentation always agree with the types.

use serde_json::Value;
use std::collections::BTreeMap;

/// The JSON that a key accepts.
#[derive(Clone, Copy, Debug)]
pub enum KeyShape {
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
    /// A single value is accepted as a list of one.
    List(&'static KeyShape),
    /// An object with arbitrary member names.
    Map(&'static KeyShape),
    Object(&'static [SettingKey]),
    Any,
}

/// How the values of several layers are merged. Layers are ordered highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeRule {
    /// The highest layer that sets the key wins.
    Replace,
    /// All entries of all layers, each once.
    Append,
    /// Objects are merged recursively.
    Deep,
    /// Objects are merged by member name; each member is taken whole.
    PerEntry,
    /// This value wins if any layer sets it.
    Sticky(bool),
    /// The lowest number of all layers wins.
    Lowest,
}

/// Which files may set a key. `--settings` may set every key that the user's file may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyScope {
    Any,
    UserLocalManaged,
    UserManaged,
    Managed,
}

/// What is required before a value from a repository has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustGate {
    /// Nothing is required.
    Open,
    /// Trust, because the value grants something.
    Grant,
    /// Trust, because the value is a command that runs or that decides where credentials are sent.
    Helper,
    /// Trust, but only where project code of untrusted folders is refused, because scripts rely on the value otherwise.
    Code,
    /// Trust, unless the value is the stricter one.
    Loosens { strict: bool },
    /// The value never has an effect: only the user can decide this.
    Own,
}

/// The value used when a managed source contains one that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenValue {
    Drop,
    True,
    EmptyList,
}

/// What is wrong with a value that has the right shape; the text continues the key's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueProblem {
    /// It does not count.
    Ignored(&'static str),
    /// It counts, as the text says: leaving it out would loosen something.
    Kept(&'static str),
}

pub type ValueCheck = fn(&Value) -> Option<ValueProblem>;

/// One key of a settings object.
#[derive(Clone, Copy, Debug)]
pub struct SettingKey {
    pub name: &'static str,
    pub doc: &'static str,
    pub shape: KeyShape,
    pub merge: MergeRule,
    pub scope: KeyScope,
    pub gate: TrustGate,
    pub when_broken: BrokenValue,
    /// The valid member names, for maps with a fixed set of them.
    pub names: &'static [&'static str],
    /// Still read, no longer recommended.
    pub deprecated: bool,
    /// What the shape alone does not say: asked about the value, each entry of a list, each member of a map.
    pub check: Option<ValueCheck>,
    /// Why the key does nothing here, though files of the compatible product may hold it. `None`: it has its effect.
    pub no_effect: Option<&'static str>,
}

impl SettingKey {
    pub(super) const fn new(name: &'static str, doc: &'static str, shape: KeyShape) -> Self {
        let merge = match shape {
            KeyShape::List(_) => MergeRule::Append,
            KeyShape::Map(_) | KeyShape::Object(_) => MergeRule::Deep,
            KeyShape::Bool
            | KeyShape::Text
            | KeyShape::TextOrOff
            | KeyShape::OneOf(_)
            | KeyShape::Integer { .. }
            | KeyShape::Number { .. }
            | KeyShape::Any => MergeRule::Replace,
        };
        let (scope, gate, when_broken) = (KeyScope::Any, TrustGate::Open, BrokenValue::Drop);
        Self {
            name,
            doc,
            shape,
            merge,
            scope,
            gate,
            when_broken,
            names: &[],
            deprecated: false,
            check: None,
            no_effect: None,
        }
    }

    pub(super) const fn one_of(mut self, choices: &'static [&'static str]) -> Self {
        self.shape = KeyShape::OneOf(choices);
        self
    }

    pub(super) const fn range(mut self, min: i64, max: i64) -> Self {
        self.shape = KeyShape::Integer { min, max };
        self
    }

    pub(super) const fn between(mut self, min: f64, max: f64) -> Self {
        self.shape = KeyShape::Number { min, max };
        self
    }

    pub(super) const fn replace(mut self) -> Self {
        self.merge = MergeRule::Replace;
        self
    }

    pub(super) const fn per_entry(mut self) -> Self {
        self.merge = MergeRule::PerEntry;
        self
    }

    pub(super) const fn sticky(mut self, value: bool) -> Self {
        self.merge = MergeRule::Sticky(value);
        self
    }

    pub(super) const fn lowest(mut self) -> Self {
        self.merge = MergeRule::Lowest;
        self
    }

    pub(super) const fn managed(mut self) -> Self {
        self.scope = KeyScope::Managed;
        self
    }

    pub(super) const fn user_managed(mut self) -> Self {
        self.scope = KeyScope::UserManaged;
        self
    }

    pub(super) const fn user_local_managed(mut self) -> Self {
        self.scope = KeyScope::UserLocalManaged;
        self
    }

    pub(super) const fn grant(mut self) -> Self {
        self.gate = TrustGate::Grant;
        self
    }

    pub(super) const fn helper(mut self) -> Self {
        self.gate = TrustGate::Helper;
        self
    }

    pub(super) const fn code(mut self) -> Self {
        self.gate = TrustGate::Code;
        self
    }

    pub(super) const fn own(mut self) -> Self {
        self.gate = TrustGate::Own;
        self
    }

    pub(super) const fn loosens_unless(mut self, strict: bool) -> Self {
        self.gate = TrustGate::Loosens { strict };
        self
    }

    pub(super) const fn fail_closed(mut self, value: BrokenValue) -> Self {
        self.when_broken = value;
        self
    }

    pub(super) const fn named(mut self, names: &'static [&'static str]) -> Self {
        self.names = names;
        self
    }

    pub(super) const fn check(mut self, check: ValueCheck) -> Self {
        self.check = Some(check);
        self
    }

    pub(super) const fn no_effect(mut self, why: &'static str) -> Self {
        self.no_effect = Some(why);
        self
    }

    /// True when a single word is accepted in place of a list. Never true for keys whose entries grant or run
    /// something.
    pub fn takes_single_word(&self) -> bool {
        matches!(self.shape, KeyShape::List(KeyShape::Text))
            && matches!(self.gate, TrustGate::Open | TrustGate::Loosens { .. })
    }

    pub(super) const fn deprecated(mut self) -> Self {
        self.deprecated = true;
        self
    }
}

/// A text that can be switched off: `false` and the empty string mean no text.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum TextOrOff {
    Text(String),
    Switch(bool),
}

impl TextOrOff {
    /// `None` when the text is switched off.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            Self::Switch(_) => None,
        }
    }
}

/// A type with a known JSON shape.
pub trait HasShape {
    const SHAPE: KeyShape;
}

impl HasShape for bool {
    const SHAPE: KeyShape = KeyShape::Bool;
}
impl HasShape for String {
    const SHAPE: KeyShape = KeyShape::Text;
}
impl HasShape for TextOrOff {
    const SHAPE: KeyShape = KeyShape::TextOrOff;
}
impl HasShape for u32 {
    const SHAPE: KeyShape = KeyShape::Integer { min: 0, max: u32::MAX as i64 };
}
impl HasShape for f64 {
    const SHAPE: KeyShape = KeyShape::Number { min: f64::MIN, max: f64::MAX };
}
impl HasShape for Value {
    const SHAPE: KeyShape = KeyShape::Any;
}
impl<T: HasShape> HasShape for Option<T> {
    const SHAPE: KeyShape = T::SHAPE;
}
impl<T: HasShape + 'static> HasShape for Vec<T> {
    const SHAPE: KeyShape = KeyShape::List(&T::SHAPE);
}
impl<T: HasShape + 'static> HasShape for BTreeMap<String, T> {
    const SHAPE: KeyShape = KeyShape::Map(&T::SHAPE);
}

/// A key and the code that puts its value into the object.
pub(crate) type KeyReader<T> = (&'static str, fn(&mut T, &Value) -> Result<(), serde_json::Error>);

/// A table in place of serde's derived code, which for all keys in one function was the largest of the program.
pub(crate) fn read_keys<T: Default>(
    values: &serde_json::Map<String, Value>,
    readers: &[KeyReader<T>],
) -> Result<T, serde_json::Error> {
    let mut object = T::default();
    for (key, value) in values {
        if let Some((_, read)) = readers.iter().find(|(name, _)| name == key) {
            read(&mut object, value)?;
        }
    }
    Ok(object)
}

/// Declares a settings structure together with its key table.
macro_rules! keys {
    ($(#[$outer:meta])* pub struct $name:ident { $(
        $(#[doc = $doc:literal])+
        $json:literal $field:ident: $ty:ty $(=> $($attr:ident $(($($arg:expr),*))?),+)?;
    )* }) => {
        $(#[$outer])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $(
            $(#[doc = $doc])+
            #[cfg_attr(feature = "settings-readers", deprecated(note = $json))]
            pub $field: $ty,
        )* }

        impl $name {
            /// Every key of this object.
            #[allow(clippy::large_stack_arrays, reason = "a constant, which is never on the stack")]
            pub const KEYS: &'static [$crate::settings::SettingKey] = &[ $(
                $crate::settings::SettingKey::new($json, concat!($($doc),+), <$ty as $crate::settings::HasShape>::SHAPE)
                    $($(.$attr($($($arg),*)?))+)?
            ),* ];
        }

        impl $crate::settings::HasShape for $name {
            const SHAPE: $crate::settings::KeyShape = $crate::settings::KeyShape::Object(Self::KEYS);
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[allow(deprecated, reason = "the mark is for code that uses a value")]
                const READERS: &[$crate::settings::shape::KeyReader<$name>] =
                    &[ $( ($json, |object, value| serde::Deserialize::deserialize(value).map(|read| object.$field = read)) ),* ];
                let values = serde_json::Map::deserialize(deserializer)?;
                $crate::settings::shape::read_keys(&values, READERS).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use keys;
