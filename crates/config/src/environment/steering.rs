//! Which variables make programs run or load code, or send credentials elsewhere. An untrusted folder sets none
//! of them. The names of a known program are taken as a family, with the few exceptions that only tune it; names of unknown
//! programs are judged by the words in them.

/// The prefix of the variables of one program or library.
#[rustfmt::skip]
const FAMILIES: &[&str] = &[
    // The loader and the C library.
    "LD_", "DYLD_", "_RLD", "LIBPATH", "SHLIB_", "GLIBC_", "MALLOC_", "GCONV_", "GETCONF_", "LOCPATH", "NLSPATH", "HOSTALIASES",
    "RES_", "RESOLV_", "TZDIR", "CHARSET", "ASAN_", "LSAN_", "MSAN_", "TSAN_", "UBSAN_", "LLVM_", "GCOV_", "GMON_",
    // Shells.
    "BASH", "SHELL", "ENV", "IFS", "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT", "ZDOTDIR", "ZSH", "FPATH", "CDPATH", "HIST", "HISTFILE", "INPUTRC",
    "KSH_", "FISH_", "POSIX", "OLDPWD", "PWD", "EXECIGNORE", "GLOBIGNORE", "FCEDIT", "RPROMPT", "PSVAR", "SPROMPT",
    // Places and people.
    "PATH", "HOME", "USER", "LOGNAME", "TMP", "TEMP", "TMPDIR", "TMPPREFIX", "TEMPDIR", "SESSION_MANAGER", "CREDENTIALS_DIR", "XDG_", "DISPLAY", "WAYLAND_", "XAUTH", "DBUS_", "SYSTEMD_",
    "NOTIFY_SOCKET", "LISTEN_",
    // Terminals, pagers, editors, browsers.
    "TERMINFO", "TERMCAP", "LESS", "MORE", "MOST", "MAN", "MANOPT", "PAGER", "EDITOR", "VISUAL", "BROWSER", "EXINIT", "VIM", "GVIM", "NVIM", "MYVIM",
    "EMACS", "NANO", "SCREEN", "TMUX", "DIALOG", "FZF_", "BAT_", "DELTA_", "EXA_", "EZA_", "LF_", "RANGER_",
    // Version control and hosting.
    "GIT", "GCM_", "SSH", "SVN_", "HG", "HGMERGE", "CVS", "BZR", "P4", "FOSSIL", "JJ_", "GH_", "GITHUB_", "GITLAB_", "GLAB_", "GL_", "HUB_", "LFS_",
    "PRE_COMMIT", "HUSKY", "LEFTHOOK", "OVERCOMMIT",
    // Files, archives and transfers.
    "RIPGREP_", "GREP_", "ACK_", "AG_", "TAR_", "TAPE", "RSH", "RSYNC", "ZIP", "UNZIP", "GZIP", "BZIP", "XZ_", "LZMA", "ZSTD_", "LZ4_", "7Z",
    "CURL_", "WGET", "HTTPIE_", "FTP", "LFTP", "NETRC", "ARIA2", "SCP", "DIFF_", "PATCH_", "JQ_", "YQ_", "FD_", "LS_OPTIONS", "SUDO_", "DOAS",
    // Encryption and proxies.
    "OPENSSL", "SSL", "GNUTLS", "NSS_", "CURLOPT", "REQUESTS_", "HTTPX_", "GPG", "GNUPG", "PKCS11", "P11_", "KRB5", "PINENTRY", "ACME_",
    // JavaScript.
    "NODE", "NPM", "NPX", "YARN", "PNPM", "BUN_", "DENO_", "COREPACK", "NVM_", "FNM_", "VOLTA_", "N_PREFIX", "TS_NODE", "TSX_", "ESBUILD_",
    "BABEL_", "WEBPACK_", "VITE_NODE", "JEST_", "ELECTRON", "PUPPETEER_", "PLAYWRIGHT_", "CYPRESS_", "CHROME", "SELENIUM_", "NX_", "TURBO_",
    // Python.
    "PYTHON", "PIP_", "PIPX_", "PYENV", "POETRY_", "UV_", "PDM_", "HATCH_", "CONDA", "MAMBA", "VIRTUAL", "WORKON", "PIPENV", "TOX_", "NOX", "PYTEST_",
    "MYPY", "RUFF_", "BLACK_", "IPYTHON", "JUPYTER", "MPL", "GUNICORN_",
    "TWINE_", "SETUPTOOLS_", "DISTUTILS_", "NUMBA_", "TORCH_", "TRITON_", "CUDA",
    // Ruby, Perl, PHP, Lua.
    "RUBY", "GEM_", "GEMRC", "BUNDLE_", "BUNDLER_", "RBENV", "RVM", "RAKE", "IRB", "PERL", "PLACK_", "PHP", "COMPOSER", "XDEBUG_", "LUA_", "LUAROCKS",
    // The JVM.
    "JAVA", "JDK_", "JRE_", "JVM_", "_JAVA", "CLASSPATH", "MAVEN", "MVN", "M2_", "GRADLE", "SBT", "ANT_", "KOTLIN", "SCALA", "LEIN_",
    "CLOJURE", "GROOVY", "JBANG", "COURSIER", "CATALINA_", "JPDA_",
    // Rust, Go, C and their builders.
    "RUSTC", "RUSTUP", "RUSTDOC", "RUSTFLAGS", "RUSTFMT", "CARGO", "CLIPPY", "SCCACHE", "CCACHE", "DISTCC", "ICECC", "BINDGEN", "GOBIN", "GOENV",
    "GOFLAGS", "GOPATH", "GOPROXY", "GOPRIVATE", "GONO", "GOSUM", "GOROOT", "GOTOOL", "GOINSECURE", "GOAUTH", "GOWORK", "GOVCS", "GOCACHE",
    "GOEXPERIMENT", "GOTMP", "GOMODCACHE", "GODEBUG", "GO111", "CGO_", "CC", "CXX", "CPP", "CPATH", "C_INCLUDE", "CPLUS_", "OBJC_",
    "LIBRARY_", "COMPILER_", "GCC_", "CLANG_", "AR", "AS", "NM", "LD", "RANLIB", "STRIP", "OBJCOPY", "FC", "CFLAGS", "LDFLAGS", "MAKE", "MFLAGS",
    "GNUMAKE", "CMAKE", "CTEST", "CPACK", "MESON", "NINJA", "PKG_CONFIG", "ACLOCAL", "AUTOCONF", "AUTOM4TE", "AUTOMAKE", "LIBTOOL", "M4",
    "BAZEL", "BUCK", "SCONS", "JUST_", "VCPKG", "CONAN", "ZIG_", "YACC", "LEX", "BISON", "INSTALL", "TEXINPUTS", "TEXMF",
    // Other languages.
    "DOTNET", "NUGET", "COMPLUS_", "CORECLR_", "COR_", "MSBUILD", "MONO_", "ERL_", "ERLANG", "ELIXIR", "MIX_", "HEX_", "REBAR", "JULIA", "R_",
    "OCAML", "CAML", "OPAM", "DUNE_", "GHC", "CABAL", "STACK_", "SWIFT", "XCODE", "SDKROOT", "DEVELOPER_", "FLUTTER", "PUB_", "DART", "ANDROID",
    "GUILE", "TCL", "OCTAVE", "MATLAB", "WASMTIME", "EMSDK", "EM_", "NIM_", "CRYSTAL",
    // Containers, clusters, clouds.
    "DOCKER", "COMPOSE_", "BUILDKIT", "BUILDX", "BUILDAH", "PODMAN", "CONTAINER_HOST", "CONTAINERS_", "REGISTRY_", "SKOPEO", "KUBE", "HELM", "KUSTOMIZE", "K9S",
    "MINIKUBE", "KIND_", "SKAFFOLD", "TILT_", "TF_", "TERRAFORM", "TERRAGRUNT", "TOFU", "TG_", "PULUMI", "VAULT_", "CONSUL_", "NOMAD_", "ANSIBLE", "PACKER_",
    "VAGRANT", "CHEF_", "PUPPET_", "SALT_", "AWS_", "SAM_", "CDK_", "GOOGLE_", "GCLOUD_", "CLOUDSDK_", "CLOUD_ML", "AZURE_", "ARM_", "VERTEX_",
    "OCI_", "HEROKU_", "FLY_", "VERCEL_", "NETLIFY_", "WRANGLER_", "CLOUDFLARE_", "OTEL_", "BUILDKITE_", "CIRCLE_",
    // Databases.
    "PGSERVICE", "PGSYSCONF", "PGPASSFILE", "PGSSL", "PGHOSTADDR", "PSQL", "REDISCLI", "SQLITE_TMP", "SQLITE_HIST", "ODBC", "ORACLE_",
    "TNS_", "SQLPATH", "USQL",
    // Systems and desktops.
    "NIX_", "GUIX_", "HOMEBREW", "ASDF", "MISE", "RTX_", "DIRENV", "DPKG", "APT_", "DEB", "RPM_", "PACMAN", "MAKEPKG", "SNAP", "FLATPAK", "QT_",
    "QML", "GTK", "GIO_", "GDK_", "GST_", "GI_", "GNOME_", "KDE_", "LIBGL", "VK_", "MESA_", "PULSE_", "ALSA_", "SDL_", "WINE", "PROTON",
    // This product.
    "CLAUDE_", "ANTHROPIC_", "GIMLET", "MCP_",
];

/// Names of those families that only tune.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "NODE_ENV", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONHASHSEED", "PYTHONFAULTHANDLER",
    "CARGO_TERM_COLOR", "CARGO_INCREMENTAL", "CARGO_TERM_PROGRESS_WHEN", "DJANGO_DEBUG", "DJANGO_SETTINGS_MODULE", "FLASK_APP", "FLASK_DEBUG", "FLASK_ENV", "RUBY_ENV", "RAILS_ENV", "RACK_ENV",
    "MIX_ENV", "AWS_REGION", "AWS_DEFAULT_REGION", "DOTNET_CLI_TELEMETRY_OPTOUT", "DOTNET_NOLOGO", "NEXT_TELEMETRY_DISABLED", "DEBUG",
    "CI", "HISTSIZE", "USER_AGENT", "CUDA_VISIBLE_DEVICES", "COMPOSE_PROJECT_NAME", "DEBUG_COLORS", "DEBUG_LEVEL",
];

/// Short names that are whole variables; longer ones that begin so are others'.
#[rustfmt::skip]
const WHOLE_WORDS: &[&str] = &[
    "ENV", "USER", "TMP", "TEMP", "AR", "AS", "NM", "LD", "CC", "CPP", "CXX", "FC", "M4", "HG", "MAN", "MORE", "MOST", "LEX", "DEB", "P4", "ZIP",
    "IFS", "SHELL", "HOME", "PATH", "PWD", "TAPE", "RSH", "FTP", "SCP", "INSTALL", "SCREEN", "HIST", "PROMPT", "PAGER", "EDITOR", "VISUAL", "BROWSER",
    "STRIP", "CHARSET", "DISPLAY", "POSIX", "DIALOG", "CHROME", "NOX", "SNAP", "SWIFT", "DART", "CRYSTAL", "WINE", "STACK", "YACC", "BUCK",
];

/// A word of a name that says what its value is: a program or its arguments, code to load, or where traffic goes.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "PATH", "PATHS", "HOME", "OPTIONS", "OPTS", "OPT", "FLAGS", "ARGS", "ARGV", "PAGER", "EDITOR", "BROWSER", "SHELL", "WRAPPER", "COMMAND",
    "COMMANDS", "CMD", "PROGRAM", "EXEC", "EXE", "EXECUTABLE", "BINARY", "BIN", "LAUNCHER", "RUNNER", "PRELOAD", "PLUGIN", "PLUGINS", "MODULE",
    "MODULES", "LIBRARY", "LIB", "LIBS", "STARTUP", "INIT", "RC", "RCFILE", "CONF", "CONFIG", "CONFIGS", "CONFIGURATION", "HOOK", "HOOKS", "ASKPASS",
    "PROXY", "REGISTRY", "MIRROR", "CA", "CERT", "CERTS", "CERTIFICATE", "CERTIFICATES", "CACERT", "CABUNDLE", "SOCK", "SOCKET", "AGENT",
    "INTERPRETER", "COMPILER", "LINKER", "LOADER", "SCRIPT", "TLS", "SSL", "INSECURE",
];

/// Whether the variable makes programs run or load code, or redirects traffic. `name` is in upper case.
pub(super) fn is_steering(name: &str) -> bool {
    if HARMLESS.contains(&name) {
        return false;
    }
    let of_family = |family: &&str| {
        let Some(rest) = name.strip_prefix(family) else { return false };
        !WHOLE_WORDS.contains(family) || rest.is_empty() || has_program_ending(rest)
    };
    FAMILIES.iter().any(of_family) || has_program_ending(name) || name.split('_').any(|word| WORDS.contains(&word))
}

/// `XYZOPTS`, `_FLAGS`, `XYZRC`, `XYZ_HOME`: words that are also written without a separator.
fn has_program_ending(name: &str) -> bool {
    ["PATH", "OPTS", "OPTIONS", "FLAGS", "ARGS", "RC", "PAGER", "EDITOR", "HOME"].iter().any(|end| name.ends_with(end))
        && !name.ends_with("SRC")
}
