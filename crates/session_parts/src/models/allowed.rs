//! `availableModels`: which models a session may use. An entry is a family (`opus`), the start of a version
//! (`opus-4`) or a whole id; an entry for a version replaces the entry of its family. A model that is not allowed is
//! replaced and the user gets a notice; nothing is sent to a model outside the list.

use model::catalog::{ModelCatalog, strip_long_suffix};
use wire::settings::Settings;

const FAMILIES: [&str; 4] = ["opus", "sonnet", "haiku", "fable"];

pub struct AllowedModels<'a> {
    /// In lower case, without `[1m]`.
    entries: Vec<String>,
    /// The default model must be on the list too.
    enforced: bool,
    catalog: &'a ModelCatalog,
}

impl<'a> AllowedModels<'a> {
    /// `None` when every model is allowed.
    pub fn of(settings: &Settings, catalog: &'a ModelCatalog) -> Option<Self> {
        let list = settings.available_models.as_ref()?;
        let entries = list.iter().map(|entry| strip_long_suffix(entry.trim()).to_ascii_lowercase()).collect();
        Some(Self { entries, enforced: settings.enforce_available_models == Some(true), catalog })
    }

    pub fn permits(&self, id: &str) -> bool {
        let canonical = self.catalog.lookup(id).canonical;
        self.entries.iter().any(|entry| {
            if FAMILIES.contains(&entry.as_str()) {
                return family(&canonical) == Some(entry) && self.versions(entry).next().is_none();
            }
            let whole = if entry.starts_with("claude-") { entry.clone() } else { format!("claude-{entry}") };
            // `opus-4` is a version, `claude-opus-4` the id of one model.
            let is_id = entry.starts_with("claude-") && self.catalog.lookup(&whole).known;
            let bare = strip_long_suffix(id);
            bare == entry
                || canonical == whole
                || (!is_id && canonical.strip_prefix(&whole).is_some_and(|rest| rest.starts_with('-')))
        })
    }

    /// The entries for versions of a family.
    fn versions<'s>(&'s self, of: &'s str) -> impl Iterator<Item = &'s str> {
        self.entries.iter().map(String::as_str).filter(move |entry| *entry != of && family(entry) == Some(of))
    }

    /// The model to use when `name` was requested and resolves to `id`, and a notice for the user. `default` is the
    /// model used without a request.
    pub fn resolve(&self, name: &str, id: String, default: &str) -> (String, Option<String>) {
        let is_default = name.eq_ignore_ascii_case("default");
        if (is_default && !self.enforced) || self.permits(&id) {
            return (id, None);
        }
        let alias = if name == "best" { "opus" } else { strip_long_suffix(name) };
        if let Some(newest) =
            self.versions(alias).max_by_key(|entry| version(entry)).filter(|_| FAMILIES.contains(&alias))
        {
            let notice = format!("Note: {name} means {newest} here: availableModels allows no other version.");
            return (newest.to_owned(), Some(notice));
        }
        let instead = self.fallback(default);
        let notice = format!("Warning: the model {name} is not among availableModels; {instead} is used.");
        (instead, Some(notice))
    }

    fn fallback(&self, default: &str) -> String {
        if !self.enforced || self.permits(default) {
            return default.to_owned();
        }
        let env = sys::Env::default();
        self.entries.first().map_or_else(|| default.to_owned(), |entry| self.catalog.resolve(entry, &env))
    }
}

fn family(id: &str) -> Option<&'static str> {
    FAMILIES.into_iter().find(|family| id.split('-').any(|part| part == *family))
}

/// `claude-opus-4-8` is newer than `claude-opus-4`; dates do not count.
fn version(id: &str) -> Vec<u32> {
    id.split('-').filter(|part| part.len() < 4).filter_map(|part| part.parse().ok()).collect()
}

/// Why a session may not use this model; `None` when it may.
pub fn model_refused(settings: &wire::settings::Settings, id: &str) -> Option<String> {
    let catalog = ModelCatalog::default();
    let allowed = AllowedModels::of(settings, &catalog)?;
    let names = || settings.available_models.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
    (!allowed.permits(id)).then(|| format!("Model {id} is not allowed here; availableModels lists {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(list: &[&str], enforced: bool, name: &str) -> (String, bool) {
        let catalog = ModelCatalog::default();
        let settings = Settings {
            available_models: Some(list.iter().map(|s| (*s).to_owned()).collect()),
            enforce_available_models: Some(enforced),
            ..Settings::default()
        };
        let allowed = AllowedModels::of(&settings, &catalog).unwrap();
        let id = catalog.resolve(name, &sys::Env::default());
        let (model, notice) = allowed.resolve(name, id, "claude-opus-5-5");
        (model, notice.is_some())
    }

    #[test]
    fn a_version_takes_the_place_of_its_family() {
        // [CLI-120]
        let plain = |list: &[&str], name| settled(list, false, name);
        assert_eq!(plain(&["opus"], "opus"), ("claude-opus-5-5".into(), false));
        assert_eq!(plain(&["opus"], "claude-opus-4-6"), ("claude-opus-4-6".into(), false));
        assert_eq!(plain(&["opus", "claude-opus-4-6"], "opus"), ("claude-opus-4-6".into(), true));
        assert_eq!(plain(&["claude-opus-4-5", "claude-opus-4-6"], "opus"), ("claude-opus-4-6".into(), true));
        assert_eq!(
            plain(&["opus", "claude-opus-4-6"], "claude-opus-5-5"),
            ("claude-opus-5-5".into(), true),
            "the default"
        );
        assert_eq!(plain(&["sonnet"], "haiku"), ("claude-opus-5-5".into(), true));
        assert_eq!(plain(&["sonnet"], "sonnet[1m]"), ("claude-sonnet-5-5[1m]".into(), false));
        assert_eq!(plain(&["opus-4"], "claude-opus-4-6"), ("claude-opus-4-6".into(), false), "a version");
        assert_eq!(plain(&["claude-opus-4"], "claude-opus-4-6"), ("claude-opus-5-5".into(), true), "an id");
        assert_eq!(plain(&["opus-4"], "claude-sonnet-5-5"), ("claude-opus-5-5".into(), true));
    }

    #[test]
    fn the_default_obeys_when_it_must() {
        assert_eq!(settled(&[], false, "default"), ("claude-opus-5-5".into(), false));
        assert_eq!(settled(&[], false, "sonnet"), ("claude-opus-5-5".into(), true));
        assert_eq!(settled(&["sonnet"], true, "default"), ("claude-sonnet-5-5".into(), true));
        assert_eq!(settled(&["sonnet"], true, "haiku"), ("claude-sonnet-5-5".into(), true));
    }
}
