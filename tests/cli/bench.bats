#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The benchmark: what it measures, in every format. Figures are not judged.

# shellcheck disable=SC2154 # capture sets code, out and err
load common

jmh() {
	python3 "$BATS_TEST_DIRNAME/check_jmh.py" "$@"
}

setup_file() {
	local rows
	rows=$("$CPUCLOCK" bench --list floor self.total | wc -l)
	# The rows of quick_bench, by 2 modes and 2 thread counts.
	export ROWS=$rows CELLS=$((rows * 4))
}

@test "--list names floors and every source, kind and target that works" {
	"$CPUCLOCK" bench --list >"$BATS_TEST_TMPDIR/list"
	"$CPUCLOCK" info --json >"$BATS_TEST_TMPDIR/info"
	python3 - "$BATS_TEST_TMPDIR/list" "$BATS_TEST_TMPDIR/info" <<'PYTHON'
import json, sys
listed = open(sys.argv[1]).read().split()
wanted = {f"cpuclock.floor.{name}" for name in ("cycles", "vdso", "syscall")}
for source in json.load(open(sys.argv[2]))["sources"]:
    names = [source["name"]] + ["proc-stdio"] * (source["name"] == "proc")
    if source["available"]:
        wanted |= {f"cpuclock.{target}.{kind}.{name}"
                   for target in source["targets"] if target != "foreign"
                   for kind in source["kinds"] for name in names}
assert len(set(listed)) == len(listed), "a name is there twice"
assert set(listed) >= wanted, wanted - set(listed)
# What is more is of no kind of the table, such as spans.
more = {name.split(".")[2] for name in set(listed) - wanted}
assert not more & {"total", "user", "system", "ticks"}, set(listed) - wanted
PYTHON
}

@test "a pattern selects by a part of the name or by a wildcard" {
	prints '^cpuclock\.floor\.' "$CPUCLOCK" bench --list floor
	[ "$(wc -l <"$out")" -eq 3 ]
	prints '^cpuclock\.self\.user\.proc$' \
		"$CPUCLOCK" bench --list 'cpuclock.self.user.*'
	lacks '^cpuclock\.(floor|thread|process|self\.[^u])' "$out"
	prints 'total' "$CPUCLOCK" bench --list '*.total.posix' floor.vdso
	[ "$(wc -l <"$out")" -eq 4 ]
	prints '.' "$CPUCLOCK" bench --list --quick
	lacks '^cpuclock\.(thread|process)' "$out"
}

@test "a pattern that selects nothing is a usage error that names it" {
	fails 2 "'nosuch'" "$CPUCLOCK" bench nosuch
	fails 2 "'nosuch'" "$CPUCLOCK" bench floor nosuch
	fails 2 "'floor\*'" "$CPUCLOCK" bench --list 'floor*'
}

@test "a value out of range is a usage error that names value and option" {
	local value
	for value in 0 -1 x '' 1.5 99999999999999999999; do
		fails 2 "'$value'.*--forks" "$CPUCLOCK" bench --forks "$value"
		fails 2 "'$value'.*--iterations" \
			"$CPUCLOCK" bench --iterations "$value"
		fails 2 "'$value'.*--threads" "$CPUCLOCK" bench -t "$value"
	done
	for value in 0 5 ms 1m -1ms x '' 0ms 1000h nan; do
		fails 2 "'$value'.*--time" "$CPUCLOCK" bench --time "$value"
	done
	for value in 1,1 '1,' ,1 1,,2 0,1 1,x; do
		fails 2 "'$value'.*--threads" "$CPUCLOCK" bench --threads "$value"
	done
	fails 2 "'-1'.*--warmup" "$CPUCLOCK" bench --warmup -1
	fails 2 "'fast'.*--mode" "$CPUCLOCK" bench --mode fast
	fails 2 "json=FILE" "$CPUCLOCK" bench --json --csv floor
	fails 2 "sample" "$CPUCLOCK" bench --hgrm --mode avgt floor
}

@test "the table: every row, thread counts side by side, percentiles, floors" {
	local name
	prints '^Linux ' quick_bench
	grep -q 'Timer: .* ns a read, steps of .* not subtracted' "$out"
	grep -qE '1 thr.*2 thr.*/proc +/syscall' "$out"
	grep -qE 'p0\.00 +p0\.50 +p0\.90 +p0\.95 +p0\.99 +p0\.999 +p0\.9999 +p1\.00 +mean' "$out"
	for name in floor.cycles floor.vdso floor.syscall self.total.self \
		self.total.posix self.total.rusage self.total.schedstat \
		self.total.proc self.total.proc-stdio; do
		# once in avgt, twice in sample, once in the kernel's work
		[ "$(grep -cE "^$name +[0-9]" "$out")" -ge 3 ] ||
			explain "$name is missing"
	done
	lacks 'nan|inf([^o]|$)|-[0-9]+\.' "$out"
}

@test "the table: what the kernel does for a call, or why that is not known" {
	capture quick_bench
	grep -qE '^floor.syscall +1 ' "$out" || explain "no count"
	grep -qE '^self.total.rusage +2 ' "$out" || explain "no count"
	if grep -q '^Not measured' "$out"; then
		grep -qE '^Not measured.*: .{9,}' "$out" || explain "no reason"
	else
		grep -qE '^floor.syscall +1 +0 +0$' "$out"
		grep -qE '^self.total.self +1 +0 +0$' "$out"
		grep -qE '^self.total.proc +3 +[1-9][0-9]* +[1-9]' "$out"
		grep -qE '^self.total.proc-stdio +[4-6] +[1-9]' "$out"
	fi
}

@test "--mode selects" {
	prints 'p0\.50' quick_bench --mode sample
	lacks avgt "$out"
	prints 'avgt' quick_bench --mode avgt
	lacks 'p0\.50' "$out"
}

@test "--json is JMH's" {
	quick_bench --json >"$BATS_TEST_TMPDIR/x.json"
	jmh "$BATS_TEST_TMPDIR/x.json" --forks 1 --iterations 2 --threads 1,2 \
		--count "$CELLS"
}

@test "--forks: the raw data of each is kept" {
	quick_bench --forks 2 --iterations 3 --json >"$BATS_TEST_TMPDIR/x.json"
	jmh "$BATS_TEST_TMPDIR/x.json" --forks 2 --iterations 3 --count "$CELLS"
}

@test "one iteration and no warm-up: no error can be given, all else holds" {
	quick_bench --iterations 1 --warmup 0 --json >"$BATS_TEST_TMPDIR/x.json"
	jmh "$BATS_TEST_TMPDIR/x.json" --iterations 1 --count "$CELLS"
	grep -q '"scoreError": "NaN"' "$BATS_TEST_TMPDIR/x.json"
}

@test "16 threads read their own clocks, and all read one target" {
	"$CPUCLOCK" bench --time 1ms --iterations 2 --threads 16 --json \
		self.total.self thread.total.posix process.total.posix \
		>"$BATS_TEST_TMPDIR/x.json"
	jmh "$BATS_TEST_TMPDIR/x.json" --threads 16 --count 6
}

@test "--csv: one line a row, numbers in its columns" {
	quick_bench --csv >"$BATS_TEST_TMPDIR/x.csv"
	python3 - "$BATS_TEST_TMPDIR/x.csv" "$CELLS" <<'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline=""), strict=True))
assert len(rows) == int(sys.argv[2]), len(rows)
for row in rows:
    assert None not in row and None not in row.values(), "ragged"
    assert row["benchmark"].startswith("cpuclock.")
    assert row["mode"] in ("avgt", "sample") and row["threads"] in "12"
    for name, text in row.items():
        if name not in ("benchmark", "mode") and text:
            assert float(text) >= 0, (name, text)
    assert int(row["calls"]) > 0 and float(row["score_ns"]) > 0
    percentiles = [float(text) for name, text in row.items()
                   if name.startswith("p0") or name.startswith("p1") if text]
    assert len(percentiles) == (8 if row["mode"] == "sample" else 0)
    assert percentiles == sorted(percentiles), percentiles
    if row["benchmark"] == "cpuclock.floor.syscall":
        assert float(row["ratio_to_syscall"]) == 1
    if row["benchmark"] == "cpuclock.self.total.proc":
        assert float(row["ratio_to_proc"]) == 1
PYTHON
}

@test "--hgrm: HdrHistogram's format, a block for each row" {
	quick_bench --hgrm >"$BATS_TEST_TMPDIR/x.hgrm"
	python3 - "$BATS_TEST_TMPDIR/x.hgrm" $((ROWS * 2)) <<'PYTHON'
import re, sys
text = open(sys.argv[1]).read()
HEADER = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
blocks = text.split(HEADER)
assert len(blocks) == int(sys.argv[2]) + 1, len(blocks)
line = re.compile(r" *\d+\.\d{3} \d\.\d{12} +\d+ +(\d+\.\d\d|inf)$")
for block in blocks[1:]:
    lines = block.splitlines()
    body = [text for text in lines if not text.startswith("#")]
    assert all(line.match(text) for text in body), body
    values, shares, counts = zip(*(map(float, t.split()[:3]) for t in body))
    for column in values, shares, counts:
        assert list(column) == sorted(column), column
    assert shares[-1] == 1 and shares.count(1) == 1
    assert body[-1].endswith(" inf")
    footer = "\n".join(text for text in lines if text.startswith("#["))
    assert re.search(r"#\[Mean +=", footer) and "#[Buckets" in footer
    assert float(re.search(r"#\[Max +=\s*([\d.]+)", footer)[1]) == values[-1]
    total = int(re.search(r"Total count +=\s*(\d+)", footer)[1])
    assert total == counts[-1], (total, counts[-1])
PYTHON
}

@test "--html: one page without outside resources, its data is JSON" {
	quick_bench --html="$BATS_TEST_TMPDIR/x.html" >/dev/null
	python3 - "$BATS_TEST_TMPDIR/x.html" "$CELLS" <<'PYTHON'
import html.parser, json, re, sys

class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.data, self.kind, self.links, self.text = [], "", [], ""
    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.kind = ""
        if tag == "script":
            self.kind = attributes.get("type", "text/javascript")
            if self.kind == "application/json":
                self.data.append("")
        self.links += [attributes[name] for name in ("src", "href", "action")
                       if name in attributes]
    def handle_endtag(self, tag):
        self.kind = ""
    def handle_data(self, text):
        if self.kind == "application/json":
            self.data[-1] += text
        else:
            self.text += text

text = open(sys.argv[1], encoding="utf-8").read()
assert text.lstrip().lower().startswith("<!doctype html>")
page = Page()
page.feed(text)
assert len(page.data) == 1, f"{len(page.data)} blocks of data"
data = json.loads(page.data[0])
named = json.dumps(data).count("self.total.proc-stdio")
assert named > 0, "the data has no rows"
assert all(link.startswith(("#", "data:")) for link in page.links), page.links
assert not re.search(r"@import|url\(|fetch\(|XMLHttp|import\(", page.text)
assert "prefers-color-scheme" in page.text or "color-scheme" in page.text
PYTHON
}

@test "files in every format, and the table beside them" {
	cd "$BATS_TEST_TMPDIR"
	prints '^self.total.self' quick_bench --json=x.json --csv=x.csv \
		--hgrm=x.hgrm --html=x.html
	jmh x.json --count "$CELLS"
	[ "$(wc -l <x.csv)" -eq $((CELLS + 1)) ]
	grep -q '^#\[Max' x.hgrm
	grep -qi '</html>' x.html
	[ "$(find . -type f ! -name out ! -name err | wc -l)" -eq 4 ]
}

@test "a file's mode follows the umask" {
	cd "$BATS_TEST_TMPDIR"
	(umask 027 && quick_bench --csv=new.csv >/dev/null)
	[ "$(stat -c %a new.csv)" = 640 ]
}

@test "an existing file is replaced, and keeps its mode" {
	cd "$BATS_TEST_TMPDIR"
	echo old >x.csv
	chmod 600 x.csv
	quick_bench --csv=x.csv >/dev/null
	grep -q '^benchmark,mode' x.csv
	lacks old x.csv
	[ "$(stat -c %a x.csv)" = 600 ]
}

@test "a symbolic link is followed, not replaced" {
	cd "$BATS_TEST_TMPDIR"
	echo old >target.csv
	ln -s target.csv link.csv
	quick_bench --csv=link.csv >/dev/null
	[ -L link.csv ]
	grep -q '^benchmark,mode' target.csv
}

@test "standard input closed: a file gets what it is to get" {
	cd "$BATS_TEST_TMPDIR"
	quick_bench --json=x.json <&- >table
	jmh x.json --count "$CELLS"
	grep -q '^self.total.self' table
}

# ---- The baseline

has_baseline() {
	capture "$CPUCLOCK" bench --baseline=/nowhere/x floor
	! grep -q 'without jansson' "$err" || skip "built without jansson"
}

# Medians of samples: an iteration that was disturbed does not move them. Forks
# are what is compared.
baseline_bench() {
	"$CPUCLOCK" bench --mode sample --threads 1 --time 2ms --forks 5 \
		--iterations 3 "$@" floor
}

# scale FACTOR <FILE: the same report, with every time multiplied
scale() {
	python3 -c '
import json, sys
factor = float(sys.argv[1])
report = json.load(sys.stdin)
for benchmark in report:
    metric = benchmark["primaryMetric"]
    for key in metric["scorePercentiles"]:
        metric["scorePercentiles"][key] *= factor
    metric["score"] *= factor
    metric["rawDataHistogram"] = [[[[value * factor, n] for value, n in bins]
        for bins in fork] for fork in metric["rawDataHistogram"]]
json.dump(report, sys.stdout)' "$1"
}

@test "--baseline: the change of each row, with its significance" {
	has_baseline
	cd "$BATS_TEST_TMPDIR"
	baseline_bench --json=x.json >/dev/null
	capture baseline_bench --baseline=x.json
	[ "$code" -eq 0 ]
	sed -n '/baseline/,$p' "$out" >change
	grep -q 'baseline ns *now ns *change' change
	[ "$(grep -cE '^floor\..* [-+][0-9.]+%' change)" -eq 3 ]
}

@test "--baseline: five times as slow as before is SLOWER, in every row" {
	has_baseline
	cd "$BATS_TEST_TMPDIR"
	baseline_bench --json=x.json >/dev/null
	scale 0.2 <x.json >doctored.json
	capture baseline_bench --baseline=doctored.json
	[ "$(grep -cE '^floor\..* \+[0-9.]+%.*SLOWER' "$out")" -eq 3 ] ||
		explain "not every row is SLOWER"
	scale 5 <x.json >doctored.json
	capture baseline_bench --baseline=doctored.json
	[ "$(grep -cE '^floor\..* -[0-9.]+%.*faster' "$out")" -eq 3 ] ||
		explain "not every row is faster"
}

@test "--baseline: a JMH report of something else compares nothing, and says so" {
	has_baseline
	cd "$BATS_TEST_TMPDIR"
	echo '[]' >empty.json
	capture baseline_bench --baseline=empty.json
	grep -qiE 'no (row|benchmark)|nothing|none' "$out" "$err" ||
		explain "an empty table is no answer"
}

@test "--baseline: no file, no JSON, no report: exit 1 before any work" {
	local bad n=0
	has_baseline
	cd "$BATS_TEST_TMPDIR"
	fails 1 '/nowhere/x.*No such file' "$CPUCLOCK" bench --baseline=/nowhere/x
	for bad in '' '{' '{}' '[' 'null' '3' 'benchmark,mode' '[{}' '"x"' \
		$'\xff\xfe' '[1,2'; do
		n=$((n + 1))
		printf '%s' "$bad" >bad$n
		fails 1 "bad$n" "$CPUCLOCK" bench --baseline=bad$n floor
	done
	fails 1 '/' "$CPUCLOCK" bench --baseline=/ floor
}

@test "--baseline: odd values inside of a report do not crash it" {
	local odd
	has_baseline
	cd "$BATS_TEST_TMPDIR"
	for odd in '[1]' '[null]' '[{}]' '[{"benchmark":3,"mode":[],"threads":"x"}]' \
		'[{"benchmark":"cpuclock.floor.cycles","mode":"sample","threads":1}]' \
		'[{"benchmark":"cpuclock.floor.cycles","mode":"sample","threads":1,"primaryMetric":{"rawDataHistogram":[[[[1]]]]}}]' \
		'[{"benchmark":"cpuclock.floor.cycles","mode":"sample","threads":1,"primaryMetric":{"rawDataHistogram":[[[]],3]}}]' \
		'[{"benchmark":"cpuclock.floor.cycles","mode":"sample","threads":1,"primaryMetric":{"rawData":[["NaN",1e308,1e308]]}}]'; do
		echo "$odd" >odd.json
		capture "$CPUCLOCK" bench --mode sample --threads 1 --time 1ms \
			--iterations 2 --baseline=odd.json floor.cycles
		[ "$code" -le 1 ] || explain "$odd: exit code $code"
		lacks '[^a-z](nan|inf)[^a-z]' "$out"
	done
}

# ---- Interrupted

# timeout signals the whole group, as a terminal does; --foreground the one.

@test "Ctrl-C prints what was measured so far and exits 130" {
	cd "$BATS_TEST_TMPDIR"
	capture timeout -s INT --preserve-status 1.5 "$CPUCLOCK" bench \
		--time 10ms --threads 1,2,3,4 --json=x.json --csv=x.csv
	[ "$code" -eq 130 ] || explain "exit code is not 130"
	grep -qE '^floor.cycles +[0-9]' "$out" || explain "nothing was printed"
	jmh x.json --interrupted
	grep -q '^cpuclock.floor.cycles,avgt,1,' x.csv
	lacks '^cpuclock.process.ticks' x.csv
	[ "$(find . -type f ! -name out ! -name err | wc -l)" -eq 2 ]
}

@test "SIGINT to the command alone ends its child at once, too" {
	cd "$BATS_TEST_TMPDIR"
	SECONDS=0
	capture timeout -s INT --foreground --preserve-status 1 "$CPUCLOCK" \
		bench --time 30s --threads 1 --mode avgt --json=x.json floor
	[ "$code" -eq 130 ] || explain "exit code is not 130"
	[ "$SECONDS" -le 10 ]
	jmh x.json --interrupted
}

@test "Ctrl-C at once: exit 130, and no temporary file is left" {
	local seconds
	cd "$BATS_TEST_TMPDIR"
	for seconds in 0.005 0.02 0.05 0.1 0.15 0.2; do
		capture timeout -s INT --preserve-status $seconds "$CPUCLOCK" \
			bench --time 100ms --threads 1 --json=x.json total
		[ "$code" -eq 130 ] || explain "exit code is not 130"
		if [ -e x.json ]; then
			jmh x.json --interrupted
		fi
		rm -f x.json
		[ -z "$(find . -name 'x.json*')" ] || explain "$(ls)"
	done
}

@test "interrupted, an existing file is either whole or as it was" {
	cd "$BATS_TEST_TMPDIR"
	echo '[]' >x.json
	capture timeout -s INT --preserve-status 0.6 "$CPUCLOCK" bench \
		--time 10ms --json=x.json
	[ "$code" -eq 130 ] || explain "exit code is not 130"
	jmh x.json --interrupted
}

# The state of a process, if it still is one.
is_running() {
	local state
	state=$(sed -n 's/^State:\t//p' "/proc/$1/status" 2>/dev/null) || true
	[[ -n $state && $state != Z* && $state != X* ]]
}

@test "the child does not outlive a killed parent" {
	local pid child=
	needs ps
	"$CPUCLOCK" bench --time 30s --threads 1 --mode avgt floor.cycles \
		>/dev/null 2>&1 3>&- &
	pid=$!
	# The child that measures, not the first one, which looks around.
	for _ in {1..100}; do
		sleep 0.1
		child=$(ps -o pid=,cputimes= --ppid $pid | awk '$2 >= 1 { print $1 }')
		[ -z "$child" ] || break
	done
	[ -n "$child" ]
	kill -KILL $pid
	wait $pid || true
	for _ in {1..40}; do
		is_running "$child" || break
		sleep 0.05
	done
	if is_running "$child"; then
		kill -KILL "$child"
		echo "$child still ran"
		false
	fi
}

# ---- Progress

@test "progress is shown on a terminal, and wiped away" {
	needs script
	script -qec "'$CPUCLOCK' bench --time 1ms --iterations 2 --threads 1 floor >/dev/null" \
		/dev/null >"$BATS_TEST_TMPDIR/terminal" </dev/null
	grep -qF '[1/6]' "$BATS_TEST_TMPDIR/terminal"
	grep -qF '[6/6]' "$BATS_TEST_TMPDIR/terminal"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/terminal")" -eq 0 ]
	[ "$(tail -c 4 "$BATS_TEST_TMPDIR/terminal")" = $'\r\e[K' ]
}

@test "no progress where standard error is no terminal" {
	capture quick_bench
	[ "$code" -eq 0 ]
	[ ! -s "$err" ] || explain "standard error is not empty"
}

@test "no progress on a terminal if standard error is elsewhere" {
	needs script
	script -qec "'$CPUCLOCK' bench --time 1ms --iterations 2 --threads 1 floor 2>$BATS_TEST_TMPDIR/err" \
		/dev/null >"$BATS_TEST_TMPDIR/terminal" </dev/null
	[ ! -s "$BATS_TEST_TMPDIR/err" ]
	run ! grep -F '[1/6]' "$BATS_TEST_TMPDIR/terminal"
}

# ---- Files that cannot be written

@test "an output that cannot be opened: exit 1, one line, before any work" {
	local format
	cd "$BATS_TEST_TMPDIR"
	mkdir directory
	for format in json csv hgrm html; do
		fails 1 "/nowhere/x: No such file" \
			quick_bench "--$format=/nowhere/x"
		fails 1 "directory: Is a directory" \
			quick_bench "--$format=directory"
	done
	# The file that could be opened is not left behind.
	fails 1 "/nowhere/x" quick_bench --json=good.json --csv=/nowhere/x
	[ -z "$(find . -name 'good*')" ]
}

@test "a file without a name is refused before any work" {
	capture quick_bench --json=
	[ "$code" -ne 0 ]
	[ ! -s "$out" ] || explain "it has worked for nothing"
}

@test "a directory or file without permission: exit 1, one line, untouched" {
	local prefix=()
	cd "$BATS_TEST_TMPDIR"
	mkdir closed
	echo old >closed/x.json
	chmod 444 closed/x.json
	chmod 555 closed
	if [ "$(id -u)" -eq 0 ]; then
		# Without CAP_DAC_OVERRIDE root is bound by modes too.
		needs setpriv
		prefix=(setpriv --bounding-set=-all --inh-caps=-all)
		"${prefix[@]}" true || skip "setpriv cannot drop capabilities"
	fi
	fails 1 'closed/x.json: Permission denied' "${prefix[@]}" "$CPUCLOCK" \
		bench --time 1ms --iterations 2 --json=closed/x.json floor
	fails 1 'closed/new.json: Permission denied' "${prefix[@]}" "$CPUCLOCK" \
		bench --time 1ms --iterations 2 --json=closed/new.json floor
	[ "$(cat closed/x.json)" = old ]
	[ "$(ls -A closed)" = x.json ]
	chmod 755 closed
}

@test "a device that is full: exit 1 and one line, beside the table" {
	local format
	for format in json csv hgrm html; do
		capture quick_bench "--$format=/dev/full"
		[ "$code" -eq 1 ] || explain "$format: exit code is not 1"
		grep -q '^self.total.self' "$out" || explain "no table"
		one_line '/dev/full: No space left on device'
	done
	[ -c /dev/full ]
}

# full_filesystem FORMAT FILL: writes over the file x in a file system of
# 64 KiB, private to this test, of which dd has taken FILL times 4 KiB; prints
# what x then holds, and the names of all files.
full_filesystem() {
	local namespace=-m
	needs unshare
	# A user's own namespace allows it, where users may have one.
	unshare -m true 2>/dev/null || namespace=-rm
	unshare $namespace mount -t tmpfs none "$BATS_FILE_TMPDIR" 2>/dev/null ||
		skip "this user may not mount a file system"
	unshare $namespace bash -e -s - "$BATS_FILE_TMPDIR" "$@" <<-'SCRIPT'
		mount -t tmpfs -o size=64k none "$1"
		cd "$1"
		echo old >x
		dd if=/dev/zero of=filler bs=4k count="$3" 2>/dev/null
		code=0
		"$CPUCLOCK" bench --time 1ms --iterations 2 --threads 1,2 \
			"--$2=x" floor self.total >/dev/null || code=$?
		cat x
		ls -A
		exit $code
	SCRIPT
}

untouched() {
	[ "$code" -eq 1 ] || explain "exit code is not 1"
	[ "$(cat "$out")" = $'old\nfiller\nx' ] || explain "not as it was"
	one_line 'x: No space left on device'
}

@test "a file system that fills up: exit 1, one line, the old file untouched" {
	local format
	for format in json csv hgrm html; do
		capture full_filesystem $format 14
		untouched
	done
}

@test "a file system that fills up late: the same" {
	capture full_filesystem json 2
	untouched
}

@test "a file system that is full from the start: the same" {
	capture full_filesystem json 15
	untouched
}
