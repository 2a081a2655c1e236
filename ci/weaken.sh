#!/usr/bin/env bash
# Weakens the concurrency protocols one step at a time and demands that a loom model fails.
#
#   ci/weaken.sh              all mutations, two lists at a time
#   ci/weaken.sh scheduler    those of one list, ci/weaken.d/scheduler.mut
#   ci/weaken.sh scheduler 7  one of them
#
# A list is made of blocks. A block begins with `name:` and has
#   package: the crate          file: the file to change, from the root
#   model:   the model that must fail (a test filter)
#   - a line to replace, exactly once in the file; several lines follow each other
#   + what stands there instead; none deletes the lines
# The text begins after the first blank that follows the sign.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR=${WEAKEN_TARGET_DIR:-$root/target/weaken}
export RUSTFLAGS="--cfg loom"

# The longest list beside all others: most of a mutation's time is spent on one core.
if (($# == 0)); then
    status=0
    WEAKEN_TARGET_DIR=$CARGO_TARGET_DIR-beside ci/weaken.sh scheduler > "$work/scheduler" 2>&1 &
    for path in ci/weaken.d/*.mut; do
        list=$(basename "$path" .mut)
        [[ $list == scheduler ]] || ci/weaken.sh "$list" || status=1
    done
    wait $! || status=1
    cat "$work/scheduler"
    exit $status
fi

lists=("$root"/ci/weaken.d/$1.mut)
only=${2:-}
survivors=0
count=0

# The crates with models, as a workspace of their own: a mutation rebuilds one crate.
prepare() {
    sed -e '/^members = \[/,/^\]/c\members = ["channel", "reactor", "scheduler"]' Cargo.toml > "$work/Cargo.toml"
    cp Cargo.lock "$work/"
    cp -r channel reactor scheduler "$work/"
    # The documentation's examples need `rt`, the models do not.
    sed -i '/^\[target\..*dev-dependencies\]$/,$d' "$work/scheduler/Cargo.toml"
}

# Replaces the lines $2 by $3 in file $1; fails unless they stand there exactly once.
replace() {
    local content rest
    content=$(cat "$1"; printf x)
    content=${content%x}
    rest=${content/"$2"/}
    if [[ $rest == "$content" || $rest == *"$2"* ]]; then
        return 1
    fi
    printf '%s' "${content/"$2"/"$3"}" > "$1"
}

run_model() {
    (cd "$work" && timeout 300 cargo test --offline -q -p "$1" --profile model --lib -- "$2") \
        > "$work/log" 2>&1
}

try() {
    count=$((count + 1))
    [[ -n $only && $only != "$count" ]] && return
    local started=$SECONDS verdict
    if ! replace "$work/$file" "$old" "$new"; then
        verdict="NOT FOUND: the lines to replace do not stand once in $file"
        survivors=$((survivors + 1))
    elif run_model "$package" "$model"; then
        verdict="SURVIVED: $model still passes"
        survivors=$((survivors + 1))
    elif grep -q '^error\(\[\|:.*could not compile\)' "$work/log"; then
        verdict="DOES NOT COMPILE"
        grep -A 6 '^error' "$work/log" | head -12
        survivors=$((survivors + 1))
    else
        verdict="caught by $model"
    fi
    cp "$root/$file" "$work/$file"
    printf '%-10s %2d  %-66s %s (%ds)\n' "$list" "$count" "$name" "$verdict" $((SECONDS - started))
}

flush() {
    if [[ -n $name ]]; then
        old=${old%$'\n'}
        new=${new%$'\n'}
        try
    fi
    name='' old='' new=''
}

prepare
for path in "${lists[@]}"; do
    list=$(basename "$path" .mut)
    count=0 name='' old='' new=''
    while IFS= read -r line || [[ -n $line ]]; do
        case $line in
            'name: '*) flush; name=${line#name: } ;;
            'package: '*) package=${line#package: } ;;
            'file: '*) file=${line#file: } ;;
            'model: '*) model=${line#model: } ;;
            '- '*) old+=${line#- }$'\n' ;;
            '+ '*) new+=${line#+ }$'\n' ;;
            '' | '#'*) ;;
            *) echo "$path: cannot read: $line" >&2; exit 2 ;;
        esac
    done < "$path"
    flush
done

if ((survivors > 0)); then
    echo "$survivors mutation(s) were not caught" >&2
    exit 1
fi
echo "every mutation was caught"
