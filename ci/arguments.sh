# What the scripts of this folder that a person runs on a GPU share: sourced from the project's folder, with $caller set to the
# folder they were called from.
script=ci/$(basename "$0")

die() {
    echo "$script: $*" >&2
    exit 2
}

# The comment at the head of the script is its help.
help() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script"
    exit 0
}

# absolute PATH: of a PATH as the caller meant it.
absolute() {
    case $1 in /*) echo "$1" ;; *) echo "$caller/$1" ;; esac
}

# folder_of "$@": sets out to the first argument, which must be a folder's path. It is not made yet.
folder_of() {
    local word
    for word in "$@"; do
        case $word in -h | --help) help ;; esac
    done
    [ $# -ge 1 ] || die "want a folder for what it writes; see $script --help"
    case $1 in
    '') die "want a folder for what it writes, not ''" ;;
    -*) die "want a folder for what it writes first, not $1; see $script --help" ;;
    esac
    out=$(absolute "$1")
}

# Makes the folder, when all else is there.
make_folder() {
    mkdir -p "$out" 2>/dev/null && : 2>/dev/null >"$out/.written" && rm -f "$out/.written" ||
        die "$out: no folder that can be made and written to"
}
