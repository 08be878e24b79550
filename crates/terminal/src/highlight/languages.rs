//! The table of languages.

pub(super) struct Language {
    names: &'static str,
    pub(super) comments: &'static [&'static str],
    pub(super) block: Option<(&'static str, &'static str)>,
    /// Each character opens and closes a string on one line.
    pub(super) quotes: &'static str,
    pub(super) long_strings: &'static [&'static str],
    pub(super) keywords: &'static str,
    pub(super) lifetimes: bool,
    pub(super) any_case: bool,
}

const PLAIN: Language = Language {
    names: "",
    comments: &[],
    block: None,
    quotes: "\"'",
    long_strings: &[],
    keywords: "",
    lifetimes: false,
    any_case: false,
};

const C_LIKE: Language = Language { comments: &["//"], block: Some(("/*", "*/")), ..PLAIN };
const HASHED: Language = Language { comments: &["#"], ..PLAIN };

pub(super) fn find(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.names.split(' ').any(|known| known == name))
}

static LANGUAGES: &[Language] = &[
    Language {
        names: "rust rs",
        lifetimes: true,
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
        ..C_LIKE
    },
    Language {
        names: "python py python3 pyi",
        long_strings: &["\"\"\"", "'''"],
        keywords: "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return self True try while with yield match case",
        ..HASHED
    },
    Language {
        names: "javascript js jsx mjs cjs typescript ts tsx mts cts",
        long_strings: &["`"],
        keywords: "abstract any as async await boolean break case catch class const continue declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null number of private protected public readonly return set static string super switch this throw true try type typeof undefined var void while yield",
        ..C_LIKE
    },
    Language {
        names: "go golang",
        long_strings: &["`"],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range return select struct switch true type var",
        ..C_LIKE
    },
    Language {
        names: "c h",
        keywords: "auto break case char const continue default do double else enum extern float for goto if inline int long register return short signed sizeof static struct switch typedef union unsigned void volatile while #include #define #if #ifdef #endif #else NULL",
        ..C_LIKE
    },
    Language {
        names: "cpp c++ cc cxx hpp hh cuda cu objc m mm",
        keywords: "alignas auto bool break case catch char class concept const consteval constexpr continue co_await co_return co_yield decltype default delete do double else enum explicit export extern false final float for friend goto if inline int long mutable namespace new noexcept nullptr operator override private protected public requires return short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while",
        ..C_LIKE
    },
    Language {
        names: "java",
        long_strings: &["\"\"\""],
        keywords: "abstract assert boolean break byte case catch char class const continue default do double else enum extends false final finally float for if implements import instanceof int interface long native new null package private protected public record return sealed short static super switch synchronized this throw throws true try var void volatile while yield",
        ..C_LIKE
    },
    Language {
        names: "csharp cs c#",
        keywords: "abstract as async await base bool break case catch char class const continue decimal default delegate do double else enum event false finally float for foreach get if in int interface internal is lock long namespace new null object out override params private protected public readonly record ref return sealed set short static string struct switch this throw true try typeof uint using var virtual void while yield",
        ..C_LIKE
    },
    Language {
        names: "kotlin kt kts scala swift dart",
        long_strings: &["\"\"\""],
        keywords: "abstract actor as async await break case catch class companion const continue data def default defer deinit do else enum extends extension false final finally for fun func guard if implicit import in init inout interface internal is lateinit lazy let match mutating nil null object open operator override package private protected protocol public return sealed self static struct super suspend switch this throw trait true try type typealias val var void when where while with yield",
        ..C_LIKE
    },
    Language {
        names: "php",
        comments: &["//", "#"],
        keywords: "abstract and array as break case catch class clone const continue declare default do echo else elseif extends false final finally fn for foreach function global if implements include instanceof interface match namespace new null or private protected public readonly require return static switch this throw trait true try use var while yield",
        ..C_LIKE
    },
    Language {
        names: "ruby rb",
        keywords: "alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require attr_accessor",
        ..HASHED
    },
    Language {
        names: "sh bash zsh shell fish console ksh",
        quotes: "\"'`",
        keywords: "if then else elif fi for while until do done case esac in function return local export set unset readonly shift exit break continue source alias trap echo cd",
        ..HASHED
    },
    Language {
        names: "powershell ps1 pwsh",
        block: Some(("<#", "#>")),
        any_case: true,
        keywords: "begin break catch class continue do else elseif end exit filter finally for foreach function if in param process return switch throw trap try until using while",
        ..HASHED
    },
    Language {
        names: "sql psql mysql sqlite",
        comments: &["--"],
        any_case: true,
        keywords: "select from where insert into values update set delete create table alter drop index view join inner left right outer full on as and or not null is in exists between like order by group having limit offset union all distinct primary key foreign references default constraint unique case when then else end begin commit rollback with returning true false",
        ..C_LIKE
    },
    Language { names: "json jsonc json5", keywords: "true false null", ..C_LIKE },
    Language { names: "yaml yml", keywords: "true false null yes no on off", ..HASHED },
    Language { names: "toml ini cfg conf properties", comments: &["#", ";"], keywords: "true false", ..PLAIN },
    Language { names: "html xml svg vue svelte htm xhtml", block: Some(("<!--", "-->")), ..PLAIN },
    Language {
        names: "css scss less sass",
        keywords: "@media @import @keyframes @font-face @supports @mixin @include @use important",
        ..C_LIKE
    },
    Language {
        names: "lua",
        comments: &["--"],
        block: Some(("--[[", "]]")),
        keywords: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while",
        ..PLAIN
    },
    Language {
        names: "haskell hs elm purescript",
        comments: &["--"],
        block: Some(("{-", "-}")),
        quotes: "\"",
        keywords: "case class data deriving do else forall if import in infix infixl infixr instance let module newtype of qualified then type where",
        ..PLAIN
    },
    Language {
        names: "elixir ex exs erlang erl",
        long_strings: &["\"\"\""],
        keywords: "after alias and case catch cond def defmodule defp defstruct do else end false fn for if import in nil not or quote raise receive require rescue true try unless use when with",
        ..HASHED
    },
    Language {
        names: "clojure clj lisp scheme racket el",
        comments: &[";"],
        quotes: "\"",
        keywords: "def defn defmacro defun define fn lambda let letrec if cond case when unless do loop recur ns require nil true false and or not begin set quote",
        ..PLAIN
    },
    Language {
        names: "ocaml ml fsharp fs",
        block: Some(("(*", "*)")),
        quotes: "\"",
        keywords: "and as begin class do done else end exception external false for fun function functor if in include inherit let match method module mutable new object of open or rec sig struct then true try type val when while with",
        ..PLAIN
    },
    Language {
        names: "r julia jl",
        keywords: "abstract begin break const do else elseif end export false FALSE for function global if import in let library local macro module mutable next NULL quote repeat return struct true TRUE try using while",
        ..HASHED
    },
    Language {
        names: "perl pl pm",
        keywords: "my our local sub use package return if elsif else unless while until for foreach last next redo die print push shift keys values defined undef qw",
        ..HASHED
    },
    Language {
        names: "dockerfile docker",
        any_case: true,
        keywords: "from run cmd label expose env add copy entrypoint volume user workdir arg onbuild stopsignal healthcheck shell as",
        ..HASHED
    },
    Language {
        names: "makefile make mk cmake just",
        keywords: "include define endef ifeq ifneq ifdef ifndef else endif export if endif function foreach set",
        ..HASHED
    },
    Language {
        names: "hcl terraform tf nix",
        comments: &["#", "//"],
        block: Some(("/*", "*/")),
        keywords: "resource variable output module provider data locals terraform true false null let in with if then else inherit rec import",
        ..PLAIN
    },
    Language {
        names: "zig",
        keywords: "align allowzero and anytype asm async await break catch comptime const continue defer else enum errdefer error export extern false fn for if inline null opaque or orelse packed pub return struct suspend switch test true try undefined union unreachable usingnamespace var volatile while",
        ..C_LIKE
    },
    Language {
        names: "proto protobuf graphql gql thrift",
        comments: &["//", "#"],
        block: Some(("/*", "*/")),
        keywords: "syntax package import message enum service rpc returns option repeated optional required oneof map type query mutation subscription interface union input schema scalar fragment on struct",
        ..PLAIN
    },
];
