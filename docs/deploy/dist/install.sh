#!/bin/sh
# Installs bub-wasm for one user: sh install.sh [--prefix DIR] [--version VERSION] [--index ADDRESS] [--key KEY]
#
# It fetches the index of releases, its signature and the archive for this machine, and installs what fits the digest in
# the index. It asks nothing, and changes nothing outside of the prefix. All of it is in functions, so that a script that
# was cut off does nothing.
set -u

# Filled in when a release is made.
INDEX='@INDEX@'
KEY='@KEY@'

MAX_INDEX=1048576
MAX_ARCHIVE=500000000

usage() {
    cat <<'END'
usage: sh install.sh [OPTION...]

  --prefix DIR          install below DIR [default: ~/.local]
  --version VERSION     this version instead of the newest
  --index ADDRESS       address of the release index [also: BUB_RELEASE_INDEX]
  --key KEY             public key of the index's signature, in the format of minisign [also: BUB_RELEASE_PUBLIC_KEY]
  --require-signature   install nothing if the signature cannot be verified
  --help                print this
END
}

fail() {
    echo "error: $*" >&2
    exit 1
}

# What others say, in one short line without control characters.
clip() {
    # Not every `tr` knows classes.
    LC_ALL=C tr -c '\040-\176' ' ' | cut -c 1-200 | sed 's/  *$//'
}

has() {
    command -v "$1" >/dev/null 2>&1
}

main() {
    index=${BUB_RELEASE_INDEX:-$INDEX} key=${BUB_RELEASE_PUBLIC_KEY:-$KEY} prefix='' wanted='' is_strict=''
    while [ $# -gt 0 ]; do
        case $1 in
            --prefix | --version | --index | --key)
                [ $# -ge 2 ] && [ -n "$2" ] || fail "\`$1\` needs a value; see --help"
                case $1 in
                    --prefix) prefix=$2 ;;
                    --version) wanted=$2 ;;
                    --index) index=$2 ;;
                    --key) key=$2 ;;
                esac
                shift 2
                ;;
            --require-signature) is_strict=1; shift ;;
            -h | --help) usage; exit 0 ;;
            *) fail "\`$(printf %s "$1" | clip)\` is no option; see --help" ;;
        esac
    done
    # A placeholder that was not filled in is no address.
    case $index in '' | @*) fail "no release index is known; pass --index ADDRESS" ;; esac
    case $key in @*) key='' ;; esac
    [ -n "$prefix" ] || prefix=${HOME:?}/.local
    case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac

    find_tools
    find_target
    if [ -e "$prefix/share/bub-wasm/managed-by" ]; then
        fail "the program in \`$prefix\` belongs to a package of the system; update that package, or pass --prefix DIR"
    fi
    umask 022
    mkdir -p "$prefix/bin" 2>/dev/null && folder=$(mktemp -d "$prefix/.bub-wasm-install.XXXXXX" 2>/dev/null) ||
        fail "\`$prefix\` cannot be written; pass --prefix DIR"
    trap 'rm -rf "$folder"; [ -z "${placed-}" ] || rm -f "$placed"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP

    fetch "$index" "$folder/index.json" "$MAX_INDEX"
    verify_index
    choose_release
    fetch "${index%/*}/$file" "$folder/archive" "$size"
    verify_archive
    install_files
    echo "bub-wasm $version is installed as $prefix/bin/bub-wasm${verified:+; the index has a good signature}"
    case :$PATH: in *:"$prefix/bin":*) ;; *) echo "add $prefix/bin to PATH to start it by its name" ;; esac
}

find_tools() {
    for tool in awk cp cut grep gzip head mktemp mv sed sort tail tar tr uname wc; do
        has "$tool" || fail "the installer needs \`$tool\`"
    done
    has sha256sum || has shasum || has openssl || fail "the installer needs \`sha256sum\`, \`shasum\` or \`openssl\`"
}

find_target() {
    system=$(uname -s)
    [ "$system" = Linux ] || fail "there is no package for \`$system\`; build the program from its sources"
    case $(uname -m) in
        x86_64 | amd64) target=x86_64-unknown-linux-gnu ;;
        aarch64 | arm64) target=aarch64-unknown-linux-gnu ;;
        *) fail "there is no package for the processor \`$(uname -m)\`; build the program from its sources" ;;
    esac
}

# fetch ADDRESS FILE BYTES: at most that many.
fetch() {
    shown=$(printf %s "$1" | clip)
    case $1 in
        https://*) protocols='=https' ;;
        http://127.0.0.1[:/]* | http://localhost[:/]* | http://\[::1\][:/]*) protocols='=http,https' ;;
        file:///*) protocols='' ;;
        *) fail "\`$shown\` is neither \`https://\` nor \`file:///\`" ;;
    esac
    # The status of the client is lost in the pipe, and `head` bounds what a server without a length sends.
    {
        if [ -z "$protocols" ]; then
            cat "${1#file://}"
        elif has curl; then
            curl --fail --silent --show-error --location --proto "$protocols" --connect-timeout 20 --speed-limit 100 \
                --speed-time 60 "$1"
        elif has wget; then
            # The option makes a statically linked busybox fail.
            case $(wget --version 2>&1) in
                *GNU*) wget -q -T 60 -O - "$1" ;;
                *) wget -q -O - "$1" ;;
            esac
        else
            echo "neither \`curl\` nor \`wget\` is installed" >&2
            false
        fi
        echo $? >"$folder/status"
    } 2>"$folder/said" | head -c "$(($3 + 1))" >"$2" 2>/dev/null ||
        fail "\`$folder\` cannot be written; is the disk full?"
    got=$(wc -c <"$2")
    [ "$got" -le "$3" ] || fail "\`$shown\` has more than the $3 bytes that it may have"
    status=$(cat "$folder/status" 2>/dev/null)
    [ "$status" = 0 ] || {
        said=$(head -n 1 "$folder/said" | clip)
        fail "\`$shown\` cannot be fetched: ${said:-the client ended with status ${status:-unknown}}"
    }
}

# Says whether the index has the signature of the key that this installer knows.
verify_index() {
    verified=''
    if [ -z "$key" ]; then
        unsigned "the installer knows no public key"
    elif has minisign; then
        fetch_signature
        minisign -V -q -H -m "$folder/index.json" -x "$folder/index.json.minisig" -P "$key" >/dev/null 2>&1 ||
            fail "the signature of \`$shown_index\` is not by the key \`$(printf %s "$key" | clip)\`; nothing was installed"
        verified=1
    elif has openssl && openssl version 2>/dev/null | grep -q '^OpenSSL [3-9]'; then
        fetch_signature
        openssl_verify ||
            fail "the signature of \`$shown_index\` is not by the key \`$(printf %s "$key" | clip)\`; nothing was installed"
        verified=1
    else
        unsigned "neither \`minisign\` nor \`openssl\` 3 is here"
    fi
}

unsigned() {
    [ -z "$is_strict" ] || fail "the signature of the index cannot be verified: $1; nothing was installed"
    echo "warning: the signature of the index was not verified: $1" >&2
}

fetch_signature() {
    shown_index=$(printf %s "$index" | clip)
    fetch "$index.minisig" "$folder/index.json.minisig" 4096
}

# A signature of minisign is one of Ed25519 over the BLAKE2b digest: 2 bytes say so, 8 name the key, and 64 are it. A second
# one is over these 64 and the trusted comment.
openssl_verify() {
    (
        cd "$folder" || exit 1
        printf %s "$key" | openssl base64 -d -A >key 2>/dev/null
        sed -n 2p index.json.minisig | tr -d '\r\n' | openssl base64 -d -A >signed 2>/dev/null
        [ "$(wc -c <key)" -eq 42 ] && [ "$(wc -c <signed)" -eq 74 ] || exit 1
        [ "$(head -c 2 signed)" = ED ] || exit 1
        head -c 10 key | tail -c 8 >key.id
        head -c 10 signed | tail -c 8 >signed.id
        cmp -s key.id signed.id || exit 1
        tail -c 64 signed >signature
        { cat signature && sed -n '3s/^trusted comment: //p' index.json.minisig | tr -d '\r\n'; } >commented
        sed -n 4p index.json.minisig | tr -d '\r\n' | openssl base64 -d -A >commented.signature 2>/dev/null
        { printf '\060\052\060\005\006\003\053\145\160\003\041\000' && tail -c 32 key; } >key.der
        openssl dgst -blake2b512 -binary index.json >digest 2>/dev/null || exit 1
        for one in digest:signature commented:commented.signature; do
            openssl pkeyutl -verify -pubin -keyform DER -inkey key.der -rawin -in "${one%:*}" -sigfile "${one#*:}" \
                >/dev/null 2>&1 || exit 1
        done
    )
}

# Reads the index: a line for each file of each release, if it is one that can be installed.
read_index() {
    awk -v now="$(date -u +%Y-%m-%dT%H:%M:%SZ)" '
        function value(text) {
            if (depth == 1) top[keys[1]] = text
            if (depth == 3 && keys[1] == "releases") release[keys[3]] = text
            if (depth == 5 && keys[1] == "releases" && keys[3] == "files") field[keys[5]] = text
            literal = ""
        }
        function structure(c) {
            if (c ~ /[ \t\r\n]/) return
            if (c !~ /[][{}:,]/) { literal = literal c; return }
            if (literal != "") value(literal)
            if (c == "{" || c == "[") {
                kinds[++depth] = c; keys[depth] = ""; is_key[depth] = c == "{"
                if (depth == 3) { files = 0; split("", release) }
                if (depth == 5) split("", field)
            } else if (c == "}" || c == "]") {
                if (depth < 1 || kinds[depth] != (c == "}" ? "{" : "[")) { broken = 1; exit }
                if (depth == 5 && keys[1] == "releases" && keys[3] == "files")
                    file[++files] = field["target"] "\t" field["size"] "\t" field["sha256"] "\t" field["file"]
                if (depth == 3 && keys[1] == "releases")
                    for (at = 1; at <= files; at++) if (lines < 20000) line[++lines] = release["version"] "\t" file[at]
                depth--
                if (depth == 0) whole = 1
            } else if (c == ":") is_key[depth] = 0
            else is_key[depth] = kinds[depth] == "{"
        }
        BEGIN { RS = "\"" }
        {
            if (inside) {
                text = text $0
                slashes = 0
                while (substr($0, length($0) - slashes, 1) == "\\") slashes++
                if (slashes % 2) { text = text "\""; next }
                if (depth > 0 && is_key[depth]) keys[depth] = text; else value(text)
                inside = 0
                next
            }
            for (i = 1; i <= length($0); i++) structure(substr($0, i, 1))
            inside = 1; text = ""
        }
        END {
            if (broken || !whole || depth != 0) { print "broken"; exit }
            if (top["format"] != "1" || top["name"] != "bub-wasm") { print "foreign"; exit }
            if (top["expires"] ~ /^[0-9]+-[0-9]+-[0-9]+T[0-9:.]+Z$/ && top["expires"] < now) { print "expired"; exit }
            for (i = 1; i <= lines; i++) {
                n = split(line[i], part, "\t")
                plain = n == 5 && part[1] ~ /^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$/ && length(part[1]) < 60 \
                    && part[3] ~ /^[1-9][0-9]*$/ && length(part[3]) < 10 \
                    && length(part[4]) == 64 && part[4] !~ /[^0-9a-f]/ \
                    && part[5] ~ /^[A-Za-z0-9][A-Za-z0-9._+-]*$/ && length(part[5]) < 200
                if (part[2] != "'"$target"'") continue
                if (plain) print "file", part[1], part[3], part[4], part[5]; else { print "hostile"; exit }
            }
        }' "$folder/index.json"
}

choose_release() {
    shown_index=$(printf %s "$index" | clip)
    read_index >"$folder/files" 2>/dev/null || fail "\`$shown_index\` is no index of releases"
    case $(head -n 1 "$folder/files") in
        broken) fail "\`$shown_index\` is no whole index of releases; it may have been cut off" ;;
        foreign) fail "\`$shown_index\` is no index of bub-wasm that this installer can read" ;;
        expired) fail "\`$shown_index\` has expired; its mirror may be out of date" ;;
    esac
    if grep -q '^hostile' "$folder/files"; then
        fail "\`$shown_index\` has an entry with a version, size, digest or file name that is not allowed"
    fi
    if [ -n "$wanted" ]; then
        chosen=$(awk -v version="$wanted" '$2 == version' "$folder/files" | tail -n 1)
        [ -n "$chosen" ] || fail "\`$shown_index\` has no version \`$(printf %s "$wanted" | clip)\` for $target"
    else
        chosen=$(awk '$2 !~ /-/' "$folder/files" | sed 's/^file \([0-9]*\)\.\([0-9]*\)\.\([0-9]*\) /\1 \2 \3 &/' |
            sort -k 1,1n -k 2,2n -k 3,3n | tail -n 1 | sed 's/^.* file /file /')
        [ -n "$chosen" ] || fail "\`$shown_index\` has no release for $target"
    fi
    # shellcheck disable=SC2086 # The words have neither spaces nor patterns.
    set -- $chosen
    version=$2 size=$3 digest=$4 file=$5
    [ "$size" -le "$MAX_ARCHIVE" ] || fail "\`$file\` has $size bytes in the index, more than an archive may have"
    package=bub-wasm-$version-$target
}

verify_archive() {
    got=$(wc -c <"$folder/archive")
    [ "$got" -eq "$size" ] || fail "\`$file\` was cut off: $((got)) of $size bytes; nothing was installed"
    if has sha256sum; then
        got=$(sha256sum <"$folder/archive")
    elif has shasum; then
        got=$(shasum -a 256 <"$folder/archive")
    else
        got=$(openssl dgst -sha256 -r <"$folder/archive")
    fi
    [ "${got%% *}" = "$digest" ] || fail "\`$file\` has not the digest that the index names; nothing was installed"
    # The names that are unpacked lie in one folder, and are files and folders.
    tar -tzf "$folder/archive" >"$folder/names" 2>/dev/null || fail "\`$file\` is no archive; nothing was installed"
    if grep -v "^$package/" "$folder/names" | grep -q . || grep -q '\(^\|/\)\.\.\(/\|$\)' "$folder/names" ||
        tar -tvzf "$folder/archive" | grep -q '^[^-d]'; then
        fail "\`$file\` has entries that an archive of bub-wasm has not; nothing was installed"
    fi
    tar -xzof "$folder/archive" -C "$folder" 2>/dev/null ||
        fail "\`$file\` cannot be unpacked in \`$prefix\`; is the disk full?"
    program=$folder/$package/bin/bub-wasm
    [ -f "$program" ] && [ -x "$program" ] || fail "\`$file\` has no program; nothing was installed"
    [ "$("$program" --version 2>/dev/null)" = "bub-wasm $version" ] ||
        fail "the program in \`$file\` does not start here: it needs $target with glibc 2.28 or later; nothing was installed"
}

# place FROM TO: a file that is there whole or not at all.
place() {
    placed=$2.new$$
    mkdir -p "${2%/*}" 2>/dev/null && cp "$1" "$placed" 2>/dev/null && mv -f "$placed" "$2" 2>/dev/null ||
        fail "\`$2\` cannot be written; is the disk full?"
    placed=''
}

# The program last: what stands there is whole at any moment.
install_files() {
    sed -n "s#^$package/\(share/.*[^/]\)\$#\1#p" "$folder/names" >"$folder/list"
    while IFS= read -r name; do
        [ ! -f "$folder/$package/$name" ] || place "$folder/$package/$name" "$prefix/$name"
    done <"$folder/list"
    unit=$folder/$package/lib/systemd/user/bub-wasm.service
    if [ -f "$unit" ]; then
        # In the unit, `%` has a meaning of its own.
        bin=$(printf %s "$prefix/bin/" | sed 's/%/%%/g; s/[&#\\]/\\&/g')
        sed "s#%h/.local/bin/#$bin#" "$unit" >"$folder/unit"
        place "$folder/unit" "$prefix/share/systemd/user/bub-wasm.service"
    fi
    place "$program" "$prefix/bin/bub-wasm"
}

main "$@"
