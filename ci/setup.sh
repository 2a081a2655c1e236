#!/usr/bin/env bash
# Installs the programs that the smoke tests drive the examples with, where they are missing and
# this is root; says which ones are missing otherwise.
set -euo pipefail

missing=()
for program in curl nginx wrk; do
    command -v "$program" > /dev/null || missing+=("$program")
done
if ((${#missing[@]} == 0)); then
    echo "nothing is missing"
    exit
fi
if ((EUID != 0)) || ! command -v apt-get > /dev/null; then
    echo "not installed: ${missing[*]}; what needs them will be left out" >&2
    exit
fi
export DEBIAN_FRONTEND=noninteractive
timeout 120 apt-get -qq update
# The program nginx is in a package of another name; the smallest that can store files.
timeout 180 apt-get -qq install --no-install-recommends -y "${missing[@]/#nginx/nginx-light}" > /dev/null
echo "installed: ${missing[*]}"
