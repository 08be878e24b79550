//! The parts of HTTP handlers that need no network: allowed addresses and header values.

use crate::declaration::{HookOrigin, HttpHandler};
use sys::Env;
use wire::settings::SettingsSource;

/// The longest response body that is read, in bytes.
pub const MAX_BODY: usize = 1 << 20;

/// Limits that settings set for HTTP handlers. `None` means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpHookLimits {
    /// `allowedHttpHookUrls`
    pub urls: Option<Vec<String>>,
    /// `httpHookAllowedEnvVars`
    pub variables: Option<Vec<String>>,
    /// Set while the folder is not trusted.
    pub untrusted: Option<UntrustedFolderLimits>,
}

/// Additional limits for the hooks of an untrusted folder. The hooks of others are not affected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UntrustedFolderLimits {
    /// The folder's own `allowedHttpHookUrls`
    pub urls: Option<Vec<String>>,
    /// Variables that are never sent.
    pub hidden: &'static [&'static str],
}

impl HttpHookLimits {
    pub fn admits(&self, url: &str, origin: &HookOrigin) -> bool {
        let url = normal(url);
        let lists = |patterns: &Vec<String>| patterns.iter().any(|pattern| wildcard(&normal(pattern), &url));
        let of_folder = self.untrusted.as_ref().filter(|_| is_of_folder(origin));
        let own_list = of_folder.and_then(|folder| folder.urls.as_ref());
        self.urls.as_ref().is_none_or(lists) && own_list.is_none_or(lists)
    }

    /// Headers with variables replaced by their values; a variable that may not be sent is empty.
    pub fn headers(&self, http: &HttpHandler, origin: &HookOrigin, env: &Env) -> Vec<(String, String)> {
        let untrusted = self.untrusted.as_ref().filter(|_| may_be_of_folder(origin));
        let may = |name: &str| {
            let listed = |list: &[String]| list.iter().any(|allowed| allowed == name);
            let hidden = untrusted.is_some_and(|folder| folder.hidden.contains(&name));
            listed(&http.allowed_variables) && self.variables.as_deref().is_none_or(listed) && !hidden
        };
        let fill = |(name, value): (&String, &String)| (name.clone(), interpolate(value, &may, env));
        http.headers.iter().map(fill).collect()
    }
}

fn is_of_folder(origin: &HookOrigin) -> bool {
    matches!(origin, HookOrigin::Settings { source: SettingsSource::Project, .. })
}

/// Skills, agents and plugins may have come with the folder.
fn may_be_of_folder(origin: &HookOrigin) -> bool {
    match origin {
        HookOrigin::Settings { .. } => is_of_folder(origin),
        HookOrigin::Skill { .. } | HookOrigin::Agent { .. } | HookOrigin::Plugin { .. } => true,
        HookOrigin::Host => false,
    }
}

/// Converts scheme and host to lower case and removes a trailing dot of the host.
fn normal(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = authority.to_ascii_lowercase();
    let authority = match authority.split_once(':') {
        Some((host, port)) => format!("{}:{port}", host.trim_end_matches('.')),
        None => authority.trim_end_matches('.').to_owned(),
    };
    format!("{}://{authority}{path}", scheme.to_ascii_lowercase())
}

/// Matches a pattern in which `*` matches any text.
fn wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn interpolate(text: &str, may: &impl Fn(&str) -> bool, env: &Env) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, tail) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, tail)) => (name, tail),
            None => {
                after.split_at(after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len()))
            }
        };
        if name.is_empty() {
            out.push('$');
        } else if may(name) {
            out.push_str(env.get(name).unwrap_or_default());
        }
        rest = tail;
    }
    out.push_str(rest);
    // A line break in a value must not start another header.
    out.replace(['\r', '\n', '\0'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(source: SettingsSource) -> HookOrigin {
        HookOrigin::Settings { source, path: None }
    }

    fn list(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|entry| (*entry).to_owned()).collect()
    }

    // [EXT-24]
    #[test]
    fn a_list_of_addresses_is_a_list_of_all() {
        let user = settings(SettingsSource::User);
        let limits = |urls: &[&str]| HttpHookLimits { urls: Some(list(urls)), ..HttpHookLimits::default() };
        assert!(HttpHookLimits::default().admits("http://x/", &user));
        assert!(!limits(&[]).admits("http://x/", &user));
        let some = limits(&["https://hooks.example.com/*", "http://127.0.0.1:*/x"]);
        assert!(some.admits("https://HOOKS.example.com./a/b", &user) && some.admits("http://127.0.0.1:80/x", &user));
        assert!(
            !some.admits("https://hooks.example.com.evil/a", &user) && !some.admits("http://127.0.0.1:80/xy", &user)
        );
    }

    // [EXT-25]
    #[test]
    fn headers_carry_listed_variables_only() {
        let env = Env::default().with([("TOKEN", "t\r\nX: y"), ("OTHER", "o")]);
        let headers = [("A".to_owned(), "Bearer $TOKEN ${OTHER}$".to_owned())].into();
        let http = HttpHandler { url: String::new(), headers, allowed_variables: vec!["TOKEN".into(), "OTHER".into()] };
        let user = settings(SettingsSource::User);
        assert_eq!(HttpHookLimits::default().headers(&http, &user, &env)[0].1, "Bearer tX: y o$");
        let limits = HttpHookLimits { variables: Some(list(&["OTHER"])), ..HttpHookLimits::default() };
        assert_eq!(limits.headers(&http, &user, &env)[0].1, "Bearer  o$");
    }

    // [F-A1]
    #[test]
    fn an_untrusted_folder_limits_its_own_hooks_and_gets_no_credential() {
        let untrusted = UntrustedFolderLimits { urls: Some(list(&["https://a/*"])), hidden: &["TOKEN"] };
        let limits = HttpHookLimits { untrusted: Some(untrusted), ..HttpHookLimits::default() };
        let env = Env::default().with([("TOKEN", "t"), ("OTHER", "o")]);
        let headers = [("A".to_owned(), "$TOKEN ${OTHER}".to_owned())].into();
        let http = HttpHandler { url: String::new(), headers, allowed_variables: vec!["TOKEN".into(), "OTHER".into()] };
        let skill = HookOrigin::Skill { name: "s".into() };
        for (origin, admitted, sent) in [
            (settings(SettingsSource::User), true, "t o"),
            (settings(SettingsSource::Local), true, "t o"),
            (HookOrigin::Host, true, "t o"),
            (settings(SettingsSource::Project), false, " o"),
            (skill, true, " o"),
        ] {
            assert_eq!(limits.admits("https://b/", &origin), admitted, "{origin:?}");
            assert!(limits.admits("https://a/x", &origin), "{origin:?}");
            assert_eq!(limits.headers(&http, &origin, &env)[0].1, sent, "{origin:?}");
        }
    }
}
