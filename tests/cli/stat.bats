#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# cpuclock stat: with every source of snapshots that works here, and the wrong
# answers that others have given.

# shellcheck disable=SC2154 # capture sets code, out and err
load common

: "${BUILD_ROOT:?the path of the build}"
load=$BUILD_ROOT/tests/stat_load

setup_file() {
	SOURCES=$("$CPUCLOCK" info --json | python3 -c '
import json, sys
for source in json.load(sys.stdin)["snapshot_sources"]:
    if source["available"]:
        print(source["name"])')
	export SOURCES
	[ -n "$SOURCES" ]
}

# begin ARG...: a load in the background, $pid, which says "ready". What spins
# does so in the time that nobody else wants.
begin() {
	nice -n 19 "$load" "$@" >"$BATS_TEST_TMPDIR/load" 3>&- &
	pid=$!
	for ((i = 0; i < 200; i++)); do
		! grep -qs ready "$BATS_TEST_TMPDIR/load" || return 0
		sleep 0.05
	done
	false
}

teardown() {
	[ -z "${pid-}" ] || kill "$pid" 2>/dev/null || :
}

# check CODE ARG...: stat --json ARG... with each source, then Python over what
# it says: data, rows (of threads or groups), sum, exited, more, source
check() {
	local python=$1 source
	shift
	for source in $SOURCES; do
		capture "$CPUCLOCK" stat --source "$source" \
			--json="$BATS_TEST_TMPDIR/json" "$@"
		[ "$code" -eq 0 ] || explain "source $source: $* failed"
		python3 - "$BATS_TEST_TMPDIR/json" "$source" <<EOF ||
import json, sys
data = json.load(open(sys.argv[1]))
source = sys.argv[2]
assert data["source"]["name"] == source
every = data["rows"]
rows = [r for r in every if r["row"] not in ("more", "exited", "sum")]
one = lambda word: next((r for r in every if r["row"] == word), None)
# The kernel's account of a command is cut to microseconds, for each process.
same = lambda a, b: abs(a["total_ns"] - b["total_ns"]) < 1e5
sum_, exited, more = one("sum"), one("exited"), one("more")
for r in every:
    assert r["total_ns"] == r["user_ns"] + r["system_ns"], r
    assert min(r["total_ns"], r["user_ns"], r["system_ns"]) >= 0, r
assert sum(r["total_ns"] for r in every if r is not sum_) == sum_["total_ns"]
$python
EOF
			explain "source $source: $*: $(cat "$BATS_TEST_TMPDIR/json")"
	done
}

# ---- What it is asked for

@test "info says of each source whether it works, and else why" {
	"$CPUCLOCK" info --json | python3 -c '
import json, sys
sources = json.load(sys.stdin)["snapshot_sources"]
assert "proc" in [s["name"] for s in sources]
assert all(s["available"] or s["why"] for s in sources)'
	prints '^  proc +(works|does not work here): ' "$CPUCLOCK" info
}

@test "a source that does not work here is a failure with its reason" {
	local source
	source=$("$CPUCLOCK" info --json | python3 -c '
import json, sys
for source in json.load(sys.stdin)["snapshot_sources"]:
    if not source["available"]:
        print(source["name"])' | head -n 1)
	[ -n "$source" ] || skip "all work"
	fails 1 "source $source does not work here: .{9,}" \
		"$CPUCLOCK" stat -a -s "$source"
	# The other one serves, and it is said why.
	prints "^ +not $source: .{9,}" "$CPUCLOCK" stat -a -d 0.01
}

@test "mistakes are usage errors" {
	fails 2 'whose' "$CPUCLOCK" stat
	fails 2 "'0' is no PID" "$CPUCLOCK" stat -p 0
	fails 2 "'x' is no PID" "$CPUCLOCK" stat -p 1,x
	fails 2 'needs a PID' "$CPUCLOCK" stat -p ,
	fails 2 'either' "$CPUCLOCK" stat -p 1 --all
	fails 2 'either' "$CPUCLOCK" stat --all true
	fails 2 "'0' is no time" "$CPUCLOCK" stat -a -d 0
	fails 2 "'inf' is no time" "$CPUCLOCK" stat -a -d inf
	fails 2 "'1e3' is no time" "$CPUCLOCK" stat -a -i 1e3
	fails 2 '-d excludes' "$CPUCLOCK" stat -a -d 1 -w
	fails 2 '-d is for processes' "$CPUCLOCK" stat -d 1 true
	fails 2 '-c needs -i' "$CPUCLOCK" stat -a -c 2
	fails 2 "group by 'bogus'" "$CPUCLOCK" stat -a --by bogus
	fails 2 "sort by 'bogus'" "$CPUCLOCK" stat -a --sort bogus
	fails 2 'either --json or --csv' "$CPUCLOCK" stat -a --json --csv
	fails 2 "no source 'bogus'" "$CPUCLOCK" stat -a --source bogus
}

@test "CPUCLOCK_SOURCE counts if it names a source of snapshots" {
	local source
	for source in $SOURCES; do
		[ "$(json source.name env CPUCLOCK_SOURCE="$source" \
			"$CPUCLOCK" stat -p $$ -d 0.01 --json)" = "$source" ]
	done
	capture env CPUCLOCK_SOURCE=rusage "$CPUCLOCK" stat -p $$ -d 0.01
	[ "$code" -eq 0 ]
}

@test "a process that does not exist, is a thread or a name of none: failures" {
	fails 1 'process 4194304 does not exist' "$CPUCLOCK" stat -p 4194304
	fails 1 "no process is named 'no such name'" \
		"$CPUCLOCK" stat --name 'no such name'
	begin spin one
	local tid
	tid=$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 -name '[0-9]*' \
		! -name "$pid" -printf '%f\n')
	fails 1 "$tid is a thread" "$CPUCLOCK" stat -p "$tid"
}

@test "processes are found by their exact name" {
	begin sleep 1
	check "assert {r['pid'] for r in rows} >= {$pid}; assert len(rows) >= 2" \
		--name stat_load -d 0.01
	fails 1 'no process is named' "$CPUCLOCK" stat --name stat_loa
}

@test "PIDs given twice count once" {
	begin sleep 2
	check "assert len(rows) == 3" -p "$pid,$pid" -p "$pid" -d 0.01
}

# ---- Text from outside

@test "names of every byte value parse as JSON and as CSV" {
	local source
	begin bytes
	check "
assert len(rows) == 256
names = {r['name'] for r in rows}
for byte in range(1, 256):
    char = chr(byte) if byte < 128 else '\ufffd'
    assert char + 'x' + char + 'y%d' % byte in names, byte
" -p "$pid" -d 0.01
	for source in $SOURCES; do
		"$CPUCLOCK" stat -s "$source" -p "$pid" -d 0.01 \
			--csv >"$BATS_TEST_TMPDIR/csv"
		python3 - "$BATS_TEST_TMPDIR/csv" <<'EOF'
import csv, sys
text = open(sys.argv[1], newline="", encoding="ascii").read()
assert not any(c < " " and c not in "\r\n" or c == "\x7f" for c in text)
assert text.count("\r\n") == text.count("\n")
table = list(csv.DictReader(text.splitlines(), strict=True))
rows = [r for r in table if r["row"] == "thread"]
assert len(rows) == 256 and len(table) == 258
names = {r["name"] for r in rows}
for byte in range(1, 256):
    letter = {9: r"\t", 10: r"\n", 13: r"\r", 92: r"\\"}.get(
        byte, chr(byte) if 32 <= byte < 127 else r"\x%02x" % byte)
    first = r"\x%02x" % byte if chr(byte) in "=+-@" else letter
    assert first + "x" + letter + "y%d" % byte in names, byte
EOF
	done
}

@test "btop #1846, htop GHSA-q64m-h5hc-c4qq: a terminal obeys no name" {
	begin bytes
	local source
	for source in $SOURCES; do
		"$CPUCLOCK" stat -s "$source" -p "$pid" -d 0.01 --top 0 \
			>"$BATS_TEST_TMPDIR/text"
		# 256 rows, and nothing but printed ASCII.
		[ "$(grep -cE "^ *$pid +[0-9]+ " "$BATS_TEST_TMPDIR/text")" -eq 256 ]
		lacks '[^ -~]' "$BATS_TEST_TMPDIR/text"
		grep -qF '\x1bx\x1by27 ' "$BATS_TEST_TMPDIR/text"
		grep -qF '\nx\ny10 ' "$BATS_TEST_TMPDIR/text"
	done
}

@test "sysstat #28, util-linux #1971: names with blanks, braces, newlines" {
	begin spin 'a) R 1 1' $'b\n) S 2' '(c' ' d ' '' $'e;"\\'
	check "
names = {r['name'] for r in rows}
assert {'a) R 1 1', 'b\n) S 2', '(c', ' d ', '', 'e;\"\\\\'} <= names, names
assert all(r['state'] == 'R' for r in rows if r['tid'] != $pid), rows
" -p "$pid" -d 0.2
}

@test "atop #321: names are not cut to 14" {
	begin spin 123456789012345
	check "assert rows[0]['name'] == '123456789012345'" -p "$pid" -d 0.1
}

@test "sysstat #179: a thread has its own name" {
	begin spin worker
	check "
names = {r['tid']: r['name'] for r in rows}
assert names.pop($pid) == 'stat_load' and list(names.values()) == ['worker']
" -p "$pid" -d 0.1
}

@test "wide and combined characters keep the columns aligned" {
	begin spin 中文字符 $'e\u0301e\u0301' plain $'\u202egnp'
	"$CPUCLOCK" stat -p "$pid" -d 0.1 >"$BATS_TEST_TMPDIR/text"
	python3 - "$BATS_TEST_TMPDIR/text" <<'EOF'
import sys, unicodedata
def width(text):
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)
lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
table = lines[2:8]
assert len({width(line) for line in table}) == 1, table
assert any("中文字符" in line for line in table)
assert not any("\u202e" in line for line in table)
EOF
}

# ---- Right answers

@test "procps-ng #280: the main thread is not given the process's time" {
	begin spin busy
	check "
by = {r['name']: r['total_ns'] for r in rows}
assert by['stat_load'] < by['busy'] / 10
assert rows[0]['name'] == 'busy'
" -p "$pid" -d 0.5
}

@test "a dead leader: the threads that work on are seen" {
	begin leaderless $'busy\nwork) R 1'
	check "
assert rows[0]['name'] == 'busy\nwork) R 1' and rows[0]['state'] == 'R'
assert rows[0]['total_ns'] > sum_['total_ns'] * 0.9 > 0
" -p "$pid" -d 0.3
}

@test "threads of 40 ms: the rows add up to the process's clock" {
	check "
clock = int(open('$BATS_TEST_TMPDIR/out').read().split()[1])
# Beyond its own last look, the process has ended, and begun.
assert clock <= sum_['total_ns'] < clock + 20e6, (clock, sum_)
assert same(sum_, data['command'])
" -- "$load" short 0.5
}

@test "HSF/prmon #35, glances #134: what ended in between is in the sum" {
	begin short 20
	check "
live = sum(r['total_ns'] for r in rows if r['state'] != 'X')
ended = sum(r['total_ns'] for r in rows if r['state'] == 'X')
assert live < 0.3 * sum_['total_ns']
assert exited['total_ns'] + ended > 0.7 * sum_['total_ns'] > 0
assert sum_['total_ns'] <= 1.1 * data['wall_ns']
" -p "$pid" -d 0.6
	check "assert rows[0]['total_ns'] == sum_['total_ns'] > 0
assert rows[0]['exited_ns'] > 0" -p "$pid" -d 0.6 --by process
}

@test "the sum agrees with the process's own clock" {
	begin short 20
	local before after
	before=$(json time_ns "$CPUCLOCK" read -p "$pid" --json)
	check "pass" -p "$pid" -d 0.5
	# The last source's answer lies within the reads around all of them.
	after=$(json time_ns "$CPUCLOCK" read -p "$pid" --json)
	python3 - "$BATS_TEST_TMPDIR/json" $((after - before)) <<'EOF'
import json, sys
span = int(sys.argv[2])
rows = json.load(open(sys.argv[1]))["rows"]
assert 0 < rows[-1]["total_ns"] <= span + 8e6, (rows[-1], span)
EOF
}

@test "sysstat #73, #149, #344; htop #1204: 100 % is one CPU" {
	[ "$(nproc)" -ge 2 ] || skip "one CPU"
	begin spin one two
	check "
assert all(r['percent'] <= 100 for r in rows)
assert sum_['percent'] <= 102 * $(nproc)
assert abs(sum_['percent'] - 100 * sum_['total_ns'] / data['wall_ns']) < 0.01
" -p "$pid" -d 0.5
	check "
share = 100 * rows[0]['total_ns'] / data['wall_ns']
assert abs(rows[0]['percent'] - share) < 0.01" -p "$pid" -d 0.5 --by process
	capture "$CPUCLOCK" stat -p "$pid" -d 0.1
	grep -qF '%cpu is of one CPU' "$out"
}

# reuse SOURCE ARGS [SECONDS]: CSV while a PID is given anew, in
# $BATS_TEST_TMPDIR/csv; with SECONDS to one whose two threads use so much each,
# and end.
# In a namespace of its own nobody else takes the PID, or is hurt. ARGs can name
# $pid, which gets it, and $load.
reuse() {
	unshare --pid --fork --mount-proc true 2>/dev/null ||
		skip "no PID namespace may be made"
	# shellcheck disable=SC2016 # for the inner shell
	unshare --pid --fork --mount-proc bash -c '
		mkfifo "$1/line"
		"$2" reuse $6 <>"$1/line" >"$1/load" 2>&1 3>&- &
		load=$!
		until grep -qs ready "$1/load"; do sleep 0.05; done
		pid=$(head -n 1 "$1/load")
		eval "\"\$3\" stat -s $4 --csv $5" >"$1/csv" 3>&- &
		stat=$!
		# It looks each second.
		sleep "1${6:+.3}"
		echo >"$1/line"
		sleep 0.5
		[ "$5" = "${5#*-i}" ] || kill "$stat"
		wait "$stat"
		kill "$load"
		rm "$1/line" "$1/load"' \
		bash "$BATS_TEST_TMPDIR" "$load" "$CPUCLOCK" "$1" "$2" "${3-}"
}

@test "collectd #3773, htop #1441: a PID that is given anew is another process" {
	local source
	for source in $SOURCES; do
		reuse "$source" "-a -d 2 --by process"
		python3 - "$BATS_TEST_TMPDIR/csv" <<'EOF'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
rows = {r["name"]: int(r["total_ns"]) for r in rows}
# The first one has used 300 ms before, the second has slept.
assert 0 <= rows["second"] < 200e6 and 0 <= rows["first"] < 200e6, rows
EOF
	done
}

@test "a PID that is given anew does not stand for the process that had it" {
	local source options
	for source in $SOURCES; do
		# shellcheck disable=SC2016 # for the inner shell
		for options in '-p $load,$pid -d 2' '-p $load,$pid -i 0.3'; do
			reuse "$source" "$options"
			grep -q '"first"' "$BATS_TEST_TMPDIR/csv"
			lacks '"second"' "$BATS_TEST_TMPDIR/csv"
		done
	done
}

@test "a process that comes and goes does not stand for the one that had its PID" {
	local source
	for source in $SOURCES; do
		# shellcheck disable=SC2016 # for the inner shell
		reuse "$source" '-p $load,$pid -d 1.9 --by process' 0.1
		python3 - "$BATS_TEST_TMPDIR/csv" <<'EOF'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
names = {r["name"]: int(r["total_ns"]) for r in rows}
assert 0 <= names["first"] < 100e6 and "second" not in names, rows
EOF
	done
}

@test "psutil #2150: processes and threads that end while it looks are no error" {
	local source option
	for source in $SOURCES; do
		for option in --wait -i0.1; do
			begin spin busy
			(sleep 1 && kill "$pid") 3>&- &
			capture "$CPUCLOCK" stat -s "$source" -p "$pid" "$option"
			[ "$code" -eq 0 ] || explain "$source $option"
			# Its parent, this shell, may not have waited for it.
			grep -qE 'now (0 threads|. threads? in 1 process$)' "$out" ||
				explain "$source $option: it is still there"
		done
	done
	check "assert rows" -a -d 0.01
}

@test "what a process used at its very end is said to be missing" {
	local source child
	for source in $SOURCES; do
		"$load" sleep 1 >/dev/null 3>&- &
		child=$!
		# Its parent, this shell, waits for it at once.
		(sleep 0.4 && kill "$child") 3>&- &
		"$CPUCLOCK" stat -s "$source" -p "$child,$$" -d 0.8 \
			>"$BATS_TEST_TMPDIR/text" 3>&- &
		local stat=$!
		wait "$child" || :
		wait "$stat"
		grep -qE '^missing +1 process ended: what it used .* not known$' \
			"$BATS_TEST_TMPDIR/text"
	done
	# All of a zombie was seen.
	begin zombie
	child=$(pgrep -P "$pid")
	"$CPUCLOCK" stat -p "$child,$$" -d 0.6 >"$BATS_TEST_TMPDIR/text" 3>&- &
	stat=$!
	sleep 0.3
	kill "$pid"
	wait "$stat"
	lacks '^missing' "$BATS_TEST_TMPDIR/text"
}

@test "psutil #1110, systemd #749: nothing falls from report to report" {
	local source
	begin short 20
	for source in $SOURCES; do
		"$CPUCLOCK" stat -s "$source" -p "$pid" -i 0.05 -c 10 --json |
			python3 -c '
import json, sys
reports = [json.loads(line) for line in sys.stdin]
assert len(reports) == 10
for report in reports:
    assert all(r[key] >= 0 for r in report["rows"]
               for key in ("total_ns", "user_ns", "system_ns", "percent"))'
	done
}

@test "a process that changes its name has the last one" {
	begin rename renamed
	check "assert [r['name'] for r in rows] == ['renamed']" -p "$pid" -d 0.6
}

@test "exec by another thread: the main thread is not given what that one used" {
	local source
	for source in $SOURCES; do
		python3 - "$CPUCLOCK" "$load" "$source" <<'EOF'
import json, subprocess, sys, time
command, load, source = sys.argv[1:]
load = subprocess.Popen([load, "exec"], text=True, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE)
assert load.stdout.readline() == "ready\n"
stat = subprocess.Popen(
    [command, "stat", "-s", source, "-p", str(load.pid), "-i", "0.5", "-c",
     "2", "--json"], text=True, stdout=subprocess.PIPE)
try:
    assert stat.stdout.readline()
    print(file=load.stdin, flush=True)
    rows = json.loads(stat.stdout.readline())["rows"]
    assert len([r for r in rows if r["row"] == "thread"]) >= 1, rows
    assert 0 < rows[-1]["total_ns"] < 0.15e9, rows
finally:
    load.kill()
    stat.kill()
EOF
	done
}

@test "a zombie is shown, and has used nothing since" {
	begin zombie
	local zombie
	zombie=$(pgrep -P "$pid")
	check "
assert rows[0]['state'] == 'Z' and rows[0]['name'] == 'undead'
assert sum_['total_ns'] == 0" -p "$zombie" -d 0.1
}

@test "bpftrace #3801: in a PID namespace the ids are its own" {
	local source
	unshare --pid --fork --mount-proc true 2>/dev/null ||
		skip "no PID namespace may be made"
	for source in $SOURCES; do
		unshare --pid --fork --mount-proc "$CPUCLOCK" stat -s "$source" -a \
			-d 0.01 --json | python3 -c '
import json, sys
rows = [r for r in json.load(sys.stdin)["rows"] if r["row"] == "thread"]
assert [r["pid"] for r in rows] == [1], rows
assert rows[0]["name"] == "cpuclock"'
	done
}

@test "firejail #1798: what hidepid hides is not shown" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	needs setpriv
	local source
	unshare --mount true 2>/dev/null || skip "no mount namespace may be made"
	begin sleep 1
	for source in $SOURCES; do
		# shellcheck disable=SC2016 # for the inner shell
		unshare --mount bash -c '
			mount -t proc -o hidepid=2 proc /proc &&
			setpriv --reuid 65534 --regid 65534 --clear-groups \
				--inh-caps=-all "$1" stat -s "$2" -a -d 0.01 --json' \
			bash "$CPUCLOCK" "$source" >"$BATS_TEST_TMPDIR/json" ||
			continue # without capabilities, no BPF
		python3 - "$BATS_TEST_TMPDIR/json" <<EOF
import json, sys
pids = {r["pid"] for r in json.load(open(sys.argv[1]))["rows"]}
assert $pid not in pids and 1 not in pids, pids
EOF
	done
}

@test "kernel threads are shown with all" {
	[ -d /proc/2/task ] && [ "$(cat /proc/2/comm)" = kthreadd ] ||
		skip "no kernel threads here"
	check "
thread = next(r for r in rows if r['tid'] == 2)
assert thread['name'] == 'kthreadd' and thread['user_ns'] == 0" -a -d 0.01
}

# ---- Rows

@test "rows are grouped by process, name and state" {
	begin spin same same other
	check "
names = {r['name']: r for r in rows}
assert names['same']['threads'] == 2 and names['other']['threads'] == 1
assert sum_['threads'] == 4
" -p "$pid" -d 0.2 --by name
	check "
assert len(rows) == 1 and rows[0]['pid'] == $pid and rows[0]['threads'] == 4
" -p "$pid" -d 0.2 --by process
	check "
states = {r['state']: r for r in rows}
assert states['R']['threads'] == 3 and states['S']['threads'] == 1
" -p "$pid" -d 0.2 --by state
}

@test "rows are sorted" {
	begin spin b a c
	local word
	for word in total user wait; do
		check "
key = [-r['${word}_ns'] for r in rows]
assert key == sorted(key)" -p "$pid" -d 0.05 --sort "$word"
	done
	for word in name tid; do
		check "
key = [r['$word'] for r in rows]
assert key == sorted(key)" -p "$pid" -d 0.05 --sort "$word"
	done
}

@test "--top sums up the rest" {
	begin sleep 30
	check "
assert len(rows) == 3 and more
assert len([r for r in every if r['row'] == 'more']) == 1
" -p "$pid" -d 0.01 --top 3
	check "assert len(rows) == 31 and not more" -p "$pid" -d 0.01
	check "assert len(rows) == 31 and not more" -p "$pid" -d 0.01 --top 0
	prints '^ +11 more +' "$CPUCLOCK" stat -p "$pid" -d 0.01
	prints '^ +28 more +' "$CPUCLOCK" stat -p "$pid" -d 0.01 --top 3
}

@test "--csv has its columns, once" {
	begin sleep 1
	"$CPUCLOCK" stat -p "$pid" -i 0.05 -c 3 --csv >"$BATS_TEST_TMPDIR/csv"
	[ "$(grep -c '^row,' "$BATS_TEST_TMPDIR/csv")" -eq 1 ]
	[ "$(head -n 1 "$BATS_TEST_TMPDIR/csv")" = "$(printf '%s\r' \
		"row,pid,tid,name,state,cpu,percent,total_ns,user_ns,system_ns,split_error_ns,wait_ns,voluntary_switches,involuntary_switches")" ]
	[ "$(grep -c '^sum,' "$BATS_TEST_TMPDIR/csv")" -eq 3 ]
}

@test "text has the sum, the error, the resolution, the cost and the source" {
	begin sleep 1
	local source line
	for source in $SOURCES; do
		capture "$CPUCLOCK" stat -s "$source" -p "$pid" -d 0.05
		[ "$code" -eq 0 ]
		for line in 'exited threads' 'sum' 'used .* of [0-9]+ CPU' \
			'error +\+- ' 'resolution +total 1 ns' \
			'own cost +[0-9]+ snapshots' "source +$source"; do
			grep -qE "$line" "$out" || explain "no $line"
		done
	done
}

@test "the table fits the terminal" {
	needs script
	begin spin 中文字符 123456789012345
	local width
	for width in 60 80 200; do
		script -qc "stty cols $width; '$CPUCLOCK' stat -p $pid -d 0.05" \
			/dev/null </dev/null >"$BATS_TEST_TMPDIR/text"
		python3 - "$BATS_TEST_TMPDIR/text" "$width" <<'EOF'
import sys
lines = open(sys.argv[1], encoding="utf-8", newline="").read().split("\r\n")
assert any(line.startswith(" ") and "%cpu" in line for line in lines), lines
table = lines[2:9]
assert all(len(line) <= int(sys.argv[2]) for line in table), table
assert any("中" in line for line in table)
EOF
	done
}

# ---- Time

@test "-i keeps its interval" {
	begin spin busy
	local source
	for source in $SOURCES; do
		"$CPUCLOCK" stat -s "$source" -p "$pid" -i 0.1 -c 10 --json |
			python3 -c '
import json, sys
walls = sorted(json.loads(line)["wall_ns"] for line in sys.stdin)
# On a busy machine some are late.
assert len(walls) == 10 and abs(walls[5] - 0.1e9) < 0.01e9, walls'
	done
}

@test "where ends are told of, it looks each second" {
	begin sleep 1
	check "
assert data['scans']['count'] >= 3 or not data['source']['knows_exits']
assert 1.05e9 < data['wall_ns']
" -p "$pid" -d 1.1
	"$CPUCLOCK" stat -p "$pid" -i 1.1 -c 1 --json | python3 -c '
import json, sys
data = json.load(sys.stdin)
assert data["scans"]["count"] >= 3 or not data["source"]["knows_exits"]
assert data["wall_ns"] > 1.05e9, data'
}

@test "ends that were lost are told of once" {
	local source
	for source in $SOURCES; do
		python3 - "$CPUCLOCK" "$load" "$source" <<'EOF'
import json, signal, subprocess, sys
command, load, source = sys.argv[1:]
load = subprocess.Popen([load, "ends", "20000"], text=True,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert load.stdout.readline() == "ready\n"
stat = subprocess.Popen(
    [command, "stat", "-s", source, "-p", str(load.pid), "-i", "0.1", "-c",
     "3", "--json"], text=True, stdout=subprocess.PIPE)
try:
    assert stat.stdout.readline()
    if source != "proc":
        stat.send_signal(signal.SIGSTOP)
        print(file=load.stdin, flush=True)
        assert load.stdout.readline() == "done\n"
        stat.send_signal(signal.SIGCONT)
    lost = [json.loads(line)["source"]["lost_exits"] for line in stat.stdout]
    assert lost[-1] == 0 and (lost[0] > 0 or source == "proc"), lost
finally:
    load.kill()
    stat.kill()
EOF
	done
}

@test "Ctrl-C ends and prints, other signals too" {
	begin spin busy
	local signal
	for signal in INT:0 TERM:143 HUP:129; do
		# An ignored signal stays ignored, as SIGINT of background jobs
		# and SIGHUP of nohup.
		python3 - "$CPUCLOCK" "$pid" "${signal%:*}" "${signal#*:}" <<'EOF'
import signal, subprocess, sys, time
command, pid, name, code = sys.argv[1:]
for options in (["--wait"], ["-i", "20"], ["-d", "20"]):
    child = subprocess.Popen(
        [command, "stat", "-p", pid] + options, stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(getattr(signal, "SIG" + name), signal.SIG_DFL))
    # Until it watches for signals, and has begun.
    blocked = 0
    while not blocked >> (signal.SIGTERM - 1) & 1:
        time.sleep(0.1)
        with open(f"/proc/{child.pid}/status") as status:
            blocked = next(int(line.split()[1], 16) for line in status
                           if line.startswith("SigBlk"))
    time.sleep(0.1)
    child.send_signal(getattr(signal, "SIG" + name))
    text = child.communicate()[0].decode()
    assert child.returncode == int(code), child.returncode
    assert "busy" in text and "own cost" in text, text
EOF
	done
}

@test "signals that it was started to ignore do not end it" {
	begin sleep 1
	python3 - "$CPUCLOCK" "$pid" <<'EOF'
import signal, subprocess, sys
command, pid = sys.argv[1:]
names = signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1
child = subprocess.Popen(
    [command, "stat", "-p", pid, "-i", "0.1", "-c", "5", "--json"],
    stdout=subprocess.PIPE, text=True,
    preexec_fn=lambda: [signal.signal(name, signal.SIG_IGN) for name in names])
# It watches for signals from before the first report on.
first = child.stdout.readline()
for name in names:
    child.send_signal(name)
rest = child.communicate()[0].splitlines()
assert child.returncode == 0, child.returncode
assert first and len(rest) == 4, rest
EOF
}

@test "2,000 threads are accounted, in the order of milliseconds each" {
	begin sleep 2000
	check "
assert len(rows) == 2001
assert data['scans']['count'] >= 2
assert data['scans']['median_duration_ns'] < 1e9
" -p "$pid" -d 0.1
}

# ---- A command

@test "its exit status is passed on" {
	local source
	for source in $SOURCES; do
		capture "$CPUCLOCK" stat -s "$source" -- sh -c 'exit 42'
		[ "$code" -eq 42 ] || explain "exit status"
		# shellcheck disable=SC2016 # for the inner shell
		capture "$CPUCLOCK" stat -s "$source" sh -c 'kill -TERM $$'
		[ "$code" -eq 143 ] || explain "signal"
		grep -q 'exit status 143' "$err"
	done
	fails 127 "'no-such-command': No such file" \
		"$CPUCLOCK" stat -- no-such-command
	fails 126 "'/': Permission denied" "$CPUCLOCK" stat -- /
}

@test "its output is its own, the report goes to standard error" {
	capture "$CPUCLOCK" stat -- echo hello
	[ "$(cat "$out")" = hello ]
	grep -q "^cpuclock stat: command 'echo'" "$err"
	[ "$(echo input | "$CPUCLOCK" stat -- cat 2>/dev/null)" = input ]
	"$CPUCLOCK" stat --json -- echo hello 2>"$err" >"$out"
	python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$err"
	[ "$(cat "$out")" = hello ]
}

@test "short-lived children and their children are in the sum" {
	check "
command = data['command']
assert same(sum_, command), (sum_, command)
assert command['total_ns'] > 5 * 50e6
assert command['voluntary_switches'] >= 0
" -- sh -c "for i in 1 2 3 4 5 6; do sh -c '\"\$0\" work 0.05 1' '$load'; done
		sleep 0.1"
}

@test "switches that the source does not count are the kernel's" {
	check "
known = any(r['voluntary_switches'] is not None for r in rows)
for key in 'voluntary_switches', 'involuntary_switches':
    assert known or sum_[key] == data['command'][key], sum_
" -- sleep 0.01
}

@test "atop #112: a command of many threads is one process" {
	check "
assert len({r['pid'] for r in rows}) == 1, rows
assert same(sum_, data['command']) and sum_['total_ns'] > 4 * 0.2e9
" -- "$load" work 0.2 4
}

@test "what it leaves behind is waited for, and counted" {
	check "
assert data['wall_ns'] > 0.3e9
assert sum_['total_ns'] > 0.1e9
" -- sh -c "(sleep 0.2; '$load' work 0.1 1 >/dev/null) & exit 0"
}

@test "what nobody waited for is in the sum" {
	check "
assert sum_['total_ns'] > data['command']['total_ns'] + 0.1e9
assert any(r['total_ns'] > 0.1e9 for r in rows)
" -- "$load" unwaited
}

@test "it has the privileges, limits and signals of the caller" {
	local want have
	want=$(grep ^Cap /proc/self/status)
	# shellcheck disable=SC2016 # for the inner shell
	have=$("$CPUCLOCK" stat -- sh -c 'grep ^Cap /proc/self/status' 2>/dev/null)
	[ "$have" = "$want" ]
	[ "$(ulimit -Sn 64 && "$CPUCLOCK" stat -- sh -c 'ulimit -Sn' 2>/dev/null)" \
		= 64 ]
	have=$("$CPUCLOCK" stat -- grep ^SigBlk /proc/self/status 2>/dev/null)
	[ "$have" = "$(grep ^SigBlk /proc/self/status)" ]
	# It is not said to be cpuclock, which is not in the report.
	check "assert not any(r['name'] == 'cpuclock' for r in rows)" -- \
		sleep 0.1
}

@test "privileges are given up once the reader is open" {
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	begin spin busy
	"$CPUCLOCK" stat -p "$pid" --wait >/dev/null 3>&- &
	local stat=$! caps=ffffffff
	for ((i = 0; i < 100; i++)); do
		caps=$(sed -n 's/^CapPrm:\t//p' "/proc/$stat/status")
		# No more than CAP_SYS_PTRACE.
		[ $((16#$caps & ~(1 << 19))) -ne 0 ] || break
		sleep 0.1
	done
	kill "$stat"
	[ $((16#$caps & ~(1 << 19))) -eq 0 ]
}

@test "signals are passed on to it" {
	python3 - "$CPUCLOCK" <<'EOF'
import signal, subprocess, sys
child = subprocess.Popen(
    [sys.argv[1], "stat", "--", "sh", "-c",
     "trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done"],
    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
child.stdout.readline()
child.send_signal(signal.SIGTERM)
text = child.communicate()[1].decode()
assert child.returncode == 7, child.returncode
assert "exit status 7" in text, text
EOF
}

@test "-i reports on a command too, and the last one has its end" {
	capture "$CPUCLOCK" stat -i 0.2 -- "$load" work 0.5 1
	[ "$code" -eq 0 ]
	[ "$(grep -c '^cpuclock stat:' "$err")" -ge 2 ] || explain "reports"
	[ "$(grep -c 'exit status 0' "$err")" -eq 1 ] || explain "ends"
	capture "$CPUCLOCK" stat -i 0.1 -c 1 -- sh -c 'sleep 0.4; exit 3'
	[ "$code" -eq 3 ]
	[ "$(grep -c '^cpuclock stat:' "$err")" -eq 1 ] || explain "more than one"
}

# ---- Where output goes

@test "a full disk and a closed standard output are failures" {
	[ -w /dev/full ] || skip "no /dev/full"
	local option err=$BATS_TEST_TMPDIR/err
	for option in --top=1 --json --csv; do
		code=0
		"$CPUCLOCK" stat -p $$ -d 0.01 "$option" >/dev/full 2>"$err" ||
			code=$?
		[ "$code" -eq 1 ]
		grep -q 'cannot write to standard output: No space left' "$err"
	done
	code=0
	timeout 10 "$CPUCLOCK" stat -p $$ -i 0.05 >/dev/full 2>"$err" || code=$?
	[ "$code" -eq 1 ]
	code=0
	"$CPUCLOCK" stat -p $$ -d 0.01 >&- 2>"$err" || code=$?
	[ "$code" -eq 1 ]
	fails 1 'No space left' "$CPUCLOCK" stat -p $$ -d 0.01 --json=/dev/full
}

@test "a reader that goes away ends it" {
	local code=0 err=$BATS_TEST_TMPDIR/err
	# shellcheck disable=SC2016 # for the inner shell
	timeout 10 bash -c '"$1" stat -p $$ -i 0.05 2>"$2" | head -n 1 >/dev/null
		exit "${PIPESTATUS[0]}"' bash "$CPUCLOCK" "$err" || code=$?
	[ "$code" -eq 1 ]
	grep -q 'Broken pipe' "$err"
}

@test "a file appears whole" {
	begin sleep 1
	local file=$BATS_TEST_TMPDIR/report
	"$CPUCLOCK" stat -p "$pid" -d 0.01 --json="$file"
	python3 -m json.tool "$file" >/dev/null
	fails 1 'cannot write' "$CPUCLOCK" stat -p "$pid" --json=/no/such/file
	fails 1 'does not exist' "$CPUCLOCK" stat -p 4194304 --json="$file"
	python3 -m json.tool "$file" >/dev/null
}
