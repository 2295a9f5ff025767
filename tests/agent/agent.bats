#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The JVM agent, as who runs a JVM sees it: what ThreadMXBean promises holds with
# it as without, and nothing else changes.
#
# JAVA is the java command, in words: java by default; jcmd is beside it. CLASSES
# is where the classes of this folder are. AGENT is the agent, without which only
# the JVM itself is tested; LIAR is liar.c, built. DENY is tests/hostile/deny.c,
# built. LONG=1 takes some minutes more.

# shellcheck disable=SC2030,SC2031 # bats runs each test in a subshell
bats_require_minimum_version 1.5.0

: "${CLASSES:?where the classes of tests/agent are}"
unset JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS CLASSPATH CPUCLOCK_SOURCE

setup_file() {
	local version
	read -ra java <<<"${JAVA-java}"
	version=$("${java[@]}" -XshowSettings:properties -version 2>&1 |
		sed -n 's/^ *java.specification.version = //p')
	export JDK=${version#1.}
	[ -n "$JDK" ]
	TICKS=${TICKS:-$("${java[@]}" -cp "$CLASSES" Ticks)}
	export TICKS
	echo "# JDK $JDK, user time is raw ticks: $TICKS:" \
		"$("${java[@]}" -version 2>&1 | sed -n 3p)" >&3
}

setup() {
	read -ra java <<<"${JAVA-java}"
	jcmd=("${java[@]}")
	jcmd[-1]=${jcmd[-1]%java}jcmd
	# So that nothing but the agent speaks.
	attachable=(-Djdk.attach.allowAttachSelf=true)
	opened=() preview=()
	if [ "$JDK" -ge 9 ]; then
		attachable+=(-XX:+EnableDynamicAgentLoading)
		opened=(--add-opens java.management/sun.management=ALL-UNNAMED)
	fi
	if [ "$JDK" -eq 19 ] || [ "$JDK" -eq 20 ]; then
		preview=(--enable-preview)
	fi
	# From 26 on, and in late releases of 25, the JVM's own are raw ticks.
	ticks=()
	if [ "$TICKS" = true ]; then
		ticks=(-Dticks=true)
	fi
	world=here
	cd "$BATS_TEST_TMPDIR" || return
}

needs_agent() {
	[ -n "${AGENT-}" ] || skip "no agent: AGENT is not set"
}

needs_long() {
	[ -n "${LONG-}" ] || skip "it takes long: LONG is not set"
}

needs_jdk() {
	[ "$JDK" -ge "$1" ] || skip "JDK $1 is the first to have it"
}

# ---- Running a JVM

# jvm ARG...: in $world, a java command that ends
jvm() {
	enter "$world" timeout -k 10 "${LIMIT-300}" "${java[@]}" "$@"
}

enter() {
	local where=$1
	shift
	case $where in
	here) "$@" ;;
	rseq-off) GLIBC_TUNABLES=glibc.pthread.rseq=0 "$@" ;;
	few-files) (ulimit -n 40 && "$@") ;;
	no-perf) "$DENY" EPERM perf_event_open -- "$@" ;;
	no-memory-reads) "$DENY" EPERM process_vm_readv process_vm_writev -- "$@" ;;
	neither-epoch)
		GLIBC_TUNABLES=glibc.pthread.rseq=0 \
			"$DENY" EPERM perf_event_open -- "$@"
		;;
	*) echo "no world '$where'" >&2 && return 2 ;;
	esac
}

needs_world() {
	world=$1
	case $world in
	no-* | neither-epoch) [ -x "${DENY-}" ] || skip "no deny: DENY is not set" ;;
	esac
	jvm -cp "$CLASSES" Hello times >/dev/null ||
		skip "this JVM does not run in the world $world"
}

# capture COMMAND...: its exit code in $code, its output in $out and $err (files)
capture() {
	out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err code=0
	"$@" >"$out" 2>"$err" || code=$?
}

explain() {
	echo "$1"
	echo "exit code: $code"
	# Of a test program what is wrong, of others all.
	echo "standard output:"
	grep -A 1 '^not ok' "$out" | head -n 40 || true
	noise | head -n 40
	return 1
}

# What a test program printed beside its results.
noise() {
	grep -vE '^(ok|not ok) [0-9]+ - |^#|^1\.\.[0-9]+$' "$out" || true
	sed 's/^/standard error: /' "$err"
}

# passes ARG...: a test program, in the JVM with these arguments; it passes, and
# nothing else is said.
passes() {
	capture jvm -cp "$CLASSES" "$@"
	tap
	[ "$code" -eq 0 ] || explain "it fails"
	[ -z "$(noise)" ] || explain "it is not silent"
}

# tap: $out is whole; its counts and what it skipped are shown
tap() {
	local planned results
	planned=$(sed -n 's/^1\.\.//p' "$out")
	results=$(grep -cE '^(not )?ok ' "$out" || true)
	[ "${planned:-none}" = "$results" ] || explain "no results, or no plan"
	sed -n 's/^# \([0-9]* passed, .*\)/# \1/p' "$out" >&3
	sed -n 's/.*# SKIP /# SKIP /p' "$out" | sort | uniq -c |
		sed 's/^ */# # SKIP in it, times /' >&3
}

# caught SENTENCE ARG...: the program finds that this does not hold
caught() {
	local sentence=$1
	shift
	capture jvm -cp "$CLASSES" "$@"
	[ "$code" -eq 1 ] || explain "it does not fail"
	grep -qE "^not ok [0-9]+ - $sentence" "$out" ||
		explain "it does not find: $sentence"
	grep -A 1 -E "^not ok [0-9]+ - $sentence" "$out" | head -n 2 |
		sed 's/^#* */# # /' >&3
}

with() {
	echo "-agentpath:$AGENT${1:+=$1}"
}

# ---- What ThreadMXBean promises

semantics() {
	passes "${opened[@]}" "${preview[@]}" "$@" Semantics
}

no_continuations=(-XX:+UnlockExperimentalVMOptions -XX:-VMContinuations)

@test "what ThreadMXBean promises holds in the JVM itself" {
	semantics "${ticks[@]}"
}

@test "and with the agent" {
	needs_agent
	semantics "$(with)"
}

@test "in the JVM itself, without continuations" {
	needs_jdk 19
	semantics "${ticks[@]}" "${no_continuations[@]}"
}

@test "with the agent, without continuations" {
	needs_jdk 19
	needs_agent
	semantics "${no_continuations[@]}" "$(with)"
}

@test "with the agent in JDK 26's way" {
	needs_agent
	semantics -Dticks=true "$(with user=jdk26)"
}

@test "with the agent, where rseq is off" {
	needs_agent
	needs_world rseq-off
	semantics "$(with)"
}

@test "with the agent, where perf events and rseq are off" {
	needs_agent
	needs_long
	needs_world neither-epoch
	semantics "$(with)"
}

@test "with the agent, where it may not look into the JVM's memory" {
	needs_agent
	needs_world no-memory-reads
	semantics "$(with)"
}

@test "with the agent, where there are more threads than descriptors" {
	needs_agent
	needs_world few-files
	semantics -Dwaiters=60 "$(with)"
}

@test "with the agent, when each call into it is checked" {
	needs_agent
	checked semantics
}

@test "with the agent and each source" {
	local source
	needs_agent
	needs_long
	for source in self posix rusage; do
		semantics "$(with "source=$source")"
		semantics -Dticks=true "$(with "user=jdk26,source=$source")"
	done
}

@test "with the agent, twice on the command line" {
	needs_agent
	needs_long
	semantics "$(with)" "$(with)"
}

# checked COMMAND...: its JVM, with the agent and -Xcheck:jni; some JVMs complain
# of themselves then.
checked() {
	capture jvm -Xcheck:jni -cp "$CLASSES" Hello times
	if [ "$(sort "$out" "$err")" = "$(printf '%s\n' hello \
		'hello on standard error')" ]; then
		"$@" -Xcheck:jni "$(with)"
	else
		noise() {
			grep -hE 'cpuclock|FATAL ERROR' "$out" "$err" || true
		}
		"$@" -Xcheck:jni "$(with)"
	fi
}

# ---- Short bursts

accuracy=(-Dsamples="${SAMPLES-100000}")
user_over="by itself: user is not more than the total"

@test "user is within the total in the JVM itself, or it is one with raw ticks" {
	if [ ${#ticks[@]} -eq 0 ]; then
		passes "${accuracy[@]}" Accuracy
	else
		caught "$user_over" "${accuracy[@]}" Accuracy
	fi
}

@test "user is within the total, and neither decreases, with the agent" {
	needs_agent
	passes "${accuracy[@]}" "$(with)" Accuracy
}

@test "nor when it is attached half-way" {
	needs_agent
	[ ${#ticks[@]} -eq 0 ] ||
		skip "this JVM tells raw ticks before: see cpuclock-agent(7)"
	passes "${accuracy[@]}" "${attachable[@]}" "${ticks[@]}" \
		-Dagent="$AGENT" Accuracy
}

@test "the agent in JDK 26's way has user exceed the total, and it is seen" {
	needs_agent
	needs_long
	caught "$user_over" "${accuracy[@]}" "$(with user=jdk26)" Accuracy
}

# ---- Threads that come and go

seconds=${LONG:+20}
seconds=${seconds:-2}

@test "threads come and go in the JVM itself" {
	passes "${ticks[@]}" Churn "$seconds"
}

# churn GC
churn() {
	needs_agent
	capture jvm -XX:+Use"$1" -version
	[ "$code" -eq 0 ] || skip "this JVM has no $1"
	checked with_churn -XX:+Use"$1" -Xmx128m
}

with_churn() {
	passes "$@" Churn "$seconds"
}

@test "threads come and go with the agent: Serial" {
	churn SerialGC
}

@test "threads come and go with the agent: Parallel" {
	churn ParallelGC
}

@test "threads come and go with the agent: G1" {
	churn G1GC
}

@test "threads come and go with the agent: Z" {
	churn ZGC
}

@test "threads come and go with the agent, where rseq is off" {
	needs_agent
	needs_long
	needs_world rseq-off
	with_churn "$(with)"
}

# ---- Attaching

@test "hot loops in the JVM itself" {
	passes "${ticks[@]}" Attach
}

@test "hot loops while the agent is attached, twice, and off and on" {
	local times=${LONG:+500}
	needs_agent
	passes "${attachable[@]}" "${ticks[@]}" -Dagent="$AGENT" \
		-Dtimes="${times:-100}" Attach
}

@test "hot loops while the agent is attached: calls are checked" {
	needs_agent
	needs_long
	checked hot_loops
}

hot_loops() {
	passes "${attachable[@]}" "${ticks[@]}" -Dagent="$AGENT" "$@" Attach
}

# stays ARG...: a JVM that has said hello and stays; $pid; see leaves
stays() {
	out=$BATS_TEST_TMPDIR/out err=$BATS_TEST_TMPDIR/err code=0
	mkfifo stdin
	"${java[@]}" -cp "$CLASSES" "$@" Hello stay <stdin >"$out" 2>"$err" 3>&- &
	pid=$!
	exec 4>stdin
	for _ in {1..300}; do
		grep -q 'hello' "$out" && grep -q 'hello' "$err" && return
		sleep 0.1
	done
	explain "it does not start"
}

leaves() {
	exec 4>&-
	wait "$pid" || code=$?
	[ "$code" -eq 0 ] || explain "it fails"
	[ "$(cat "$out")" = $'hello\nbye' ] || explain "it is not silent"
}

# load_agent [OPTIONS]: by jcmd, whose output is in jcmd.out
load_agent() {
	timeout 60 "${jcmd[@]}" "$pid" JVMTI.agent_load "$AGENT" "$@" \
		>jcmd.out 2>jcmd.err 4>&- || code=$?
}

@test "attached by jcmd, it says nothing" {
	needs_agent
	needs_jdk 9
	stays -XX:+EnableDynamicAgentLoading
	load_agent
	load_agent
	load_agent off
	# Without quotes of its own jcmd cuts what follows a "=".
	load_agent '"user=scaled,source=self"'
	leaves
	[ "$(cat "$err")" = "hello on standard error" ] ||
		explain "it is not silent"
}

@test "attached by jcmd, only the JVM warns of it" {
	needs_agent
	needs_jdk 21
	stays
	load_agent
	leaves
	if grep -vE '^WARNING: |^hello on' "$err"; then
		explain "it is not silent"
	fi
}

@test "attached by jcmd with a wrong option, it says so, and the JVM goes on" {
	needs_agent
	needs_jdk 9
	stays -XX:+EnableDynamicAgentLoading
	load_agent nonsense
	code=0
	leaves
	sed -i '/^hello on standard error$/d' "$err"
	one_line nonsense user source verbose stats off
}

@test "attached by jcmd, it counts at exit" {
	needs_agent
	needs_jdk 9
	stays -XX:+EnableDynamicAgentLoading
	load_agent stats
	leaves
	# Two times of each kind: three in an array, the current, and one by id.
	sed -i '/^hello on standard error$/d' "$err"
	counted 10
}

# ---- What else is said

# same: $out, $err and $code are those of the JVM itself, kept before
same() {
	cmp "$out" own.out || explain "standard output differs"
	cmp "$err" own.err || explain "standard error differs"
	[ "$code" -eq 0 ] || explain "it fails"
}

keep() {
	[ "$code" -eq 0 ] || skip "this JVM cannot: $(head -qn 1 "$out" "$err" | head -n 1)"
	cp "$out" own.out
	cp "$err" own.err
}

hello=(Hello times)

@test "it is silent" {
	local options
	needs_agent
	capture jvm -cp "$CLASSES" "${hello[@]}"
	keep
	for options in "" user=scaled user=jdk26 source=fast source=self \
		source=posix source=rusage user=jdk26,source=posix; do
		capture jvm "$(with "$options")" -cp "$CLASSES" "${hello[@]}"
		same
	done
	capture jvm "$(with)=" -cp "$CLASSES" "${hello[@]}"
	same
	capture jvm "$(with)" "$(with)" -cp "$CLASSES" "${hello[@]}"
	same
	capture jvm "$(with)" -cp "$CLASSES" Hello
	same
}

@test "it is silent when each call into it is checked" {
	needs_agent
	capture jvm -Xcheck:jni -cp "$CLASSES" "${hello[@]}"
	keep
	capture jvm -Xcheck:jni "$(with)" -cp "$CLASSES" "${hello[@]}"
	same
}

# one_line WORD...: $err is one line, whole, which says who speaks, and these
one_line() {
	local word
	if [ "$(wc -l <"$err")" -ne 1 ] || [ -n "$(tail -c 1 "$err")" ]; then
		explain "standard error is not one line"
	fi
	for word in cpuclock "$@"; do
		grep -qwF -- "$word" "$err" ||
			explain "standard error does not name $word"
	done
}

# wrong OPTIONS WORD...: the line has these words; the JVM runs, the agent does
# not.
wrong() {
	local options=$1
	shift
	capture jvm "$(with "$options")" -cp "$CLASSES" "${hello[@]}"
	[ "$code" -eq 0 ] || explain "$options: the JVM fails"
	cmp "$out" own.out || explain "$options: standard output differs"
	sed -i '/^hello on standard error$/d' "$err"
	one_line "$@"
}

@test "a wrong option is named, with what is allowed, and the JVM starts" {
	needs_agent
	capture jvm -cp "$CLASSES" "${hello[@]}"
	keep
	wrong nonsense nonsense user source verbose stats off
	wrong stats,nonsense nonsense
	wrong nonsense,stats nonsense
	wrong verbose,User=scaled User
	wrong user=wrong user wrong scaled jdk26
	wrong user user scaled jdk26
	wrong user= user scaled jdk26
	wrong user=scaledx scaledx
	wrong source=wrong source wrong fast self posix rusage
	wrong source= source fast self posix rusage
	wrong stats=yes stats
}

@test "verbose names the JVM and the source" {
	needs_agent
	capture jvm "$(with verbose)" -cp "$CLASSES" "${hello[@]}"
	[ "$code" -eq 0 ] || explain "it fails"
	[ "$(cat "$out")" = hello ] || explain "standard output differs"
	grep -v '^hello on' "$err" >said || explain "it says nothing"
	if grep -v cpuclock said; then
		explain "it does not say who speaks"
	fi
	jvm -version 2>&1 | sed -n '3s/.*(build \([^,)]*\).*/\1/p' >version
	grep -qFf version said || grep -qE "(^|[^0-9])$JDK([^0-9]|$)" said ||
		explain "it does not name the JVM"
	grep -qE '\<(fast:(rseq|perf)|self|posix|rusage|taskclock)\>' said ||
		explain "it does not name the source"
	capture jvm "$(with verbose,source=rusage)" -cp "$CLASSES" "${hello[@]}"
	grep -q '\<rusage\>' "$err" || explain "it does not name the source"
}

# counted N: the counts on standard error, of each path, make N; their sum may be
# there too
counted() {
	local sum largest
	read -r sum largest < <(grep -oE '(^|[ =:(])[0-9]+([ ,;.)]|$)' "$err" |
		tr -dc '0-9\n' |
		awk '{ sum += $1; if ($1 > most) most = $1 }
			END { print sum + 0, most + 0 }')
	if [ "$sum" -ne "$1" ] &&
		{ [ "$largest" -ne "$1" ] || [ "$sum" -ne $((2 * $1)) ]; }; then
		explain "the counts do not make $1"
	fi
}

@test "stats counts every time that was asked for" {
	local how kind
	needs_agent
	for how in current own other array; do
		for kind in total user; do
			capture jvm "$(with stats)" -cp "$CLASSES" \
				Calls $how $kind 100000
			[ "$code" -eq 0 ] || explain "it fails"
			[ ! -s "$out" ] || explain "standard output is not empty"
			counted 100000
		done
	done
}

@test "stats counts from an attach on" {
	needs_agent
	capture jvm "${attachable[@]}" -Dagent="$AGENT" -Doptions=stats \
		-cp "$CLASSES" Calls current user 100000
	[ "$code" -eq 0 ] || explain "it fails"
	counted 100000
}

# ---- How a JVM is started

@test "through JAVA_TOOL_OPTIONS" {
	local said
	needs_agent
	export JAVA_TOOL_OPTIONS
	JAVA_TOOL_OPTIONS=$(with)
	capture jvm -cp "$CLASSES" "${hello[@]}"
	[ "$code" -eq 0 ] || explain "it fails"
	said="Picked up JAVA_TOOL_OPTIONS: $JAVA_TOOL_OPTIONS"
	[ "$(cat "$err")" = "$said"$'\n'"hello on standard error" ] ||
		explain "it is not silent"
	[ "$(cat "$out")" = hello ] || explain "standard output differs"
}

# JDK 8 shares none as soon as there is any agent.
@test "class data stay shared" {
	needs_agent
	needs_jdk 9
	capture jvm -Xshare:on -cp "$CLASSES" "${hello[@]}"
	keep
	capture jvm -Xshare:on "$(with)" -cp "$CLASSES" "${hello[@]}"
	same
}

# shared ARG...: how many classes come from the archive, and what is said of the
# graph of modules
shared() {
	capture jvm -Xlog:class+load -Xlog:cds "$@" -cp "$CLASSES" "${hello[@]}"
	[ "$code" -eq 0 ] || explain "it fails"
	grep -c 'source: shared objects file' "$out" >count || true
	sed -n 's/.*\(full module graph.*\)/\1/p' "$out" | sort -u >graph
}

@test "as many classes come from the archive, and the graph of modules" {
	needs_agent
	needs_jdk 11
	shared
	mv count own.count
	mv graph own.graph
	[ "$(cat own.count)" -gt 0 ] || skip "this JVM has no archive"
	shared "$(with)"
	echo "classes: $(cat own.count), with the agent $(cat count)"
	[ "$(cat count)" -ge "$(cat own.count)" ]
	diff own.graph graph
}

@test "the ahead-of-time cache is used" {
	needs_agent
	needs_jdk 25
	# Classes in a folder cannot be in it.
	capture "${jcmd[@]:0:${#jcmd[@]}-1}" "${jcmd[-1]%jcmd}jar" cf \
		"$PWD/hello.jar" -C "$CLASSES" .
	keep
	capture jvm -XX:AOTCacheOutput="$PWD/aot" -cp "$PWD/hello.jar" "${hello[@]}"
	keep
	capture jvm -XX:AOTMode=on -XX:AOTCache="$PWD/aot" -cp "$PWD/hello.jar" \
		"${hello[@]}"
	keep
	capture jvm -XX:AOTMode=on -XX:AOTCache="$PWD/aot" "$(with)" \
		-cp "$PWD/hello.jar" "${hello[@]}"
	same
}

@test "a JVM without the module of ThreadMXBean is left alone" {
	needs_agent
	needs_jdk 9
	capture jvm --limit-modules java.base -cp "$CLASSES" Hello
	keep
	capture jvm --limit-modules java.base "$(with)" -cp "$CLASSES" Hello
	same
}

@test "a JVM that only shows its version, and one that fails" {
	needs_agent
	capture jvm -version
	keep
	capture jvm "$(with)" -version
	same
	capture jvm -cp "$CLASSES" NoSuchClass
	cp "$out" own.out
	cp "$err" own.err
	[ "$code" -eq 1 ]
	capture jvm "$(with)" -cp "$CLASSES" NoSuchClass
	[ "$code" -eq 1 ]
	code=0
	same
}

# ---- The tests themselves

@test "an agent that does not lie is believed" {
	needs_long
	[ -n "${LIAR-}" ] || skip "no liar: LIAR is not set"
	semantics "${ticks[@]}" "-agentpath:$LIAR=honest"
	passes "${ticks[@]}" "-agentpath:$LIAR=honest" Churn 2
}

# lie NAME SENTENCE ARG...
lie() {
	local name=$1 sentence=$2
	shift 2
	caught "$sentence" "${opened[@]}" "-agentpath:$LIAR=$name" "$@"
}

@test "one that lies is found out" {
	needs_long
	[ -n "${LIAR-}" ] || skip "no liar: LIAR is not set"
	lie ticks "$user_over" -Dsamples=50000 Accuracy
	lie fine "user: another thread has what it read" Semantics
	lie fine "by another: user is at most a window behind" \
		-Dsamples=20000 Accuracy
	lie back "total: never negative, and never less" Semantics
	lie back "by itself: the total does not decrease" \
		-Dsamples=50000 Accuracy
	lie zero "work in user code is user time" Semantics
	lie awake "a thread that sleeps uses nothing" Semantics
	lie neighbour "total: a thread that has ended has -1" Semantics
	lie undead "total: a thread that was not started has -1" Semantics
	lie undead "one that has ended, or never was, has -1" Churn 2
	lie remembered "total: from unstarted to ended" Semantics
	lie remembered "one that has ended, or never was, has -1" Churn 2
	lie place "total: ids that are equal in their lower 16 bits" Semantics
	lie buffer "total: 257 ids at once" Semantics
	lie lenient "total, the native: 2 ids and room for 3" Semantics
}
