#!/usr/bin/env bash
# The examples do what they say, driven from outside.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
server=
cleanup() {
    [[ -z $server ]] || kill -KILL "$server" 2> /dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

fail() {
    echo "$1" >&2
    cat "$work"/* >&2
    exit 1
}

cargo build -q -p rt-examples --examples
bin=${CARGO_TARGET_DIR:-target}/debug/examples

# Starts `$1` on a port that is free, and sets `server`, its process, and `port`.
start() {
    "$bin/$1" 127.0.0.1:0 > "$work/$1" 2>&1 &
    server=$!
    for _ in {1..100}; do
        if grep -q '^listening on' "$work/$1"; then
            port=$(grep -oE '[0-9]+$' "$work/$1" | head -n 1)
            return
        fi
        kill -0 "$server" 2> /dev/null || fail "$1 did not start"
        sleep 0.1
    done
    fail "$1 does not say where it listens"
}

# Sends `$1` to the server and demands that it ends within ten seconds. Sets `status`.
stop() {
    kill "-$1" "$server"
    for _ in {1..100}; do
        if ! kill -0 "$server" 2> /dev/null; then
            status=0
            wait "$server" || status=$?
            server=
            return
        fi
        sleep 0.1
    done
    fail "the server does not end"
}

timeout 60 "$bin/tour" > "$work/tour" || fail "tour failed"
[[ $(grep -c 'nothing is left to do' "$work/tour") == 2 ]] || fail "tour did not come to its ends"
echo "tour: both acts ended"

timeout 60 "$bin/seeds" > "$work/seeds" || fail "seeds failed"
wrong=$(grep -oP '^seed \K[0-9]+' "$work/seeds") || fail "seeds found no race"
timeout 60 "$bin/seeds" "$wrong" > "$work/replay" || fail "seeds failed to replay"
diff <(tail -n +2 "$work/seeds") "$work/replay" > /dev/null || fail "seeds replayed another run"
grep -q '^wrong' "$work/replay" || fail "seeds replayed a run without the race"
echo "seeds: found a race, and replayed it from seed $wrong"

timeout 60 "$bin/crunch" --load 2 > "$work/crunch.load" || fail "crunch failed"
for endpoint in hash health; do
    grep -qE "^$endpoint: [1-9][0-9]* answers, p99 [0-9.]+ ms" "$work/crunch.load" || fail "crunch: no p99 of $endpoint"
done
start crunch
if command -v curl > /dev/null; then
    for path in health hash/word; do
        curl -fsS --max-time 30 "http://127.0.0.1:$port/$path" > /dev/null || fail "crunch does not answer /$path"
    done
fi
stop TERM
echo "crunch: $(paste -sd ';' "$work/crunch.load")"

start http
if command -v curl > /dev/null; then
    answer=$(curl -fsS --max-time 10 "http://127.0.0.1:$port/")
    [[ $answer == 'Hello, World!' ]] || fail "http answered: $answer"
    status=$(curl -sS --max-time 10 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/nothing")
    [[ $status == 404 ]] || fail "http answered $status for what is not there"
    echo "http: curl is content"
fi
if command -v wrk > /dev/null; then
    timeout 30 wrk -t1 -c64 -d2 "http://127.0.0.1:$port/" > "$work/wrk" || fail "wrk failed"
    ! grep -qE 'Socket errors|Non-2xx' "$work/wrk" || fail "wrk met errors"
    echo "http:$(grep 'Requests/sec' "$work/wrk"), without errors"
fi
stop TERM

start echo
exec 3<> "/dev/tcp/127.0.0.1/$port"
for word in ping pong; do
    echo "$word" >&3
    read -r -t 10 answer <&3 || fail "echo is silent"
    [[ $answer == "$word" ]] || fail "echo answered: $answer"
done
# It takes no new connection from here on, and waits for this one to end.
kill -INT "$server"
for _ in {1..100}; do
    grep -q '^no longer accepting' "$work/echo" && break
    sleep 0.1
done
echo last >&3
read -r -t 10 answer <&3 || fail "echo cut a connection off"
[[ $answer == last ]] || fail "echo answered: $answer"
exec 3>&-
status=0
timeout 20 tail --pid="$server" -f /dev/null || fail "echo does not end"
wait "$server" || status=$?
server=
[[ $status == 0 ]] || fail "echo ended with status $status after Ctrl-C"
grep -q '^all connections have ended' "$work/echo" || fail "echo did not wait for its connection"
echo "echo: ended gracefully"
