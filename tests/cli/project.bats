#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What the project promises about itself: its symbols, versions, pages,
# installed files, and that a user's build finds them.

# shellcheck disable=SC2154 # capture sets code, out and err
load common

: "${BUILD_ROOT:?the path of the build}"

so=$BUILD_ROOT/lib/libcpuclock.so
archive=$BUILD_ROOT/lib/libcpuclock.a
map=$SOURCE_ROOT/lib/cpuclock.map
header=$SOURCE_ROOT/include/cpuclock.h

# CC may be several words.
read -ra cc <<<"${CC:-cc}"

# Installs once, for all tests.
setup_file() {
	export DESTDIR=$BATS_FILE_TMPDIR/root
	meson install -C "$BUILD_ROOT" --no-rebuild --destdir "$DESTDIR" \
		>"$BATS_FILE_TMPDIR/install.log" 2>&1 ||
		touch "$BATS_FILE_TMPDIR/not-installed"
}

needs_install() {
	[ ! -e "$BATS_FILE_TMPDIR/not-installed" ] || {
		[ -w "$BUILD_ROOT/meson-logs" ] ||
			skip "this user may not write to the build directory"
		cat "$BATS_FILE_TMPDIR/install.log"
		return 1
	}
}

# installed PATTERN: the one installed file whose path matches
installed() {
	local found
	found=$(find "$DESTDIR" ! -type d -path "$DESTDIR/$1")
	if [ "$(wc -w <<<"$found")" -ne 1 ]; then
		echo "not one file is installed as $1: '$found'" >&2
		return 1
	fi
	echo "$found"
}

# The user's pkg-config, which knows no other place than the installed one.
pc() {
	local file
	file=$(installed '*/pkgconfig/cpuclock.pc')
	PKG_CONFIG_LIBDIR=${file%/*} PKG_CONFIG_SYSROOT_DIR=$DESTDIR \
		pkg-config "$@" cpuclock
}

exported() {
	nm -D --defined-only "$so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

# Every function that the header declares, outside of comments.
declared() {
	"${cc[@]}" -E -P -x c "$header" |
		grep -oE '\<cpuclock_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u
}

project_version() {
	sed -nE "s/^ *version: '(.*)',/\1/p" "$SOURCE_ROOT/meson.build"
}

# ---- Symbols

@test "the shared library exports what its map says, no more" {
	local in_map
	in_map=$(grep -oE '^\s+cpuclock_\w+;' "$map" | tr -d '\t ;' | sort)
	diff <(exported) - <<<"$in_map"
}

@test "the shared library exports what the header declares" {
	diff <(exported) <(declared)
}

@test "every exported symbol has a version of the project" {
	nm -D --defined-only "$so" | awk '$2 != "A" { print $3 }' >"$BATS_TEST_TMPDIR/x"
	[ -s "$BATS_TEST_TMPDIR/x" ]
	run ! grep -vE '@@?CPUCLOCK_[0-9]+\.[0-9]+$' "$BATS_TEST_TMPDIR/x"
}

@test "every global symbol of the archive begins with cpuclock_" {
	nm -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' >"$BATS_TEST_TMPDIR/x"
	[ -s "$BATS_TEST_TMPDIR/x" ]
	run ! grep -v '^cpuclock_' "$BATS_TEST_TMPDIR/x"
}

@test "the shared library needs libc alone" {
	capture readelf -d "$so"
	[ "$(sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' "$out")" = \
		"$(sed -nE 's/.*\(NEEDED\).*\[(libc\..*)\]/\1/p' "$out")" ] ||
		explain "more is needed"
}

@test "the shared library stays loaded after dlclose, and has a soname" {
	capture readelf -d "$so"
	grep -q 'FLAGS_1.*NODELETE' "$out" || explain "it can be unloaded"
	grep -q 'SONAME.*libcpuclock\.so\.0' "$out" || explain "no soname"
}

@test "the library prints nothing, ends nothing and reads no environment" {
	nm -u "$archive" | awk '{ print $NF }' | sort -u >"$BATS_TEST_TMPDIR/x"
	[ -s "$BATS_TEST_TMPDIR/x" ]
	run ! grep -xE '(secure_)?getenv|environ|_?exit|_Exit|quick_exit|abort|__assert_fail|f?puts|putchar|v?f?d?printf|__v?f?d?printf_chk|write|syslog|perror|stderr|stdout' \
		"$BATS_TEST_TMPDIR/x"
}

@test "no stack or code of the shared library is writable and executable" {
	capture readelf -lW "$so"
	lacks ' RWE ' "$out"
}

# ---- Versions

@test "the newest node of the map is not newer than the project" {
	local node version
	version=$(project_version)
	node=$(sed -nE 's/^CPUCLOCK_([0-9.]+) .*/\1/p' "$map" | sort -V | tail -n 1)
	[ -n "$node" ]
	[ "$(printf '%s\n%s\n' "$node" "$version" | sort -V | tail -n 1)" = \
		"$version" ] || [ "$node.0" = "$version" ]
}

@test "the newest heading of the change log is the project's version" {
	local heading
	heading=$(grep -E '^## ' "$SOURCE_ROOT/CHANGELOG.md" |
		grep -viE '^## *\[?unreleased' | head -n 1)
	echo "heading: $heading"
	[[ $heading =~ ^##\ \[?([0-9.]+) ]]
	[ "${BASH_REMATCH[1]}" = "$(project_version)" ]
}

@test "the man pages name the project's version" {
	local page
	for page in 1 3 7; do
		echo "cpuclock.$page"
		grep -qxF ".Os cpuclock $(project_version)" \
			"$SOURCE_ROOT/man/cpuclock.$page"
	done
}

# ---- Pages

@test "every option of every --help is in cpuclock(1), short and long" {
	local command option
	for command in "" $(all_commands); do
		# shellcheck disable=SC2086 # no word for the first
		"$CPUCLOCK" $command --help | grep -oE '(^|[ ([])--?[a-zA-Z][a-z-]*' |
			grep -oE -- '-.*'
	done | sort -u >"$BATS_TEST_TMPDIR/options"
	grep -qx -- --version "$BATS_TEST_TMPDIR/options"
	while read -r option; do
		# In mdoc: .Fl -json, or .It Fl h , -help
		grep -qE -- "^\.(.* )?Fl (. , )?${option#-}( |$|\))" \
			"$SOURCE_ROOT/man/cpuclock.1" || {
			echo "$option is not in cpuclock(1)"
			return 1
		}
	done <"$BATS_TEST_TMPDIR/options"
}

@test "every command, kind and source is in cpuclock(1)" {
	local word
	sources "$CPUCLOCK" info --json | cut -d : -f 1 >"$BATS_TEST_TMPDIR/sources"
	for word in $(all_commands) total user system ticks CPUCLOCK_SOURCE \
		$(cat "$BATS_TEST_TMPDIR/sources"); do
		echo "$word"
		grep -qwF "$word" "$SOURCE_ROOT/man/cpuclock.1"
	done
}

@test "every source and word of the design is in cpuclock(7)" {
	local word
	sources "$CPUCLOCK" info --json | cut -d : -f 1 >"$BATS_TEST_TMPDIR/sources"
	for word in $(cat "$BATS_TEST_TMPDIR/sources") ticks total clockid_t; do
		echo "$word"
		grep -qwF "$word" "$SOURCE_ROOT/man/cpuclock.7"
	done
}

@test "every exported function is in cpuclock(3), with its prototype" {
	local name
	for name in $(exported); do
		echo "$name"
		grep -qE "^\.Nm $name( ,)?$" "$SOURCE_ROOT/man/cpuclock.3"
		grep -qE "^\.F[no] $name( |$)" "$SOURCE_ROOT/man/cpuclock.3"
	done
}

@test "every function's comment says how safe it is and what it costs" {
	exported >"$BATS_TEST_TMPDIR/names"
	python3 - "$header" "$BATS_TEST_TMPDIR/names" <<'PYTHON'
import re, sys
text = open(sys.argv[1]).read()
names = open(sys.argv[2]).read().split()
COST = r"no system call|\d+ system call|(one|two|most one) system call|system calls|allocates|frees|no allocation"
def comment_of(name):
    """The comment above its declaration, or above the group it is one of."""
    at = re.search(rf"^(?=[a-z])[^/\n]*\b{name}\(", text, re.M)
    assert at, f"{name} is not declared"
    return " ".join(re.findall(r"/\*.*?\*/", text[:at.start()], re.S)[-1]
                    .replace("\n *", " ").split())
for name in names:
    comment = comment_of(name)
    assert re.search(rf"\b{name}\b", comment), f"{name}: not its comment"
    reference = re.search(r"safety and cost as for (\w+)", comment, re.I)
    if reference:
        # Within a family the last word of the name will do.
        family = name.rsplit("_", 1)[0] + "_"
        other = reference[1]
        comment = comment_of(other if other in names else family + other)
    assert re.search(r"\b(not )?MT-Safe\b", comment), f"{name}: no MT-Safe"
    assert re.search(r"\b(not )?AS-Safe\b", comment), f"{name}: no AS-Safe"
    assert re.search(COST, comment, re.I), f"{name}: no cost"
PYTHON
}

@test "the man pages are without a warning of mandoc" {
	needs mandoc
	mandoc -T lint -W warning "$SOURCE_ROOT"/man/cpuclock.[137]
}

# ---- Installed

@test "install gives header, libraries, shim, pkg-config file, command and pages" {
	needs_install
	cmp "$(installed '*/include/cpuclock.h')" "$header"
	installed '*/lib*/libcpuclock.a'
	installed '*/lib*/libcpuclock.so'
	installed '*/lib*/libcpuclock.so.0'
	installed '*/pkgconfig/cpuclock.pc'
	installed '*/lib*/libcpuclock-preload.so'
	installed '*/bin/cpuclock'
	installed '*/man/man1/cpuclock.1*'
	installed '*/man/man3/cpuclock.3*'
	installed '*/man/man7/cpuclock.7*'
	installed '*/bash-completion/completions/cpuclock'
}

@test "install gives the internals to nobody" {
	needs_install
	[ "$(find "$DESTDIR" -name '*.h' | wc -l)" -eq 1 ]
	[ "$(find "$DESTDIR" -path '*/bin/*' | wc -l)" -eq 1 ]
	[ "$(find "$DESTDIR" -name '*.a' | wc -l)" -eq 1 ]
}

@test "the installed command runs, and names its version" {
	needs_install
	prints "^cpuclock $(project_version)\$" "$(installed '*/bin/cpuclock')" --version
	[ "$(pc --modversion)" = "$(project_version)" ]
}

# complete WORD...: what the shell offers for the last word
complete_words() {
	bash -c '
		complete() { [[ $1 != -F ]] || completer=$2; }
		compopt() { :; }
		. "$1"
		shift
		[ -n "$completer" ]
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
		"$completer" cpuclock "${COMP_WORDS[COMP_CWORD]}" \
			"${COMP_WORDS[COMP_CWORD - 1]}"
		printf "%s\n" "${COMPREPLY[@]}"
	' bash "$(installed '*/bash-completion/completions/cpuclock')" "$@" |
		sed 's/ *$//'
}

# What the shell offers is what the command says.
@test "shell completion offers the commands and every long option" {
	local command option
	needs_install
	export PATH=${CPUCLOCK%/*}:$PATH
	complete_words cpuclock "" >"$BATS_TEST_TMPDIR/commands"
	for command in $(all_commands); do
		grep -qx "$command" "$BATS_TEST_TMPDIR/commands" || {
			echo "the command $command is not offered"
			return 1
		}
		complete_words cpuclock "$command" -- >"$BATS_TEST_TMPDIR/offered"
		for option in $("$CPUCLOCK" "$command" --help |
			grep -oE '^ .{0,6}--[a-z]+' | grep -oE -- '--.*'); do
			grep -qE "^$option=?$" "$BATS_TEST_TMPDIR/offered" || {
				echo "$command: $option is not offered"
				return 1
			}
		done
	done
}

# ---- A user's program

user_program() {
	cd "$BATS_TEST_TMPDIR" || return
	cat >user.c <<-'END'
		#include <cpuclock.h>
		#include <stdio.h>

		int main(void)
		{
			struct cpuclock_times times;
			struct cpuclock *clock;
			int64_t time_ns;

			if (cpuclock_open(CPUCLOCK_SELF, 0, CPUCLOCK_TOTAL, NULL, &clock))
				return 1;
			time_ns = cpuclock_read(clock);
			cpuclock_close(clock);
			if (cpuclock_self(&times) || times.total_ns < time_ns)
				return 1;
			if (times.user_ns + times.system_ns != times.total_ns)
				return 1;
			return puts(cpuclock_self_source()) < 0;
		}
	END
}

# build_and_run COMPILER... -- FLAG...: with pkg-config's flags and no other
# knowledge of where the library is
build_and_run() {
	local compiler=() cflags libs
	while [ "$1" != -- ]; do
		compiler+=("$1")
		shift
	done
	shift
	read -ra cflags <<<"$(pc --cflags)"
	read -ra libs <<<"$(pc "$@" --libs)"
	# The library comes after what needs it.
	capture "${compiler[@]}" "${cflags[@]}" user.c -o user "${libs[@]}"
	[ "$code" -eq 0 ] || explain "it does not build"
	[ ! -s "$err" ] || explain "a warning"
	prints '^[a-z:]+$' env LD_LIBRARY_PATH="$(dirname \
		"$(installed '*/lib*/libcpuclock.so.0')")" ./user
}

@test "a user's program in C99 builds with pkg-config's flags alone" {
	needs_install
	needs pkg-config
	user_program
	build_and_run "${cc[@]}" -std=c99 -pedantic -Wall -Wextra -Werror --
	readelf -d user | grep -q 'NEEDED.*libcpuclock.so.0'
}

@test "a user's program in C11, C17 and the newest C" {
	local standard
	needs_install
	needs pkg-config
	user_program
	for standard in c11 c17 c2x; do
		"${cc[@]}" -std=$standard -fsyntax-only -x c /dev/null 2>/dev/null ||
			continue
		build_and_run "${cc[@]}" -std=$standard -pedantic -Wall -Wextra \
			-Werror --
	done
}

@test "a user's program in C++11 and later" {
	local standard
	needs_install
	needs pkg-config
	needs c++
	user_program
	for standard in c++11 c++14 c++17 c++20 c++23; do
		c++ -std=$standard -fsyntax-only -x c++ /dev/null 2>/dev/null ||
			continue
		build_and_run c++ -x c++ -std=$standard -pedantic -Wall -Wextra \
			-Werror --
	done
}

@test "a user's program, static" {
	needs_install
	needs pkg-config
	user_program
	echo 'int main(void) { return 0; }' >nothing.c
	"${cc[@]}" -static nothing.c -o nothing ||
		skip "there is no static libc here"
	build_and_run "${cc[@]}" -static -std=c99 -Wall -Werror -- --static
	capture readelf -d user
	lacks NEEDED "$out"
}

@test "a library of a user's, loaded with dlopen" {
	needs_install
	needs pkg-config
	cd "$BATS_TEST_TMPDIR"
	cat >plugin.c <<-'END'
		#include <cpuclock.h>
		int64_t plugin_time(void);
		int64_t plugin_time(void) { return cpuclock_user(); }
	END
	cat >host.c <<-'END'
		#include <dlfcn.h>
		#include <stdint.h>
		int main(void)
		{
			for (int i = 0; i < 3; i++) {
				void *plugin = dlopen("./plugin.so", RTLD_NOW);
				int64_t (*time)(void);

				if (!plugin)
					return 1;
				*(void **)&time = dlsym(plugin, "plugin_time");
				if (!time || time() < 0 || dlclose(plugin))
					return 1;
			}
			return 0;
		}
	END
	# shellcheck disable=SC2046 # lists of words
	"${cc[@]}" -fPIC -shared $(pc --cflags) plugin.c -o plugin.so $(pc --libs)
	"${cc[@]}" host.c -o host -ldl
	LD_LIBRARY_PATH=$(dirname "$(installed '*/lib*/libcpuclock.so.0')") ./host
}

# ---- The README

@test "README's example in C compiles and runs" {
	needs_install
	needs pkg-config
	cd "$BATS_TEST_TMPDIR"
	awk '/^```c$/ { on = 1; next } /^```/ && on { exit } on' \
		"$SOURCE_ROOT/README.md" >user.c
	[ -s user.c ]
	# shellcheck disable=SC2046 # lists of words
	"${cc[@]}" -Wall -Werror $(pc --cflags) user.c -o user $(pc --libs)
	capture env LD_LIBRARY_PATH="$(dirname \
		"$(installed '*/lib*/libcpuclock.so.0')")" ./user
	[ "$code" -eq 0 ] || explain "it fails"
	[ -s "$out" ] || explain "it says nothing"
}

@test "README names the two commands, which dev knows" {
	grep -qF './dev run' "$SOURCE_ROOT/README.md"
	grep -qF './dev test' "$SOURCE_ROOT/README.md"
	"$SOURCE_ROOT/dev" help | grep -qE '^ +run'
	"$SOURCE_ROOT/dev" help | grep -qE '^ +test'
}

@test "every local link of the documents leads to a file" {
	local page link
	for page in README CHANGELOG CONTRIBUTING SECURITY; do
		[ -s "$SOURCE_ROOT/$page.md" ]
		while read -r link; do
			echo "$page.md: $link"
			[ -e "$SOURCE_ROOT/$link" ]
		done < <(grep -oE '\]\([^)#: ]+' "$SOURCE_ROOT/$page.md" | cut -c 3-)
	done
}

@test "every source file names its licence in its first lines" {
	local file
	find "$SOURCE_ROOT"/{include,lib,cli,preload,agent,bench,tests} "$SOURCE_ROOT"/dev \
		"$SOURCE_ROOT"/.ci/run -type f \
		\( -name '*.[ch]' -o -name '*.java' -o -name '*.py' -o -name '*.bats' -o \
		-name '*.bash' -o -name '*.sh' -o -name dev -o -name run \) \
		>"$BATS_TEST_TMPDIR/files"
	while read -r file; do
		echo "$file"
		head -n 3 "$file" | grep -qF 'SPDX-License-Identifier: MIT'
	done <"$BATS_TEST_TMPDIR/files"
}
