# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./dev kernels: files out of Debian's packages, by tests/debian.sh. They
# are downloaded and never installed, and what Debian calls its kernels today is
# looked up. All of it stays under build-kernels/.

KERNELS_DIR=$PWD/build-kernels
APT_DIR=$KERNELS_DIR/apt
# shellcheck disable=SC2034 # for tests/debian.sh
APT_SUITES="bookworm trixie sid"

# SERIES:SUITE, and where to find the newest of that series.
KERNEL_SERIES="6.1:bookworm 6.12:trixie newest:sid"

# unpack ARCH PACKAGE DIR [PATTERN...]: a package's files, or those that match
unpack() {
	local arch=$1 package=$2 dir=$3 work=$APT_DIR/download
	shift 3
	say "downloading $package of $arch"
	rm -rf "$work"
	mkdir -p "$work" "$dir"
	(cd "$work" && private_apt "$arch" apt-get download "$package") || return
	# A package without a file that matches is no error here.
	dpkg-deb --fsys-tarfile "$work"/*.deb |
		tar -x -C "$dir" --wildcards "$@" 2>/dev/null || [ $# -gt 0 ] || return
	rm -rf "$work"
}

# Kernel packages of an architecture and series, newest first.
kernel_packages() {
	local arch=$1 series=$2 version='[0-9][^-]*'
	[ "$series" = newest ] || version="$series\\.${version}"
	private_apt "$arch" apt-cache search --names-only \
		"^linux-(image|binary)-$version(-[0-9]+)?-cloud-$arch(-unsigned)?\$" |
		awk '{
			version = $1
			sub(/^linux-(image|binary)-/, "", version)
			sub(/-unsigned$/, "", version)
			print version, $1
		}' | sort -rV
}

# The kernel's file, if it is here.
kernel_file() {
	find "$KERNELS_DIR/$1/$2" -name 'vmlinuz*' 2>/dev/null
}

# fetch_kernel ARCH SERIES: some of the packages hold nothing but dependencies
fetch_kernel() {
	local arch=$1 series=$2 dir=$KERNELS_DIR/$1/$2 release package tries=0
	local work=$KERNELS_DIR/unpacked file
	[ -z "$(kernel_file "$arch" "$series")" ] || return 0
	update_private_apt "$arch" || return
	while [ $((tries += 1)) -le 4 ] && read -r release package; do
		rm -rf "$work"
		unpack "$arch" "$package" "$work" '*/vmlinuz*' || return
		file=$(find "$work" -name 'vmlinuz*' -type f)
		[ -n "$file" ] || continue
		mkdir -p "$dir"
		mv "$file" "$dir/vmlinuz-$release"
		rm -rf "$work"
		return 0
	done < <(kernel_packages "$arch" "$series")
	return 1
}

# What an image holds beside the project's own programs: a shell; and cmocka,
# to compile against, where the machine's own is of another architecture.
fetch_tools() {
	local arch=$1 dir=$KERNELS_DIR/$1/sysroot package
	[ "$arch" != amd64 ] || return 0
	[ ! -e "$dir/complete" ] || return 0
	update_private_apt "$arch" || return
	for package in busybox-static libcmocka0 libcmocka-dev; do
		unpack "$arch" "$package/bookworm" "$dir" || return
	done
	touch "$dir/complete"
}

# Everything that the images and boots of an architecture need.
fetch_all() {
	local arch=$1 series
	for series in $KERNEL_SERIES; do
		fetch_kernel "$arch" "${series%:*}" || return
	done
	fetch_tools "$arch"
}
