# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./dev test-jdks: compiles the programs of tests/agent/ once, as Java 8,
# and runs what tests/agent/runs lists on each JDK. What a run said is in
# build-test-jdks/JDK/N-PROGRAM.log.

JDK_TESTS_DIR=$PWD/build-test-jdks
JDK_TESTS_SECONDS=600
AGENT=$PWD/build/agent/libcpuclock-agent.so

compile_java() {
	local classes=$JDK_TESTS_DIR/classes
	command -v javac >/dev/null || need default-jdk-headless
	rm -rf "$classes"
	mkdir -p "$classes"
	javac --release 8 -Xlint:all,-options -Werror -d "$classes" tests/agent/*.java
}

# release_of VERSION: 8 of 1.8.0_492
release_of() {
	local version=${1#1.}
	printf '%s\n' "${version%%[!0-9]*}"
}

# Reads what a run said; BAD is its exit status. Prints what is wrong, and at last
# "= " and how many passed, failed and were skipped. A JVM says on its own what it
# thinks of its options, and of an agent that is loaded as it runs; all else that
# is no TAP comes from the agent, or from -Xcheck:jni.
digest_java() {
	awk -v bad="$1" '
		/^1\.\.[0-9]+/ { planned = substr($0, 4) + 0; next }
		/^ok .*# SKIP/ {
			tap++
			skipped++
			sub(/^ok [0-9]+ (- )?/, "")
			print "# SKIP " $0
			next
		}
		/^ok / { tap++; passed++; next }
		/^not ok / { tap++; failed++; print; next }
		/^(#|$)/ { next }
		/^(OpenJDK 64-Bit Server VM warning: |WARNING: |Picked up )/ { next }
		{ odd++; if (odd <= 10) print "unexpected: " $0 }
		END {
			if (bad && !failed || odd) {
				failed++
				print "not ok: exit status " bad ", " odd + 0 " unexpected lines"
			} else if (planned != tap) {
				failed++
				print "not ok: " tap + 0 " tests of " planned + 0
			}
			print "=", passed + 0, failed + 0, skipped + 0
		}'
}

# run_java JDK RELEASE TICKS NUMBER PROGRAM SINCE HOW [OPTION...]
run_java() {
	local jdk=$1 release=$2 ticks=$3 number=$4 program=$5 since=$6 how=$7
	local options=() bad=0 name p f s
	local log=$JDK_TESTS_DIR/$jdk/$number-$program.log
	shift 7
	name="$jdk: $program $how${*:+ $*}"
	if [ "$release" -lt "$since" ]; then
		echo "# SKIP $name: it is for Java $since and later"
		skipped=$((skipped + 1))
		return
	fi
	[ "$release" -lt 9 ] ||
		options+=(--add-opens=java.management/sun.management=ALL-UNNAMED)
	if [ "$how" != stock ]; then
		if [ ! -e "$AGENT" ]; then
			echo "# SKIP $name: the agent is not built"
			skipped=$((skipped + 1))
			return
		fi
		options+=(-Dagent="$AGENT")
		case $how in
		with) options+=(-agentpath:"$AGENT") ticks=false ;;
		with:*) options+=(-agentpath:"$AGENT=${how#*:}") ticks=false ;;
		attach) options+=(-Doptions= -Djdk.attach.allowAttachSelf=true) ;;
		attach:*) options+=(-Doptions="${how#*:}" -Djdk.attach.allowAttachSelf=true) ;;
		*) die "tests/agent/runs: stock, with or attach, not: $how" ;;
		esac
		case ,${how#*:}, in
		*,user=jdk26,*) ticks=true ;;
		esac
	fi
	timeout -k 10 "$JDK_TESTS_SECONDS" tests/agent/jdk.sh run "$jdk" java \
		-Dticks="$ticks" "${options[@]}" "$@" \
		-cp "$JDK_TESTS_DIR/classes" "$program" >"$log" 2>&1 </dev/null || bad=$?
	digest_java "$bad" <"$log" >"$log.digest"
	read -r _ p f s < <(tail -n 1 "$log.digest")
	if [ "$f" -gt 0 ]; then
		printf 'not ok %s: %d passed, %d failed, %d skipped; all of it: %s\n' \
			"$name" "$p" "$f" "$s" "${log#"$PWD/"}"
		broken+=("$name")
	else
		printf 'ok %s: %d passed, %d skipped\n' "$name" "$p" "$s"
	fi
	sed '/^= /d; s/^/    /' "$log.digest"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# test_jdk NAME VERSION
test_jdk() {
	local jdk=$1 release ticks number=0 program since how options
	release=$(release_of "$2")
	mkdir -p "$JDK_TESTS_DIR/$jdk"
	if ! ticks=$(tests/agent/jdk.sh run "$jdk" java -cp "$JDK_TESTS_DIR/classes" Ticks); then
		echo "not ok $jdk: it does not run"
		failed=$((failed + 1))
		broken+=("$jdk")
		return
	fi
	while read -r program since how options; do
		number=$((number + 1))
		# shellcheck disable=SC2086 # words
		run_java "$jdk" "$release" "$ticks" "$number" "$program" "$since" "$how" $options
	done < <(grep -v '^#\|^$' tests/agent/runs)
}

# test_jdks [--few | WORD...]: on all at hand, on those named, or on few: one of 17,
# of 8 and of the newest release. What is not at hand is skipped.
test_jdks() {
	local word names jdk version all jdks=() most=1000
	compile_java
	all=$(tests/agent/jdk.sh list)
	[ $# -gt 0 ] || mapfile -t jdks < <(cut -f 1 <<<"$all")
	if [ "${1-}" = --few ]; then
		most=1
		set -- 17 8 newest
	fi
	for word in "$@"; do
		if names=$(tests/agent/jdk.sh find "$word" 2>/dev/null); then
			mapfile -t -O "${#jdks[@]}" jdks < <(head -n "$most" <<<"$names")
		else
			echo "# SKIP JDK $word: not at hand; see ./dev jdks"
			skipped=$((skipped + 1))
		fi
	done
	# Each once, whatever stood for it.
	while IFS=$'\t' read -r jdk version _; do
		case " ${jdks[*]} " in
		*" $jdk "*)
			say "tests in $jdk, $version"
			test_jdk "$jdk" "$version"
			;;
		esac
	done <<<"$all"
}
