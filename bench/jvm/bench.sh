# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./dev bench-jvm: builds the JMH benchmark, runs it on each JDK at hand,
# without the agent and with it, and prints a table. All of it stays under
# build-bench-jvm/; JMH's JSON is in build-bench-jvm/JDK/HOW-THREADS.json.

BENCH_DIR=build-bench-jvm
BENCH_JAR=$BENCH_DIR/target/bench-jvm.jar
BENCH_THREADS="1 2 16"
# What a whole table has.
BENCH_RELEASES="8 11 17 21 25 26 newest"
# From here, as JMH hands it on in words: the whole path might hold a space.
AGENT=build/agent/libcpuclock-agent.so

# How to run: by its name in tables, the options of the agent. stock is without.
declare -A BENCH_OPTIONS=(
	[agent]=""
	[as-26]="user=jdk26,source=posix"
	[as-26-pid0]="user=jdk26,source=self"
)

build_bench() {
	local said
	if [ -e "$BENCH_JAR" ] &&
		[ -z "$(find bench/jvm/pom.xml bench/jvm/src -newer "$BENCH_JAR")" ]; then
		return
	fi
	command -v mvn >/dev/null || need maven
	say "building the benchmark with Maven"
	if ! said=$(mvn -q -B -f bench/jvm/pom.xml \
		-Dbuild.dir="$PWD/$BENCH_DIR/target" package 2>&1); then
		printf '%s\n' "$said" >&2
		die "Maven could not build bench/jvm; it takes JMH from Maven Central"
	fi
}

# agent_option HOW: the JVM's option for that
agent_option() {
	[ "$1" = stock ] || printf -- '-agentpath:%s=%s' "$AGENT" "${BENCH_OPTIONS[$1]}"
}

# agent_refuses JDK HOW: an agent that takes its options and works says nothing;
# one that does not would leave the JVM as it is, to be measured as if it were
# there. Prints what it said.
agent_refuses() {
	local stock
	[ "$2" != stock ] || return
	stock=$(tests/agent/jdk.sh run "$1" java -version 2>&1)
	tests/agent/jdk.sh run "$1" java "$(agent_option "$2")" -version 2>&1 |
		grep -m 1 -vxF "$stock"
}

# bench_times JDK HOW [JMH-OPTION...]: adds the files of its results
bench_times() {
	local jdk=$1 how=$2 threads option file
	shift 2
	option=$(agent_option "$how")
	mkdir -p "$BENCH_DIR/$jdk"
	for threads in $BENCH_THREADS; do
		file=$BENCH_DIR/$jdk/$how-$threads
		rm -f "$file".*
		say "$jdk, $how, $threads threads"
		if tests/agent/jdk.sh run "$jdk" java -jar "$BENCH_JAR" "$@" \
			${option:+-jvmArgsAppend "$option"} -t "$threads" -foe true \
			-prof cpuclock.bench.CpuPerCall \
			-rf json -rff "$file.part" >"$file.log" 2>&1 </dev/null; then
			mv "$file.part" "$file.json"
			results+=("$file.json")
		else
			tail -n 20 "$file.log" >&2
			say "it failed; all that JMH said is in $file.log"
			failed=$((failed + 1))
		fi
	done
}

# bench_accuracy JDK HOW: adds a file with one line
bench_accuracy() {
	local jdk=$1 how=$2 option file=$BENCH_DIR/$1/$2.accuracy
	option=$(agent_option "$how")
	mkdir -p "$BENCH_DIR/$jdk"
	say "$jdk, $how"
	if tests/agent/jdk.sh run "$jdk" java ${option:+"$option"} -cp "$BENCH_JAR" \
		cpuclock.bench.Accuracy >"$file"; then
		results+=("$file")
	else
		say "it failed"
		failed=$((failed + 1))
	fi
}

# What this was, which JDKs were run, and which not.
bench_environment() {
	local word name version
	LC_ALL=C lscpu | awk -F ': +' -v release="$(uname -r)" '
		/^CPU\(s\)/ { cpus = $2 }
		/^Model name/ { model = $2 }
		/^Hypervisor vendor/ { guest = ", " $2 " guest" }
		END { print "on: " cpus " CPUs, " model guest ", Linux " release }'
	while IFS=$'\t' read -r name version _; do
		case " ${jdks[*]} " in
		*" $name "*) printf 'run: %s: %s\n' "$name" "$version" ;;
		*) printf 'skipped: %s: not asked for\n' "$name" ;;
		esac
	done < <(tests/agent/jdk.sh list)
	for word in $BENCH_RELEASES; do
		[ "$word" = newest ] || tests/agent/jdk.sh find "$word" >/dev/null 2>&1 ||
			printf 'skipped: JDK %s: not at hand; see ./dev jdks\n' "$word"
	done
	[ "${#refused[@]}" -eq 0 ] || printf '%s\n' "${refused[@]}"
	[ "${#hows[@]}" -gt 1 ] ||
		printf 'skipped: all with the agent: there is no %s\n' "$AGENT"
}

# bench_jvm [--quick | --accuracy] [JDK...] [-- JMH-ARG...]
bench_jvm() {
	local what=times jmh=() jdks=() hows=(stock) words=() results=() refused=()
	local word jdk how names why
	while [ $# -gt 0 ]; do
		case $1 in
		--quick) jmh=(-f 1 -wi 1 -w 200ms -i 5 -r 100ms) ;;
		--accuracy) what=accuracy ;;
		--)
			shift
			jmh+=("$@")
			break
			;;
		-*)
			say "bench-jvm takes --quick, --accuracy, JDKs, and after -- what is for JMH, not: $1"
			exit 2
			;;
		*) words+=("$1") ;;
		esac
		shift
	done
	command -v javac >/dev/null || need default-jdk-headless
	if [ "${#words[@]}" -eq 0 ]; then
		mapfile -t jdks < <(tests/agent/jdk.sh list | cut -f 1)
	fi
	for word in "${words[@]}"; do
		names=$(tests/agent/jdk.sh find "$word") || exit 2
		mapfile -t -O "${#jdks[@]}" jdks <<<"$names"
	done
	# Each once, whatever stood for it.
	mapfile -t jdks < <(printf '%s\n' "${jdks[@]}" | awk '!seen[$0]++')
	build
	build_bench
	[ ! -e "$AGENT" ] || hows+=(agent as-26 as-26-pid0)
	for jdk in "${jdks[@]}"; do
		for how in "${hows[@]}"; do
			if why=$(agent_refuses "$jdk" "$how"); then
				refused+=("skipped: $jdk, $how: $why")
			else
				"bench_$what" "$jdk" "$how" "${jmh[@]}"
			fi
		done
	done
	[ "${#results[@]}" -eq 0 ] || python3 bench/jvm/table.py "$what" "${results[@]}"
	echo
	bench_environment
	[ "$failed" -eq 0 ]
}
