# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./dev kernels: compiles the project for an architecture, and packs the
# first file system of a guest.

# tool ARCH NAME: binutils and such
tool() {
	case $1 in
	arm64) printf 'aarch64-linux-gnu-%s' "$2" ;;
	*) printf '%s' "$2" ;;
	esac
}

# Twice: the command and epochs as static programs, which need nothing; and the
# unit tests against libc and cmocka, of which there is no static one.
build_guest() {
	local arch=$1 dir=$KERNELS_DIR/$1
	local options=(-Djson=disabled -Dzlib=disabled -Ddw=disabled -Diberty=disabled)
	if [ "$arch" = arm64 ]; then
		printf "[properties]\nsys_root = '%s'\npkg_config_libdir = '%s'\n" \
			"$dir/sysroot" \
			"$dir/sysroot/usr/lib/aarch64-linux-gnu/pkgconfig" \
			>"$dir/sysroot.ini"
		options+=(--cross-file tests/kernels/aarch64.ini
			--cross-file "$dir/sysroot.ini")
	fi
	configure "$dir/static" "${options[@]}" -Dc_link_args=-static
	ninja -C "$dir/static" --quiet cli/cpuclock tests/kernels/epochs
	configure "$dir/build" "${options[@]}"
	compile "$dir/build"
}

# The tests of a build that are programs: NAME, a tab, and its command line.
guest_tests() {
	meson introspect --tests "$KERNELS_DIR/$1/build" | python3 -c '
import json, os, shlex, sys
for test in json.load(sys.stdin):
    if {"unit", "fuzz"} & {suite.split(":")[-1] for suite in test["suite"]}:
        print(test["name"].replace(" ", "-"), shlex.join(test["cmd"]), sep="\t")
'
}

# A shared library's file, by its name.
find_library() {
	local arch=$1 name=$2 dir
	case $arch in
	arm64) set -- "$KERNELS_DIR/arm64/sysroot/usr/lib/aarch64-linux-gnu" \
		/usr/aarch64-linux-gnu/lib ;;
	*) set -- /lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu /lib64 ;;
	esac
	for dir in "$@"; do
		if [ -e "$dir/$name" ]; then
			printf '%s\n' "$dir/$name"
			return
		fi
	done
	die "no $name for $arch"
}

# add_libraries ARCH ROOT FILE: what it needs, and what that needs
add_libraries() {
	local arch=$1 root=$2 name file
	for name in $("$(tool "$arch" readelf)" -d "$3" |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		[ ! -e "$root/lib/$name" ] || continue
		file=$(find_library "$arch" "$name")
		install -D -m 755 "$file" "$root/lib/$name"
		add_libraries "$arch" "$root" "$file"
	done
}

# add_program ARCH ROOT FILE PATH: without what debuggers need
add_program() {
	mkdir -p "$(dirname "$2/$4")"
	"$(tool "$1" strip)" -o "$2/$4" "$3"
	add_libraries "$1" "$2" "$3"
}

# pack ARCH: build-kernels/ARCH/initrd
pack() {
	local arch=$1 dir=$KERNELS_DIR/$1 name program args file
	local root=$dir/root busybox=/bin/busybox
	[ "$arch" = amd64 ] || busybox=$dir/sysroot/bin/busybox
	rm -rf "$root"
	mkdir -p "$root"/{bin,dev,etc,lib,proc,sys,tests,tmp,var/tmp}
	ln -s lib "$root/lib64"
	install -m 755 "$busybox" "$root/bin/busybox"
	install -m 755 tests/kernels/init "$root/init"
	add_program "$arch" "$root" "$dir/static/cli/cpuclock" bin/cpuclock
	add_program "$arch" "$root" "$dir/static/tests/kernels/epochs" bin/epochs
	# The unit tests look for their data, and for what they load, where they
	# were compiled.
	mkdir -p "$root$PWD/tests/fuzz"
	cp -r tests/data "$root$PWD/tests"
	cp -r tests/fuzz/corpus "$root$PWD/tests/fuzz"
	while read -r file; do
		add_program "$arch" "$root" "$file" "$file"
	done < <(find "$dir/build"/{lib,tests} -path '*.p' -prune -o -type f -perm -u+x \
		! -name 'test_*' -print)
	# The loader's name is in each program, and differs from what it needs.
	[ "$arch" = amd64 ] &&
		install -m 755 /lib64/ld-linux-x86-64.so.2 "$root/lib"
	[ "$arch" = arm64 ] &&
		install -m 755 /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 "$root/lib"
	while IFS=$'\t' read -r name program; do
		args=${program#* }
		[ "$args" != "$program" ] || args=
		program=${program%% *}
		add_program "$arch" "$root" "$program" "tests/$name"
		printf '%s %s\n' "$name" "$args"
	done < <(guest_tests "$arch") >"$root/tests/list"
	grep -q '^procparse ' "$root/tests/list" || die "no unit tests for $arch"
	cp tests/kernels/{skip,slow} "$root/tests"
	(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet | gzip -1) >"$dir/initrd"
}
