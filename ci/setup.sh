#!/usr/bin/env bash
# Installs the programs that the smoke tests drive the examples with, and the servers that the tests
# start for themselves, where they are missing and this is root; says which ones are missing otherwise.
# No service is started.
set -euo pipefail

# Each program, and the package that has it: of nginx, the smallest one that can store files.
programs=(curl:curl nginx:nginx-light postgres:postgresql redis-server:redis-server wrk:wrk)

# PostgreSQL's programs are in a folder of their version.
shopt -s nullglob
for folder in /usr/lib/postgresql/*/bin; do
    PATH=$PATH:$folder
done

missing=()
for program in "${programs[@]}"; do
    command -v "${program%:*}" > /dev/null || missing+=("${program#*:}")
done
if ((${#missing[@]} == 0)); then
    echo "nothing is missing"
    exit
fi
if ((EUID != 0)) || ! command -v apt-get > /dev/null; then
    echo "not installed: ${missing[*]}; what needs them will be left out" >&2
    exit
fi
# Debian's way to be told that an installation is to start nothing.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
timeout 120 apt-get -qq update
timeout 300 apt-get -qq install --no-install-recommends -y "${missing[@]}" > /dev/null
echo "installed: ${missing[*]}"
