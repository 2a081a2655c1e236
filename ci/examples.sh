#!/usr/bin/env bash
# The examples do what they say, driven from outside.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
server=
upstream=
cleanup() {
    [[ -z $server ]] || kill -KILL "$server" 2> /dev/null || true
    [[ -z $upstream ]] || kill -KILL "$upstream" 2> /dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

fail() {
    echo "$1" >&2
    cat "$work"/* >&2
    exit 1
}

cargo build -q -p rt-examples --examples
cargo build -q -p rtop
bin=${CARGO_TARGET_DIR:-target}/debug/examples

# Starts `$1` on a port that is free, with what follows as arguments, and sets `server`, its process,
# and `port`.
start() {
    "$bin/$1" 127.0.0.1:0 "${@:2}" > "$work/$1" 2>&1 &
    server=$!
    for _ in {1..100}; do
        if grep -q '^listening on' "$work/$1"; then
            port=$(grep '^listening on' "$work/$1" | grep -oE '[0-9]+$')
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

timeout 60 "$bin/tour" --record "$work/tour.json" > "$work/tour" || fail "tour failed"
[[ $(grep -c 'nothing is left to do' "$work/tour") == 2 ]] || fail "tour did not come to its ends"
for task in A B C server; do
    grep -q "\"name\":\"$task\"" "$work/tour.json" || fail "tour did not record $task"
done
"$bin/trace-svg" "$work/tour.json" "$work/tour.svg" || fail "trace-svg has not drawn the tour"
grep -q '>server</text>' "$work/tour.svg" || fail "the picture of the tour has no server"
! "$bin/trace-svg" README.md "$work/no.svg" 2> "$work/trace-svg" || fail "trace-svg has drawn what is no recording"
echo "tour: both acts ended, recorded in $(wc -l < "$work/tour.json") lines"

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

timeout 60 "$bin/sieve" 30 > "$work/sieve" 2>&1 || fail "sieve failed"
[[ $(head -n 30 "$work/sieve" | tail -n 1) == 113 ]] || fail "the 30th prime is 113"
echo "sieve: 30 primes"

timeout 60 "$bin/pipeline" 200 > "$work/pipeline" || fail "pipeline failed"
grep -q '^200 blocks, 100000 words' "$work/pipeline" || fail "pipeline lost something"
echo "pipeline: $(tail -n 1 "$work/pipeline")"

timeout 60 "$bin/mandelbrot" "$work/picture.png" 120 80 > "$work/mandelbrot" 2>&1 || fail "mandelbrot failed"
[[ $(head -c 8 "$work/picture.png" | od -An -tx1 | tr -d ' \n') == 89504e470d0a1a0a ]] || fail "mandelbrot wrote no PNG"
[[ $(od -An -tu4 -j16 -N8 --endian=big "$work/picture.png" | tr -s ' ') == ' 120 80' ]] || fail "the picture has another size"
grep -q '80/80' "$work/mandelbrot" || fail "mandelbrot showed no progress"
rm "$work/picture.png"
echo "mandelbrot: a picture"

timeout 100 "$bin/million" 20000 > "$work/million" 2>&1 || fail "million failed"
grep -qE '^[1-9][0-9]* bytes a coroutine' "$work/million" || fail "million did not count bytes"
grep -q '^the token came through all of them' "$work/million" || fail "million lost the token"
(
    ulimit -n 500
    timeout 100 "$bin/million" --connections 1000 > "$work/million.connections" 2>&1
) || fail "million failed with connections"
grep -q 'allows 436 of 1000' "$work/million.connections" || fail "million does not know its limit"
grep -q '^4796 echoes, none lost' "$work/million.connections" || fail "million lost an echo"
echo "million: $(grep 'bytes a' "$work"/million "$work"/million.connections | sed 's/.*://' | paste -sd ';')"

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

if command -v curl > /dev/null; then
    start metrics
    curl -fsS --max-time 30 "http://127.0.0.1:$port/work?tasks=50" > "$work/sum" || fail "metrics does not work"
    [[ $(< "$work/sum") == 20825 ]] || fail "metrics added up to $(< "$work/sum")"
    curl -fsS --max-time 30 "http://127.0.0.1:$port/metrics" > "$work/page" || fail "metrics has no page"
    # Each line is empty, a comment, or a name, labels and a number.
    label='[a-z_]+="[^"\\]*"'
    ! grep -vE "^\$|^# (HELP|TYPE) [a-z_]+ .+\$|^[a-z_]+(\{$label(,$label)*\})? -?[0-9.e+-]+\$" "$work/page" || fail "not what Prometheus reads"
    for series in 'work_requests_total 1' 'rt_spawned_tasks_total{runtime="rt"} [1-9][0-9]*' \
        'rt_worker_polls_total{runtime="rt",pool="io",worker="0"} [0-9]+' \
        'rt_schedule_latency_nanoseconds_bucket{runtime="rt",pool="cpu",le="\+Inf"} 50' \
        'rt_poll_time_nanoseconds_count{runtime="rt",pool="cpu"} [1-9][0-9]*' \
        'rt_live_sources{runtime="rt"} [1-9][0-9]*'; do
        grep -qE "^$series\$" "$work/page" || fail "metrics: no $series"
    done
    curl -fsS --max-time 30 "http://127.0.0.1:$port/table" | grep -qE '^cpu queued +50 measured' || fail "metrics has no table"
    stop INT
    [[ $status == 0 ]] || fail "metrics ended with status $status after Ctrl-C"
    echo "metrics: $(grep -cv '^#' "$work/page") lines that Prometheus reads"
fi

timeout 60 "$bin/grpc" > "$work/grpc.both" || fail "grpc failed"
grep -q 'one for many:  Hello, Cleo and Dan!' "$work/grpc.both" || fail "grpc did not greet"
start grpc
timeout 60 "$bin/grpc" call "http://127.0.0.1:$port" > "$work/grpc.client" || fail "grpc: the client failed"
diff <(tail -n +2 "$work/grpc.both") "$work/grpc.client" || fail "grpc: two processes say something else than one"
stop INT
[[ $status == 0 ]] || fail "grpc ended with status $status after Ctrl-C"
echo "grpc: all four kinds of calls, in one process and in two"

timeout 60 "$bin/quic-echo" 1 > "$work/quic-echo" || fail "quic-echo failed"
grep -q '^streams: 1, of 16 MiB each, there and back' "$work/quic-echo" || fail "quic-echo echoed nothing"
echo "quic-echo: $(tail -n 1 "$work/quic-echo")"

timeout 60 "$bin/wss-echo" > "$work/wss-echo" || fail "wss-echo failed"
grep -q '^10 clients had 100 messages echoed each' "$work/wss-echo" || fail "wss-echo echoed nothing"
grep -q '^without trust: .*certificate' "$work/wss-echo" || fail "wss-echo does not tell of the certificate"
echo "wss-echo: ten clients were echoed, and who does not trust the server is told so"

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

# A request that ends in the time it is given, one that does not, and a connection without one.
start graceful 1000
exec 3<> "/dev/tcp/127.0.0.1/$port" 4<> "/dev/tcp/127.0.0.1/$port" 5<> "/dev/tcp/127.0.0.1/$port"
echo 1 >&3
read -r -t 10 answer <&3 || fail "graceful is silent"
[[ $answer == done ]] || fail "graceful answered: $answer"
echo 600000 >&4
echo 300 >&3
for millis in 600000 300; do
    for _ in {1..100}; do
        grep -q "^a request of $millis ms" "$work/graceful" && break
        sleep 0.05
    done
done
kill -INT "$server"
read -r -t 10 answer <&3 || fail "graceful cut a request that had time to finish"
[[ $answer == done ]] || fail "graceful answered: $answer"
status=0
timeout 20 tail --pid="$server" -f /dev/null || fail "graceful does not end"
wait "$server" || status=$?
server=
exec 3>&- 4>&- 5>&-
[[ $status == 0 ]] || fail "graceful ended with status $status after Ctrl-C"
[[ $(grep -c '^a request was cut' "$work/graceful") == 1 ]] || fail "graceful did not cut exactly one request"
grep -q '^nothing is left' "$work/graceful" || fail "graceful did not end its scope"
echo "graceful: finished one request, cut one, and ended"

start udp-echo
exec 3<> "/dev/udp/127.0.0.1/$port"
for word in ping pong; do
    echo "$word" >&3
    # `read` would take one byte of the datagram and lose the rest.
    answer=$(timeout 10 head -n 1 <&3) || fail "udp-echo is silent"
    [[ $answer == "$word" ]] || fail "udp-echo answered: $answer"
done
exec 3>&-
stop INT
[[ $status == 0 ]] || fail "udp-echo ended with status $status after Ctrl-C"
echo "udp-echo: answered"

start chat
timeout 100 "$bin/chat" --load "127.0.0.1:$port" 200 3 > "$work/load" 2>&1 || fail "chat lost something"
grep -q '^none lost' "$work/load" || fail "chat did not count"
stop INT
[[ $status == 0 ]] || fail "chat ended with status $status after Ctrl-C"
echo "chat: $(head -n 1 "$work/load"), none lost"

timeout 100 "$bin/reqwest-many" > "$work/reqwest-many" || fail "reqwest-many failed"
grep -q '^100 answers, 990 bytes' "$work/reqwest-many" || fail "reqwest-many missed answers"
echo "reqwest-many: $(cat "$work/reqwest-many")"

timeout 100 "$bin/serving" --load 2 > "$work/serving.load" || fail "serving failed"
for times in 'first token' 'next token' 'whole answer'; do
    grep -qE "^$times: p50 [0-9.]+ ms, p95 [0-9.]+ ms, p99 [0-9.]+ ms" "$work/serving.load" || fail "serving: no times of the $times"
done
echo "serving: $(paste -sd ';' "$work/serving.load")"
if command -v curl > /dev/null; then
    start serving
    question='{"prompt": "once upon a time", "tokens": 12}'
    events=$(curl -fsSN --max-time 30 "http://127.0.0.1:$port/generate" --json "$question") || fail "serving does not answer"
    [[ $(grep -c '^data: "' <<< "$events") == 12 ]] || fail "serving answered: $events"
    grep -q '^event: done' <<< "$events" || fail "serving did not come to an end: $events"
    status=$(curl -sS --max-time 30 -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/generate" --json "${question/12/1000}")
    [[ $status == 422 ]] || fail "serving answered $status when asked for too much"
    # One who goes away in the middle: the worker finds out with the next token.
    curl -sN --max-time 100 "http://127.0.0.1:$port/generate" --json "${question/12/256}" | head -n 1 > /dev/null || true
    for _ in {1..100}; do
        curl -fsS --max-time 30 "http://127.0.0.1:$port/stats" > "$work/stats" || fail "serving has no stats"
        grep -q '"cancelled":1' "$work/stats" && break
        sleep 0.1
    done
    grep -q '"cancelled":1' "$work/stats" || fail "serving computes for nobody"
    stop INT
    [[ $status == 0 ]] || fail "serving ended with status $status after Ctrl-C"
    grep -q '^all answers have ended' "$work/serving" || fail "serving did not end gracefully"
fi

# What the server answers to a request, and its status at the end of the line, must be `$1`.
expect() {
    answer=$(curl -sS --max-time 30 -w ' %{http_code}' "http://127.0.0.1:$port/$2" "${@:3}")
    [[ $answer == "$1" ]] || fail "axum-todo answered ${*:2} with $answer instead of $1"
}

# Uses a list that is `$1`, and empty, from its page to its end.
use_list() {
    start axum-todo
    grep -q "^the list is $1" "$work/axum-todo" || fail "the list is not $1"
    curl -fsS --max-time 30 "http://127.0.0.1:$port/" | grep -q '<h1>To do</h1>' || fail "axum-todo has no page"
    expect '[] 200' api/todos
    expect '{"id":1,"text":"water the plants","done":false} 201' api/todos --json '{"text": " water the plants "}'
    expect '{"id":2,"text":"<b>sleep</b>","done":false} 201' api/todos --json '{"text": "<b>sleep</b>"}'
    expect '{"id":1,"text":"water the plants","done":true} 200' api/todos/1/toggle -X POST
    expect ' 204' api/todos/2 -X DELETE
    expect '{"error":"there is no such entry"} 404' api/todos/2 -X DELETE
    expect '{"error":"the text must have 1 to 1000 bytes, none of them zero"} 422' api/todos --json '{"text": " "}'
    expect '[{"id":1,"text":"water the plants","done":true}] 200' api/todos
    stop INT
    [[ $status == 0 ]] || fail "axum-todo ended with status $status after Ctrl-C"
    grep -q '^all requests have been answered' "$work/axum-todo" || fail "axum-todo did not end gracefully"
    echo "axum-todo: curl is content with a list $1"
}

# Starts an empty PostgreSQL, as a user that is not root, and sets `upstream` and `upstream_port`.
start_postgres() {
    local as=()
    mkdir "$work/data"
    if ((EUID == 0)); then
        as=(setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups)
        chown nobody "$work/data"
        chmod 711 "$work"
    fi
    "${as[@]}" "$postgres/initdb" -D "$work/data" -U rt --auth=trust --no-sync > "$work/postgres" 2>&1 || fail "no initdb"
    for _ in {1..20}; do
        upstream_port=$((20000 + RANDOM % 10000))
        "${as[@]}" "$postgres/postgres" -D "$work/data" -F -h 127.0.0.1 -p "$upstream_port" -k '' > "$work/postgres" 2>&1 &
        upstream=$!
        for _ in {1..200}; do
            ! grep -q 'ready to accept connections' "$work/postgres" || return 0
            kill -0 "$upstream" 2> /dev/null || break
            sleep 0.1
        done
        kill -KILL "$upstream" 2> /dev/null || true
    done
    fail "PostgreSQL does not start"
}

if command -v curl > /dev/null; then
    use_list 'in memory'
    postgres=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
    if [[ -x $postgres/initdb ]]; then
        start_postgres
        DATABASE_URL=postgres://rt@127.0.0.1:$upstream_port/postgres use_list 'in PostgreSQL'
        kill -QUIT "$upstream"
        wait "$upstream" || true
        upstream=
    fi
fi

# Serves the folder `$work/www`, for reading and writing, on the port that it sets as `upstream_port`.
start_nginx() {
    mkdir "$work/www"
    for _ in {1..20}; do
        upstream_port=$((20000 + RANDOM % 10000))
        cat > "$work/nginx.conf" << END
daemon off;
master_process off;
pid $work/nginx.pid;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path $work/body;
    proxy_temp_path $work/body;
    fastcgi_temp_path $work/body;
    uwsgi_temp_path $work/body;
    scgi_temp_path $work/body;
    client_max_body_size 0;
    server {
        listen 127.0.0.1:$upstream_port;
        root $work/www;
        location / { dav_methods PUT; }
    }
}
END
        nginx -e "$work/nginx.log" -p "$work" -c "$work/nginx.conf" 2> /dev/null &
        upstream=$!
        for _ in {1..50}; do
            # The process that is alive and answers is this one: a second could not have the port.
            kill -0 "$upstream" 2> /dev/null || break
            if [[ -s $work/nginx.pid ]] && curl -s -o /dev/null "http://127.0.0.1:$upstream_port/"; then
                return
            fi
            sleep 0.1
        done
        kill -KILL "$upstream" 2> /dev/null || true
    done
    fail "nginx does not start"
}

if command -v nginx > /dev/null && command -v curl > /dev/null; then
    start_nginx
    start proxy "127.0.0.1:$upstream_port"
    head -c 100000000 /dev/urandom > "$work/www/down"
    curl -fsS --max-time 100 -o "$work/down" "http://127.0.0.1:$port/down" || fail "no download"
    curl -fsS --max-time 100 -T "$work/down" "http://127.0.0.1:$port/up" || fail "no upload"
    cmp -s "$work/www/down" "$work/down" || fail "the download is not what was sent"
    cmp -s "$work/www/down" "$work/www/up" || fail "the upload is not what was sent"
    most=$(grep -oE 'VmHWM:.*' "/proc/$server/status" | grep -oE '[0-9]+')
    ((most < 50000)) || fail "the proxy took $most kB of memory"
    rm "$work/down" "$work/www/up"
    stop INT
    [[ $status == 0 ]] || fail "proxy ended with status $status after Ctrl-C"
    kill "$upstream"
    wait "$upstream" || true
    upstream=
    echo "proxy: 100 MB each way, whole, with $most kB of memory at most"
fi

# Larger than a pipe holds, from a file and from the input.
head -c 3000000 /dev/urandom > "$work/bytes"
"$bin/cat" "$work/bytes" | cmp - "$work/bytes" || fail "cat changed a file"
"$bin/cat" < "$work/bytes" | "$bin/cat" - | cmp - "$work/bytes" || fail "cat changed its input"
! "$bin/cat" "$work/nothing" 2> "$work/cat" || fail "cat found what is not there"
echo "cat: what went in came out"

status=0
"$bin/run" 60 sh -c 'echo to-out; echo to-err >&2; exit 3' > "$work/run" 2>&1 || status=$?
[[ $status == 3 ]] || fail "run ended with status $status"
grep -q 'out to-out$' "$work/run" && grep -q 'err to-err$' "$work/run" || fail "run lost a line"
status=0
timeout 30 "$bin/run" 0.2 sleep 1000 > "$work/run" 2>&1 || status=$?
[[ $status == 124 ]] || fail "run ended with status $status when the time was over"
echo "run: lines, a status and a limit"

# Each planted bug is in the dump, and in what rtop shows: one line of it. `$1`: which; `$2`, `$3`: what the lines look like.
planted() {
    # What the one before has said must not be taken for this one's.
    rm -f "$work/planted"
    "$bin/planted" "$1" > "$work/planted" 2>&1 &
    server=$!
    for _ in {1..100}; do
        if grep -q '^running as' "$work/planted"; then
            kill -USR1 "$server"
            sleep 0.2
            grep -qE "$2" "$work/planted" && break
        fi
        sleep 0.1
    done
    grep -qE "$2" "$work/planted" || fail "no dump shows the planted bug $1"
    grep -qE 'task [0-9]+ `heartbeat` at .*planted.rs:.* waits for a timer' "$work/planted" || fail "no heartbeat"
    socket=$(sed -n 's/^rtop //p' "$work/planted")
    "${bin%/examples}/rtop" --once --interval 0.3 "$socket" > "$work/rtop" 2>&1 || fail "rtop has nothing to show of planted $1"
    grep -qE "$3" "$work/rtop" || fail "rtop does not show the planted bug $1"
    "${bin%/examples}/rtop" --record "$work/planted.json" "$socket" || fail "rtop has no recording of planted $1"
    grep -q '"traceEvents"' "$work/planted.json" || fail "the recording of planted $1 is none"
    rm "$work/planted.json"
    stop INT
    [[ $status == 0 ]] || fail "planted $1 ended with status $status"
    [[ ! -e $socket ]] || fail "planted $1 has left its socket"
}

planted blocks '`report` at .* running for .* in one poll on worker [01]' \
    '^ *now  report, from planted.rs:[0-9]+: [0-9.]+m?s, blocks in '
planted lock '`request [0-9]` at .* waits for something that is not the runtime' \
    '0% +0 +1 +[0-9.]+m?s io +idle +request [0-9] .* something that is not the runtime'
planted leak '`watcher` at .* waits for a value from channel 0x' \
    'idle +watcher +planted.rs:[0-9]+ +a value from channel 0x'
planted busy '`poller` at .* polls [0-9]{4,}, busy about' \
    '^ *[0-9]+% +([0-9]{3,}|[0-9.]+[kM]) +([0-9]{3,}|[0-9.]+[kM]) .* poller +planted.rs:[0-9]+'
"${bin%/examples}/rtop" --once "$work/nowhere" 2> "$work/rtop" && fail "rtop shows what is not there"
grep -q 'there is no socket' "$work/rtop" || fail "rtop does not say what is wrong"
echo "planted: four bugs, each in the dump and in rtop"

# It is a workspace of its own, built with a flag of its own, which cargo finds in its folder.
console=$(realpath -m "${CARGO_TARGET_DIR:-target}")/console
(cd examples/console && CARGO_TARGET_DIR=$console cargo build -q)

# Starts the example on a port that it asks for until it has one. Sets `server` and `address`.
start_console() {
    for _ in {1..20}; do
        address=127.0.0.1:$((20000 + RANDOM % 10000))
        "$console/debug/rt-console" "$address" > "$work/console" 2>&1 &
        server=$!
        for _ in {1..100}; do
            kill -0 "$server" 2> /dev/null || fail "console ended"
            ! timeout 60 "$console/debug/rt-console" list "http://$address" > "$work/console.list" 2>&1 || return 0
            # The port is somebody else's.
            ! grep -q 'server failed' "$work/console" || break
            sleep 0.1
        done
        kill -KILL "$server"
        wait "$server" 2> /dev/null || true
    done
    fail "console does not start"
}

# Whether each task is in the list: with its name and kind, polls, busy time, wakes, wakers and place.
lists_all() {
    local task time='[0-9.]*[1-9][0-9.]*(m|µ|n)?s'
    for task in 'busy +task' 'sleeper +task' 'asks +task' 'answers +task' 'yields +local'; do
        grep -qE "^$task +[1-9][0-9]* +$time +[1-9][0-9]* +[0-9]+  src/main.rs:" "$work/console.list" || return 1
    done
    grep -qE '^job +blocking +1 ' "$work/console.list" && grep -qE '^ +block_on +[1-9]' "$work/console.list"
}

start_console
for _ in {1..20}; do
    ! lists_all || break
    timeout 60 "$console/debug/rt-console" list "http://$address" > "$work/console.list" 2>&1 || fail "console does not answer"
done
lists_all || fail "the console does not know of all tasks"
stop INT
[[ $status == 0 ]] || fail "console ended with status $status after Ctrl-C"
echo "console: $(grep -c 'src/main.rs' "$work/console.list") tasks, with polls, times and wakes"
