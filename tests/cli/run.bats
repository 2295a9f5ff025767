#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# cpuclock run: what the command is given, and what is passed on of its end.

# shellcheck disable=SC2154 # capture sets code, out and err
load common

: "${BUILD_ROOT:?the path of the build}"

shim=$BUILD_ROOT/preload/libcpuclock-preload.so
unset LD_PRELOAD JAVA_TOOL_OPTIONS CPUCLOCK_REPORT

# exits CODE COMMAND...: exit code, with and without a report
exits() {
	local wanted=$1 option
	shift
	for option in "" --report; do
		# shellcheck disable=SC2086 # no word for the first
		capture "$CPUCLOCK" run $option -- "$@"
		[ "$code" -eq "$wanted" ] || explain "$option $*: not $wanted"
	done
}

# ---- The command and its end

@test "the command gets its arguments, input and output" {
	prints '^a b c$' "$CPUCLOCK" run echo a b c
	prints '^-a --json$' "$CPUCLOCK" run echo -a --json
	prints '^-a --report$' "$CPUCLOCK" run -- echo -a --report
	[ "$(echo input | "$CPUCLOCK" run cat)" = input ]
	[ "$(echo input | "$CPUCLOCK" run --report cat 2>/dev/null)" = input ]
}

@test "its exit status is passed on" {
	exits 0 true
	exits 1 false
	exits 42 sh -c 'exit 42'
}

@test "a signal that ends it is 128 and the signal's number" {
	# A shell says that of a process that has become the command, too.
	exits 143 sh -c 'kill -TERM $$'
	exits 137 sh -c 'kill -KILL $$'
}

@test "what is not found is 127, what cannot be executed 126" {
	local option
	exits 127 no-such-command
	exits 127 /no/such/command
	exits 126 /etc/passwd
	exits 126 /
	for option in "" --report; do
		# shellcheck disable=SC2086 # no word for the first
		fails 127 "'no-such-command': No such file" \
			"$CPUCLOCK" run $option no-such-command
		# shellcheck disable=SC2086 # no word for the first
		fails 126 "'/': Permission denied" "$CPUCLOCK" run $option /
	done
}

@test "mistakes are usage errors" {
	fails 2 'which command' "$CPUCLOCK" run
	fails 2 'which command' "$CPUCLOCK" run --report --
	fails 2 "'--source'" "$CPUCLOCK" run --source
	fails 2 "--source: no source 'bogus' \(best fast" \
		"$CPUCLOCK" run --source bogus true
	fails 2 "CPUCLOCK_SOURCE: no source 'bogus'" \
		env CPUCLOCK_SOURCE=bogus "$CPUCLOCK" run true
	fails 2 '--json.*--report' "$CPUCLOCK" run --json true
}

@test "a source that does not work here is a failure with its reason" {
	"$CPUCLOCK" info --json | sources cat >"$BATS_TEST_TMPDIR/sources"
	grep -q '^taskclock:no' "$BATS_TEST_TMPDIR/sources" || skip "all work"
	fails 1 'taskclock.*: .{9,}' "$CPUCLOCK" run --source taskclock true
}

@test "closed descriptors stay closed, SIGPIPE stays what it was" {
	prints '^closed$' bash -c \
		'"$1" run bash -c "[ -e /proc/self/fd/0 ] || echo closed" <&-' \
		bash "$CPUCLOCK"
	local option
	for option in "" --report; do
		# 141 is SIGPIPE; yes fails with 1 where it is ignored.
		run bash -c '"$1" run $2 sh -c "yes; echo \$? >&2" | head -n 1' \
			bash "$CPUCLOCK" "$option"
		[[ $output == *141* ]]
		run bash -c 'trap "" PIPE; "$1" run $2 sh -c "yes 2>&-; echo \$? >&2" |
			head -n 1' bash "$CPUCLOCK" "$option"
		[[ $output != *141* ]]
	done
}

# ---- The environment

@test "LD_PRELOAD names the shim, behind what is there" {
	# shellcheck disable=SC2016 # for the inner shell
	prints "^$shim\$" "$CPUCLOCK" run sh -c 'echo "$LD_PRELOAD"'
	# shellcheck disable=SC2016 # for the inner shell
	prints "^libc.so.6:$shim\$" env LD_PRELOAD=libc.so.6 "$CPUCLOCK" run \
		sh -c 'echo "$LD_PRELOAD"'
}

@test "CPUCLOCK_SOURCE is that of --source, which wins" {
	# shellcheck disable=SC2016 # for the inner shell
	local show='echo "<${CPUCLOCK_SOURCE-none}>"'
	prints '^<none>$' "$CPUCLOCK" run sh -c "$show"
	prints '^<self>$' "$CPUCLOCK" run -s self sh -c "$show"
	prints '^<self>$' env CPUCLOCK_SOURCE=self "$CPUCLOCK" run sh -c "$show"
	prints '^<posix>$' env CPUCLOCK_SOURCE=self "$CPUCLOCK" run \
		--source=posix sh -c "$show"
	prints '^<none>$' env CPUCLOCK_SOURCE=self "$CPUCLOCK" run \
		--source best sh -c "$show"
}

# A copy of the build tree's layout, with a file in place of the agent.
tree() {
	mkdir -p "$1"/{cli,preload,agent}
	cp "$CPUCLOCK" "$1/cli/cpuclock"
	cp "$shim" "$1/preload"
	touch "$1/agent/libcpuclock-agent.so"
}

@test "JAVA_TOOL_OPTIONS names the agent, behind what is there" {
	local tree=$BATS_TEST_TMPDIR/tree
	tree "$tree"
	# shellcheck disable=SC2016 # for the inner shell
	local show='echo "<${JAVA_TOOL_OPTIONS-none}>"'
	prints '^<none>$' "$tree/cli/cpuclock" run sh -c "$show"
	prints "^<-agentpath:$tree/agent/libcpuclock-agent.so>\$" \
		"$tree/cli/cpuclock" run --java sh -c "$show"
	prints "^<-Xmx1g -agentpath:$tree/agent/libcpuclock-agent.so>\$" \
		env JAVA_TOOL_OPTIONS=-Xmx1g "$tree/cli/cpuclock" run --java \
		sh -c "$show"
}

@test "a missing shim or agent is a failure that says where it should be" {
	local tree=$BATS_TEST_TMPDIR/tree
	tree "$tree"
	rm "$tree/agent/libcpuclock-agent.so"
	[ ! -e /usr/local/lib/*/libcpuclock-agent.so ] || skip "one is installed"
	fails 1 'libcpuclock-agent.so is neither .* nor in /' \
		"$tree/cli/cpuclock" run --java true
	rm "$tree/preload/libcpuclock-preload.so"
	fails 1 'libcpuclock-preload.so is neither .* nor in /' \
		"$tree/cli/cpuclock" run true
}

@test "a path that the variables cannot hold is refused" {
	tree "$BATS_TEST_TMPDIR/a tree"
	fails 1 "LD_PRELOAD.*a tree.*' '" \
		"$BATS_TEST_TMPDIR/a tree/cli/cpuclock" run true
	tree "$BATS_TEST_TMPDIR/a:tree"
	fails 1 "LD_PRELOAD.*':'" \
		"$BATS_TEST_TMPDIR/a:tree/cli/cpuclock" run true
	tree "$BATS_TEST_TMPDIR/a=tree"
	prints '^ok$' "$BATS_TEST_TMPDIR/a=tree/cli/cpuclock" run echo ok
	fails 1 "JAVA_TOOL_OPTIONS.*'='" \
		"$BATS_TEST_TMPDIR/a=tree/cli/cpuclock" run --java true
}

@test "installed, wherever that is moved to, the command finds the shim" {
	local root=$BATS_TEST_TMPDIR/root found
	meson install -C "$BUILD_ROOT" --no-rebuild --destdir "$root" \
		>/dev/null 2>&1 || skip "this user may not install"
	found=$(find "$root" -name libcpuclock-preload.so)
	# shellcheck disable=SC2016 # for the inner shell
	prints "^$found\$" "$(find "$root" -path '*/bin/cpuclock')" run \
		sh -c 'echo "$LD_PRELOAD"'
}

# ---- The report

reads='
import time
for i in range(1000):
	time.thread_time()'

counts() {
	awk '/^clock_gettime, / { sum += $NF } END { print sum }' "$err"
}

@test "--report: every read is counted, on standard error" {
	capture "$CPUCLOCK" run --report python3 -c "$reads"
	[ "$code" -eq 0 ] || explain "it fails"
	[ ! -s "$out" ] || explain "standard output is not empty"
	[ "$(counts)" -eq 1000 ] || explain "not 1000"
}

@test "--report --json is JSON" {
	capture "$CPUCLOCK" run --report --json python3 -c "$reads"
	[ "$code" -eq 0 ] || explain "it fails"
	[ "$(json programs cat "$err")" -ge 1 ]
	[ $(($(json clock_gettime_with_call cat "$err") + \
		$(json clock_gettime_without_call cat "$err"))) -eq 1000 ]
}

@test "--report: children that end later, by _exit or by a signal, count" {
	capture "$CPUCLOCK" run --report python3 -c "
import os, signal, sys
$reads
for end in (lambda: os._exit(0), lambda: os.kill(os.getpid(), signal.SIGKILL)):
    if os.fork() == 0:
        for i in range(1000):
            time.thread_time()
        end()
if os.fork() == 0:
    time.sleep(0.3)
    os.execvp('python3', ['python3', '-c', '''$reads'''])"
	[ "$code" -eq 0 ] || explain "it fails"
	[ "$(counts)" -eq 4000 ] || explain "not 4000"
}

@test "--report: of a command that cannot be run there is none" {
	capture "$CPUCLOCK" run --report no-such-command
	[ "$(wc -l <"$err")" -eq 1 ] || explain "more than the error"
}

@test "--report: its file is this user's alone, and is removed" {
	# shellcheck disable=SC2016 # for the inner shell
	capture "$CPUCLOCK" run --report sh -c \
		'echo "$CPUCLOCK_REPORT"; stat -c %a "$CPUCLOCK_REPORT"; kill -9 $$'
	[ "$code" -eq 137 ] || explain "not killed"
	[ "$(tail -n 1 "$out")" = 600 ] || explain "not 600"
	[ ! -e "$(head -n 1 "$out")" ] || explain "it is left behind"
}

@test "--report: signals are passed on, and the file is removed" {
	local signal
	for signal in TERM HUP INT USR1; do
		capture env python3 - "$CPUCLOCK" "$signal" <<-'PYTHON'
			import os, signal, subprocess, sys
			number = getattr(signal, "SIG" + sys.argv[2])
			# A shell ignores SIGINT for what it runs behind itself, and
			# nohup SIGHUP.
			signal.signal(number, signal.SIG_DFL)
			child = subprocess.Popen(
			    [sys.argv[1], "run", "--report", "--json",
			     "sh", "-c", "echo $CPUCLOCK_REPORT; exec sleep 10"],
			    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
			file = child.stdout.readline().decode().strip()
			assert os.path.exists(file)
			child.send_signal(number)
			said = child.communicate()[1].decode()
			assert child.returncode == 128 + number, child.returncode
			assert '"programs": ' in said, said
			assert not os.path.exists(file)
		PYTHON
		[ "$code" -eq 0 ] || explain "$signal"
	done
}

@test "--report: once the command has ended, a signal ends the wait" {
	capture python3 - "$CPUCLOCK" <<-'PYTHON'
		import signal, subprocess, sys, time
		child = subprocess.Popen(
		    [sys.argv[1], "run", "--report",
		     "sh", "-c", "sleep 20 >/dev/null 2>&1 & echo; exit 3"],
		    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
		child.stdout.readline()
		time.sleep(0.3)
		assert child.poll() is None
		child.terminate()
		assert child.wait(5) == 3
	PYTHON
	[ "$code" -eq 0 ] || explain "it waits on"
}
