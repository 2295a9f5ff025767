#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The flame graph: what it reads, what it writes, and that no name breaks it.
# Numbers such as FlameGraph #214 are reports of other tools' users.

# shellcheck disable=SC2154 # capture sets code, out and err
load common

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

# draw TEXT [ARG...]: writes it as every kind of file, p.ENDING
draw() {
	local ending
	printf '%b' "$1" >in.folded
	shift
	for ending in html svg folded json; do
		capture "$CPUCLOCK" flame "$@" --from in.folded -o "p.$ending"
		[ "$code" -eq 0 ] || explain "$ending is not written"
		[ ! -s "$err" ] || explain "$ending: standard error is not empty"
	done
}

# check FILE...: the files' parsers accept them, and find the names that follow
# in the variable NAMES, one a line
check() {
	python3 "$BATS_TEST_DIRNAME/check_flame.py" "$@"
}

# The names of frames in a file, a line each.
names() {
	python3 "$BATS_TEST_DIRNAME/check_flame.py" --names "$1"
}

# Runs a page, and prints what became of it. Whether chromium works is tried.
in_browser() {
	needs chromium
	# shellcheck disable=SC2046 # root cannot have its sandbox
	timeout 120 chromium --headless --disable-gpu \
		$([ "$(id -u)" -ne 0 ] || echo --no-sandbox) \
		--user-data-dir="$BATS_TEST_TMPDIR/chromium" \
		--dump-dom "$1" 2>browser.err >browser.out ||
		skip "chromium does not run here"
}

# ---- Reading and writing

@test "folded stacks are written as they were read" {
	printf '%s\n' 'app 3' 'app;f 1' 'app;f;g_[i] 4' 'app;f;read_[k] 2' \
		'app;run;Main::go_[j] 7' 'my app;[unknown];operator new(x) 1' \
		>in.folded
	"$CPUCLOCK" flame --from in.folded -o out.folded
	diff in.folded out.folded
	"$CPUCLOCK" flame --from - -o again.folded <out.folded
	cmp out.folded again.folded
}

@test "every kind of file is well-formed and holds every frame" {
	draw 'app;main;f 3\napp;main;g_[k] 2\n'
	check p.html p.svg p.json p.folded
	for file in p.html p.svg p.json; do
		[ "$(names $file | grep -cxE 'all|app|main|f|g')" -ge 4 ]
	done
}

@test "speedscope's file has frames, samples and weights that fit together" {
	draw 'app;main;f 3\napp;main 2\n'
	python3 - <<'PYTHON'
import json
d = json.load(open("p.json"))
assert d["$schema"] == "https://www.speedscope.app/file-format-schema.json"
frames = [f["name"] for f in d["shared"]["frames"]]
(p,) = d["profiles"]
assert p["type"] == "sampled" and p["unit"] in ("none", "nanoseconds")
assert p["name"] and p["startValue"] == 0 and p["endValue"] == 5
stacks = {tuple(frames[i] for i in s): w
          for s, w in zip(p["samples"], p["weights"], strict=True)}
assert stacks == {("app", "main", "f"): 3, ("app", "main"): 2}, stacks
assert all(isinstance(w, int) for w in p["weights"])
PYTHON
}

@test "pprof's file decodes to the stacks that were read" {
	printf 'x 1 1.1: 1000000 cpu-clock: \n\t 2 f (/x)\n\t 1 main (/x)\n\n' >in.script
	capture "$CPUCLOCK" flame --from in.script -o p.pb.gz
	if grep -q 'has no zlib' "$err"; then
		skip "this build has no zlib"
	fi
	[ "$code" -eq 0 ]
	python3 "$BATS_TEST_DIRNAME/check_pprof.py" p.pb.gz >decoded
	diff - decoded <<-'END'
		samples/count cpu/nanoseconds
		f main x: 1 1000000
	END
}

@test "perf script's output is drawn with what a sample stands for" {
	printf 'my app 1/2 [000] 1.1: 1001001 cpu-clock:ppp: \n\t ffffffff81000000 sys+0x1 ([kernel.kallsyms])\n\t 1 main+0x1 (/x)\n\n' >in.script
	prints '1 ms of CPU time in 1 sample' "$CPUCLOCK" flame --from in.script
	grep -qE 'my app > main > sys' "$out"
}

@test "a file that exists is left as it was when the work fails" {
	echo precious >p.svg
	echo 'no stack' >in.folded
	fails 1 'no line is a folded stack' "$CPUCLOCK" flame --from in.folded -o p.svg
	[ "$(cat p.svg)" = precious ]
	[ "$(ls)" = "$(printf '%s\n' err in.folded out p.svg)" ]
}

# ---- Options

@test "what is wrong with the options is said" {
	echo 'a 1' >in.folded
	fails 2 'what\?' "$CPUCLOCK" flame
	fails 2 'only one of' "$CPUCLOCK" flame -p 1 --from in.folded
	fails 2 'only one of' "$CPUCLOCK" flame -a true
	fails 2 "'0' is no PID" "$CPUCLOCK" flame -p 0
	fails 2 "'x' is no TID" "$CPUCLOCK" flame -t 12,x
	fails 2 "'0' is not a number" "$CPUCLOCK" flame -a -F 0
	fails 2 "'nan' is no time" "$CPUCLOCK" flame -a -d nan
	fails 2 'leave nothing' "$CPUCLOCK" flame -a --user --kernel
	fails 2 'ends in none of' "$CPUCLOCK" flame --from in.folded -o x.png
	fails 2 'two files' "$CPUCLOCK" flame --diff in.folded
	fails 2 'cannot hold a difference' \
		"$CPUCLOCK" flame --diff in.folded in.folded -o x.json
	fails 1 'nosuch.*No such file' "$CPUCLOCK" flame --from nosuch
	fails 1 'do not name threads' "$CPUCLOCK" flame --threads --from in.folded
	fails 1 'nosuch/x.svg' "$CPUCLOCK" flame --from in.folded -o nosuch/x.svg
}

@test "perf's own file is known, and perf script named" {
	printf 'PERFILE2 and more' >perf.data
	fails 1 'perf script -i perf.data' "$CPUCLOCK" flame --from perf.data
}

@test "--user and --kernel go by where a sample was taken" {
	printf 'a;f 3\na;f;read_[k] 2\n' >in.folded
	prints 'Sampled +3 samples' "$CPUCLOCK" flame --user --from in.folded
	prints 'Sampled +2 samples' "$CPUCLOCK" flame --kernel --from in.folded
}

@test "--threads makes a root of each thread" {
	printf 'x 1/2 1.1: 1 c: \n\t 1 f (/x)\n\nx 1/3 1.1: 1 c: \n\t 1 f (/x)\n\n' >in.script
	"$CPUCLOCK" flame --threads --from in.script -o out.folded
	diff - out.folded <<-'END'
		x (2);f 1
		x (3);f 1
	END
}

@test "a title can be given" {
	draw 'a;f 1\n' --title 'Tuesday <b>'
	grep -q 'Tuesday &lt;b&gt;' p.svg
	check p.html p.svg p.json
}

@test "the text fits the terminal, and is whole elsewhere" {
	local long
	needs script
	long=$(printf 'name%.0s' {1..60})
	printf 'app;%s;%s;%s 5\n' "$long" "$long" "$long" >in.folded
	prints "$long > $long" "$CPUCLOCK" flame --from in.folded
	script -qec "stty cols 70; '$CPUCLOCK' flame --from in.folded" /dev/null |
		tr -d '\r' >seen
	[ -s seen ]
	python3 -c 'import sys
lines = open("seen", encoding="utf-8").read().splitlines()
assert max(map(len, lines)) <= 70, max(lines, key=len)'
}

# ---- Differences

@test "a difference compares shares, and tells what grew, shrank and went" {
	printf 'a;same 10\na;less 10\na;gone 20\n' >before
	printf 'a;same 100\na;less 20\na;more 280\n' >after
	prints '^ +0\.0% +70\.0% +\+70\.0% +more$' "$CPUCLOCK" flame --diff before after
	grep -qE '^ +50\.0% +0\.0% +-50\.0% +gone$' "$out"
	"$CPUCLOCK" flame --diff before after -o d.folded
	diff - d.folded <<-'END'
		a;gone 200 0
		a;less 100 20
		a;more 0 280
		a;same 100 100
	END
	"$CPUCLOCK" flame --diff before after -o d.svg
	"$CPUCLOCK" flame --diff before after -o d.html
	check d.svg d.html
	grep -qF 'before 0.00 %: +70.00 points' d.svg
	names d.html | grep -qx gone
}

@test "options may follow the files of a difference" {
	echo 'a 1' >f
	"$CPUCLOCK" flame --diff f f -o d.svg --title x
	[ -s d.svg ]
	prints . "$CPUCLOCK" flame --diff - f <f
	fails 2 'only one file' "$CPUCLOCK" flame --diff - -
}

# ---- Odd profiles

@test "an empty profile says why: FlameGraph #299, inferno #226" {
	local ending
	: >in.folded
	prints 'empty: the file is empty' "$CPUCLOCK" flame --from in.folded
	for ending in html svg; do
		"$CPUCLOCK" flame --from in.folded -o "p.$ending"
		grep -q 'empty: the file is empty' "p.$ending"
		check "p.$ending"
	done
	printf 'a;f 1\n' >in.folded
	prints 'empty: no sample was taken in the kernel' \
		"$CPUCLOCK" flame --kernel --from in.folded
	"$CPUCLOCK" flame --kernel --from in.folded -o p.svg
	check p.svg
}

@test "a profile of one frame is drawn" {
	draw 'a 1\n'
	check p.html p.svg p.json
}

@test "a stack of 10,000 frames is drawn: async-profiler #418" {
	python3 -c 'print(";".join(f"f{i}" for i in range(10000)), 5)' >in.folded
	for ending in html svg folded json; do
		"$CPUCLOCK" flame --from in.folded -o "p.$ending"
	done
	check p.html p.svg p.json
	cmp in.folded p.folded
	[ "$(stat -c %s p.html)" -lt 1000000 ]
	prints 'f0 > ' "$CPUCLOCK" flame --from in.folded
}

@test "50,000 stacks make a picture below 1 MB, which says what is not in it" {
	python3 - >in.folded <<'PYTHON'
import random
random.seed(1)
for i in range(50000):
    path = [f"namespace{(i >> k) % 97}::Class<T{k}>::method_{(i >> k) % 997}(int)"
            for k in range(16)]
    print("app;" + ";".join(path[:random.randrange(4, 16)]) + f";leaf{i}", 1 + i % 7)
PYTHON
	for ending in html svg; do
		"$CPUCLOCK" flame --from in.folded -o "p.$ending"
		[ "$(stat -c %s "p.$ending")" -lt 1000000 ]
		check "p.$ending"
		grep -qE '[0-9]+ of [0-9]+ places are shown' "p.$ending"
	done
}

# ---- Any name

# Every byte but those that end a line or a frame, in names of each kind.
every_byte() {
	python3 -c '
import sys
for b in range(1, 256):
    if b in b"\n;":
        continue
    c = bytes([b])
    sys.stdout.buffer.write(b"t" + c + b"t;f" + c + b"x" + c + b";g" + c + b"_[k] 1\n")'
}

@test "every byte in a name: FlameGraph #280, #356, async-profiler #263" {
	every_byte >in.folded
	for ending in html svg folded json; do
		"$CPUCLOCK" flame --from in.folded -o "p.$ending"
	done
	check p.html p.svg p.json p.folded
	# Names that look alike are one from here on.
	"$CPUCLOCK" flame --from p.folded -o again.folded
	"$CPUCLOCK" flame --from again.folded -o third.folded
	cmp again.folded third.folded
	capture "$CPUCLOCK" flame --from in.folded
	[ "$code" -eq 0 ]
	LC_ALL=C lacks $'[\x01-\x08\x0b-\x1f\x7f]' "$out"
}

@test "UTF-8 is cut between characters: huatuo #584" {
	python3 -c 'print("a;" + "\u4e2d" * 100000 + " 1"); print("a;" + "\U0001f600" * 5000 + " 1")' >in.folded
	for ending in html svg folded json; do
		"$CPUCLOCK" flame --from in.folded -o "p.$ending"
	done
	check p.html p.svg p.json p.folded
	[ "$(stat -c %s p.html)" -lt 100000 ]
}

@test "names with brackets are whole: FlameGraph #214, #120, #192" {
	local name='std::function<void (int)>::operator()(int) const'
	printf 'x 1 1.1: 1 c: \n\t 1 %s+0x1f (/opt/my app (x)/bin)\n\n' "$name" >in.script
	"$CPUCLOCK" flame --from in.script -o p.folded
	[ "$(cat p.folded)" = "x;$name 1" ]
}

@test "files and threads with blanks are kept: FlameGraph #262, profiler #4406, #978" {
	printf 'my worker 7 1/2 1.1: 1 c: \n\t 2 [unknown] ([JIT app cache])\n\t 1 f+0x1 (/opt/my app/bin)\n\n' >in.script
	"$CPUCLOCK" flame --from in.script -o p.folded
	[ "$(cat p.folded)" = 'my worker 7;f;[JIT app cache] 1' ]
}

@test "a name that holds a semicolon stays one frame" {
	printf 'a;b 1 1.1: 1 c: \n\t 1 Lfoo/Bar;::baz+0x1 (/tmp/perf-1.map)\n\n' >in.script
	"$CPUCLOCK" flame --from in.script -o p.folded
	[ "$(cat p.folded)" = 'a:b;Lfoo/Bar:::baz_[j] 1' ]
}

@test "a leaf that ends in a number is not taken for a count" {
	printf 'a;part 12 3\n' >in.folded
	"$CPUCLOCK" flame --from in.folded -o p.folded
	[ "$(cat p.folded)" = 'a;part_12 3' ]
}

@test "hidden kernel symbols do not drop the user's part: async-profiler #1044" {
	printf 'x 1 1.1: 1 c: \n\t ffffffff81000000 [unknown] ([unknown])\n\t 1 main+0x1 (/x)\n\n' >in.script
	"$CPUCLOCK" flame --from in.script -o p.folded
	[ "$(cat p.folded)" = 'x;main;[unknown]_[k] 1' ]
}

@test "more than 64 frames are kept: pprof #537" {
	python3 -c 'print(";".join(f"f{i}" for i in range(300)), 5)' >in.folded
	"$CPUCLOCK" flame --from in.folded -o p.json
	[ "$(json profiles.0.samples.0 cat p.json | wc -w)" -eq 300 ]
}

hostile_names() {
	printf '%s\n' \
		'x</script><script>document.title="BAD"</script>' \
		'<img src=x onerror=document.title="BAD">' \
		'"><svg onload=document.title="BAD">' \
		'--><script>document.title="BAD"</script>' \
		']]><script>document.title="BAD"</script>' \
		"';document.title='BAD'" '${document.title="BAD"}' \
		'\u003cscript\u003edocument.title="BAD"' '<!--<script>' '&lt;b&gt;' |
		sed 's/;/:/g; s/.*/t &:f\&;& 1/'
}

@test "a name is never a tag: cpython #153840, devel-nytprof #39, #92" {
	hostile_names >in.folded
	for ending in html svg folded json; do
		"$CPUCLOCK" flame --title '</title><script>document.title="BAD"</script>' \
			--from in.folded -o "p.$ending"
	done
	check p.html p.svg p.json p.folded
	# The page's own scripts, and no more.
	[ "$(grep -o '<script' p.html | wc -l)" -eq 2 ]
	[ "$(grep -o '</script' p.html | wc -l)" -eq 2 ]
	[ "$(grep -o '<script' p.svg | wc -l)" -eq 1 ]
	[ "$(grep -o ']]>' p.svg | wc -l)" -eq 1 ]
	names p.html | grep -qF '<img src=x onerror=document.title="BAD">'
	names p.svg | grep -qF '<img src=x onerror=document.title="BAD">'
}

@test "no script of a name runs in a browser" {
	hostile_names >in.folded
	for ending in html svg; do
		"$CPUCLOCK" flame --title 'good title' --from in.folded -o "p.$ending"
		in_browser "file://$PWD/p.$ending#search=BAD"
		grep -q 'good title' browser.out
		lacks '<title>BAD' browser.out
		# The picture's own script did run: 8 of the 10 hold that word.
		grep -qF '80.00' browser.out
	done
}

@test "an address zooms and searches; an invalid expression is taken literally" {
	printf 'app;f(int;leaf 3\napp;g 1\n' >in.folded
	"$CPUCLOCK" flame --from in.folded -o p.html
	in_browser "file://$PWD/p.html#zoom=2&search=f%28int"
	grep -qE 'matches: <b>75.00(&nbsp;| )%</b>' browser.out
	grep -qE '100(&nbsp;| )% of what is zoomed to' browser.out
	in_browser "file://$PWD/p.html#search=%5Eg%7Cnothing%24"
	grep -qE 'matches: <b>25.00(&nbsp;| )%</b>' browser.out
}

@test "keys and clicks choose, zoom, search, turn and reset" {
	printf 'app;f;leaf 3\napp;g 1\n' >in.folded
	"$CPUCLOCK" flame --from in.folded -o p.html
	cat >>p.html <<-'END'
		<script>
		const log = [], $ = id => document.getElementById(id);
		const key = (k, on, more) => on.dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true, cancelable: true, ...more }));
		const note = () => log.push($('status').querySelector('b').textContent + ($('reset').disabled ? '' : '!') + location.hash);
		const box = $('search'), graph = $('graph'), canvas = $('canvas');
		key('ArrowUp', graph); note();                       // the first chooses where it is
		key('ArrowUp', graph); key('ArrowUp', graph); note(); // app, then the widest
		key('ArrowRight', graph); note();
		key('Enter', graph); note();
		key('Backspace', graph); note();
		key('Escape', graph); note();
		key('f', document.body, { ctrlKey: true }); log.push(document.activeElement.id);
		box.value = 'leaf'; box.dispatchEvent(new Event('input')); key('Enter', box); note();
		key('Escape', box); note();
		key('i', document.body); note(); key('i', document.body);
		const r = canvas.getBoundingClientRect();
		canvas.dispatchEvent(new PointerEvent('pointerdown', { pointerType: 'mouse', bubbles: true }));
		canvas.dispatchEvent(new PointerEvent('pointermove', { pointerType: 'mouse', clientX: r.left + r.width * 0.9, clientY: r.bottom - 45, bubbles: true }));
		log.push('tip ' + $('tip').textContent);
		canvas.dispatchEvent(new MouseEvent('click', { clientX: r.left + r.width * 0.9, clientY: r.bottom - 45, bubbles: true })); note();
		document.title = log.join(' | ');
		</script>
	END
	in_browser "file://$PWD/p.html"
	sed -nE 's/.*<title>(.*)<\/title>.*/\1/p' browser.out | tr '|' '\n' |
		sed -E 's/^ +| +$//g; s/&nbsp;/ /g; s/\xc2\xa0/ /g' >log
	diff - log <<-'END'
		all
		f
		g
		g!#zoom=4
		app!#zoom=1
		all
		search
		leaf#search=leaf
		leaf
		leaf#view=icicle
		tip g1 sample, 25.00 %itself: 1 sample, 25.00 % · native
		g!#zoom=4
	END
}

@test "the page needs nothing from elsewhere, and is dark where that is wanted" {
	draw 'a;f 1\n'
	lacks '(src|href)="?(https?:)?//' p.html
	lacks 'innerHTML|eval\(' p.html
	[ "$(grep -oE 'https?://[^ "]*' p.html | sort -u)" = "" ]
	[ "$(grep -oE 'https?://[a-z.0-9/]*' p.svg | sort -u)" = \
		"$(printf '%s\n' http://www.w3.org/1999/xhtml http://www.w3.org/2000/svg)" ]
	grep -q 'prefers-color-scheme: *dark' p.html
	grep -q 'prefers-color-scheme: *dark' p.svg
}
