#!/bin/sh
# Installs gimlet for you (~/.local) or for the system (/usr/local): downloads a release, verifies its checksum, and its
# signature when a key is given, then lets the release install itself, so that `gimlet update` works later.
#
#   sh install.sh --url https://releases.example/gimlet --key KEY
#
# Needs curl or wget, tar, and sha256sum, shasum or openssl; for a signature openssl.
set -eu

# Filled in by `cargo xtask dist --url URL --sign KEY`.
default_url=''
default_key=''

usage() {
    cat <<'TEXT'
Usage: install.sh [options]

  --url URL        where releases are (or GIMLET_UPDATE_URL): a web address or a folder
  --key KEY        the Ed25519 public key they are signed with, in base64 (or GIMLET_UPDATE_KEY)
  --version V      latest (default), stable, or a release number
  --system         install in /usr/local instead of ~/.local
  --prefix FOLDER  install there
  --force          also in the place of another program called gimlet
TEXT
}

die() {
    echo "install.sh: $*" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

url="${GIMLET_UPDATE_URL:-$default_url}"
key="${GIMLET_UPDATE_KEY:-$default_key}"
version=latest
prefix=''
force=''

while [ $# -gt 0 ]; do
    case "$1" in
        --url | --key | --version | --prefix)
            [ $# -ge 2 ] || die "$1 needs a value"
            case "$1" in
                --url) url="$2" ;;
                --key) key="$2" ;;
                --version) version="$2" ;;
                --prefix) prefix="$2" ;;
            esac
            shift
            ;;
        --system) prefix=/usr/local ;;
        --force) force=--force ;;
        --help | -h)
            usage
            exit 0
            ;;
        *)
            usage >&2
            die "unknown option: $1"
            ;;
    esac
    shift
done

[ -n "$url" ] || die "where are the releases? Use --url URL"
url="${url%/}"
if [ -z "$prefix" ]; then
    [ -n "${HOME:-}" ] || die "there is no home folder: set HOME, or use --prefix"
    prefix="$HOME/.local"
fi

# Somebody on the way could change what comes over plain http: only with a key, or from this machine.
if [ -z "$key" ]; then
    case "$url" in
        *@* | *\\*) die "an address with @ or a backslash needs a key (--key)" ;;
        https://* | file://* | /* | http://127.0.0.1[:/]* | http://localhost[:/]*) ;;
        *) die "without a key (--key) releases are not taken over plain http" ;;
    esac
fi

case "$(uname -s)" in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    *) die "there are no releases for $(uname -s)" ;;
esac
case "$(uname -m)" in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) die "there are no releases for $(uname -m)" ;;
esac

# fetch PATH FILE
fetch() {
    case "$url" in
        file://*) cp "${url#file://}/$1" "$2" 2>/dev/null ;;
        /*) cp "$url/$1" "$2" 2>/dev/null ;;
        *)
            if has curl; then
                curl -fsSL --retry 2 -o "$2" "$url/$1"
            elif has wget; then
                wget -q -O "$2" "$url/$1"
            else
                die "curl or wget is needed"
            fi
            ;;
    esac
}

checksum() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    elif has openssl; then
        openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
    else
        die "sha256sum, shasum or openssl is needed"
    fi
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

case "$version" in
    latest | stable)
        fetch "$version" "$tmp/channel" || die "there is no channel '$version' at $url"
        version=$(head -n 1 "$tmp/channel" | tr -d ' \r')
        ;;
esac
case "$version" in
    '' | *[!0-9A-Za-z.-]* | [!0-9]*) die "'$version' is not a release number" ;;
esac

folder="$tmp/copy/$version"
name="gimlet-$version-$machine-$system"
mkdir -p "$folder"
fetch "$version/SHA256SUMS" "$folder/SHA256SUMS" || die "there is no gimlet $version at $url"

if [ -n "$key" ]; then
    has openssl || die "openssl is needed to check the signature"
    fetch "$version/SHA256SUMS.sig" "$folder/SHA256SUMS.sig" || die "gimlet $version is not signed. Nothing was installed"
    # 44 letters are the bare key; openssl wants 16 letters that say what kind of key it is before them.
    [ "${#key}" -ne 44 ] || key="MCowBQYDK2VwAyEA$key"
    printf '%s\n' '-----BEGIN PUBLIC KEY-----' "$key" '-----END PUBLIC KEY-----' >"$tmp/key.pem"
    openssl pkeyutl -verify -pubin -inkey "$tmp/key.pem" -rawin -in "$folder/SHA256SUMS" \
        -sigfile "$folder/SHA256SUMS.sig" >/dev/null 2>&1 ||
        die "the signature of gimlet $version was not made with the given key. Nothing was installed"
fi

wanted=$(sed -n "s/^\([0-9a-f]*\) [ *]$name\.tar\.gz\$/\1/p" "$folder/SHA256SUMS")
[ -n "$wanted" ] || die "gimlet $version is not published for $machine-$system"
echo "Downloading gimlet $version"
fetch "$version/$name.tar.gz" "$folder/$name.tar.gz" || die "the download of $url/$version/$name.tar.gz failed"
found=$(checksum "$folder/$name.tar.gz")
[ "$found" = "$wanted" ] || die "the checksum of $name.tar.gz is $found, not $wanted: it is damaged. Nothing was installed"

tar -xzf "$folder/$name.tar.gz" -C "$tmp" || die "$name.tar.gz could not be unpacked"
set -- install "$version" --from "$tmp/copy" --url "$url" --prefix "$prefix"
[ -z "$force" ] || set -- "$@" --force
if [ -n "$key" ]; then
    set -- "$@" --key "$key"
else
    set -- "$@" --allow-unsigned
fi
"$tmp/$name/bin/gimlet" "$@"
