# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./dev test-jdks: compiles the Java programs of tests/agent/ once, as Java
# 8, and runs its bats files on each JDK. They get, beside what meson gives:
#
# NAME     the JDK's name for jdk.sh
# JAVA     its java command, in words
# CLASSES  where the compiled programs are
# TICKS    true if its user times are raw ticks as it comes: they can exceed the
#          total; else false
# AGENT    the agent, if it is built
# DENY, LIAR  programs of tests/, if they are built
#
# What a run said is in build-test-jdks/NAME.tap.

JDK_TESTS_DIR=build-test-jdks

compile_java() {
	local classes=$JDK_TESTS_DIR/classes
	command -v javac >/dev/null || need default-jdk-headless
	rm -rf "$classes"
	mkdir -p "$classes"
	javac --release 8 -Xlint:all,-options -Werror -d "$classes" tests/agent/*.java
}

# built PATTERN: the file in build/, if there is one
built() {
	find build -path "build/$1" -type f 2>/dev/null | sed "s,^,$PWD/,; q"
}

# What of a run's TAP is worth to be seen: the tests that failed with what they
# said, and those that were skipped. At last: "= PASSED FAILED SKIPPED".
digest_tap() {
	awk '
		/^1\.\./ { planned = substr($0, 4) + 0 }
		/^(not )?ok / { tap++; bad = 0 }
		/^not ok / { bad = 1; failed++ }
		/^ok .*# skip/ { skipped++; print }
		/^ok / && !/# skip/ { passed++ }
		bad
		END {
			if (planned != tap || !tap) {
				failed++
				print "not ok: " tap + 0 " tests of " planned + 0
			}
			print "=", passed + 0, failed + 0, skipped + 0
		}'
}

# test_jdk NAME VERSION
test_jdk() {
	local name=$1 tap=$JDK_TESTS_DIR/$1.tap classes=$PWD/$JDK_TESTS_DIR/classes
	local ticks p f s
	say "tests in $name, $2"
	ticks=$(tests/agent/jdk.sh run "$name" java -cp "$classes" Ticks) || ticks=false
	NAME=$name JAVA="$PWD/tests/agent/jdk.sh run $name java" CLASSES=$classes \
		TICKS=$ticks SOURCE_ROOT=$PWD BUILD_ROOT=$PWD/build \
		AGENT=$(built agent/libcpuclock-agent.so) DENY=$(built tests/deny) \
		LIAR=$(built 'tests/*liar*.so') \
		bats --tap tests/agent/*.bats >"$tap" 2>&1 </dev/null || true
	digest_tap <"$tap" >"$tap.digest"
	read -r _ p f s < <(tail -n 1 "$tap.digest")
	printf '%s: %d passed, %d failed, %d skipped\n' "$name" "$p" "$f" "$s"
	sed '/^= /d; s/^/    /' "$tap.digest"
	[ "$f" -eq 0 ] || broken+=("$name; see $tap")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# test_jdks [--few | WORD...]: on all at hand, on those named, or on few: one of 17,
# of 8 and of the newest release. What is not at hand is skipped.
test_jdks() {
	local word names name version all jdks=() most=1000
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
	while IFS=$'\t' read -r name version _; do
		case " ${jdks[*]} " in
		*" $name "*) test_jdk "$name" "$version" ;;
		esac
	done <<<"$all"
}
