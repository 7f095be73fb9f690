# What the scripts of this folder share; they source it.
# shellcheck shell=bash
set -euo pipefail
export LC_ALL=C TZ=UTC
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)

fail() {
    echo "error: $*" >&2
    exit 1
}

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
# All files have the time of the commit, so that two builds of it are equal.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
# Tests compress faster.
# shellcheck disable=SC2034
level=${BUB_DIST_LEVEL:-9}

# A folder that is gone at the end.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# A tar file on standard output of the names in a folder, the same for the same content.
sorted_tar() {
    local folder=$1
    shift
    tar --directory "$folder" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner \
        --mtime="@$SOURCE_DATE_EPOCH" --create "$@"
}

# `deb` and OCI name processors in a way of their own.
machine() {
    case $1 in
        x86_64-unknown-linux-gnu) echo amd64 ;;
        aarch64-unknown-linux-gnu) echo arm64 ;;
        *) fail "no packages are made for \`$1\`" ;;
    esac
}

# Unpacks an archive of `archive` into the scratch folder, and sets `package` and `target` from its name.
unpack() {
    package=$(basename "$1" .tar.gz)
    target=${package#"bub-wasm-$version-"}
    [ "$target" != "$package" ] || fail "\`$1\` is no archive of version $version"
    tar --directory "$scratch" --extract --gzip --file "$1"
}
