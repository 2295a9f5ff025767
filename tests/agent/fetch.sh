# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./dev jdks: JDKs out of the packages of Debian sid, with the libraries
# that they need, unpacked into a root of their own. Nothing is installed, and no
# package's script is run. All of it stays under build-jdks/:
#
#   root/            what tests/agent/jdk.sh makes the root of its process
#   sid-N.complete   JDK N is whole; holds its folder in there
#   unpacked/        a file for each package that is unpacked and whole

JDKS_DIR=$PWD/build-jdks
APT_DIR=$JDKS_DIR/apt
# shellcheck disable=SC2034 # for tests/debian.sh
APT_SUITES=sid
JDK_RELEASES="8 11 17 21 25 26 newest"
JDKS_ARCH=$(dpkg --print-architecture 2>/dev/null || true)

# apt, on a machine that has no packages yet, and keeps downloads where a later
# try finds them
empty_apt() {
	private_apt "$JDKS_ARCH" "$@" -oDir::State::status="$APT_DIR/status" \
		-oDir::Cache::archives="$JDKS_DIR/download" -oDebug::NoLocking=1 \
		--no-install-recommends
}

# What sid has, asked once in a run, and only if something is to be had.
know_packages() {
	[ ! -e "$APT_DIR/status" ] || return 0
	update_private_apt "$JDKS_ARCH" && : >"$APT_DIR/status"
}

newest_release() {
	private_apt "$JDKS_ARCH" apt-cache search --names-only '^openjdk-[0-9]+-jdk-headless$' |
		sed 's/^openjdk-\([0-9]*\)-.*/\1/' | sort -n | tail -n 1
}

# unpack_package FILE: what a program needs of it, and no JDK's own modules to
# link, sources and static libraries
unpack_package() {
	local name
	name=$(basename "$1" .deb)
	[ ! -e "$JDKS_DIR/unpacked/$name" ] || return 0
	dpkg-deb --fsys-tarfile "$1" |
		tar -x -C "$JDKS_DIR/root" --no-same-owner --keep-directory-symlink \
			--exclude='./usr/share/*' --exclude='./var/*' \
			--exclude='*/jmods' --exclude='*/src.zip' --exclude='*.a' \
			--exclude='*/demo' || return
	: >"$JDKS_DIR/unpacked/$name"
}

# check_jdk HOME: it runs, and starts as fast as an installed one: the script of
# its package would make the archive of classes that this takes
check_jdk() {
	tests/agent/jdk.sh in-root "$1/bin/java" -version >"$APT_DIR/said" 2>&1 || return
	compgen -G "$JDKS_DIR/root$1/lib/server/classes*.jsa" >/dev/null ||
		compgen -G "$JDKS_DIR/root$1/jre/lib/*/server/classes*.jsa" >/dev/null ||
		tests/agent/jdk.sh in-root "$1/bin/java" -Xshare:dump >/dev/null 2>&1 ||
		say "without an archive of classes: $1"
}

# fetch_jdk RELEASE: says on standard output why not
fetch_jdk() {
	local jdk=$1 package=openjdk-$1-jdk-headless files file home
	[ ! -e "$JDKS_DIR/sid-$jdk.complete" ] || return 0
	if ! know_packages; then
		echo "Debian's list of packages cannot be downloaded"
		return 1
	fi
	# A shell comes along, for what a JVM starts through one.
	if ! files=$(empty_apt apt-get install --print-uris "$package" dash 2>"$APT_DIR/said"); then
		echo "sid has no $package, or not what it needs: $(tail -n 1 "$APT_DIR/said")"
		return 1
	fi
	say "downloading $package of sid"
	mkdir -p "$JDKS_DIR"/{download/partial,unpacked,root/usr/{bin,sbin,lib,lib64}}
	# sid's packages take these links for granted.
	for file in bin sbin lib lib64; do
		ln -sfn "usr/$file" "$JDKS_DIR/root/$file"
	done
	if ! empty_apt apt-get install --yes --download-only "$package" dash \
		>"$APT_DIR/said" 2>&1; then
		echo "$package cannot be downloaded: $(tail -n 1 "$APT_DIR/said")"
		return 1
	fi
	while read -r _ file _; do
		if ! unpack_package "$JDKS_DIR/download/$file"; then
			echo "$file cannot be unpacked"
			return 1
		fi
	done <<<"$files"
	home=$(find "$JDKS_DIR/root/usr/lib/jvm" -mindepth 1 -maxdepth 1 -type d \
		-name "java-$jdk-openjdk-*" | head -n 1)
	home=${home#"$JDKS_DIR/root"}
	if [ -z "$home" ]; then
		echo "$package holds no JDK where one is looked for"
		return 1
	fi
	if ! check_jdk "$home"; then
		echo "it does not run: $(head -n 1 "$APT_DIR/said")"
		return 1
	fi
	printf '%s\n' "$home" >"$JDKS_DIR/sid-$jdk.part"
	mv "$JDKS_DIR/sid-$jdk.part" "$JDKS_DIR/sid-$jdk.complete"
}

# The newest that was brought, or else the newest of sid, which is kept in mind.
resolve_newest() {
	if [ ! -s "$JDKS_DIR/newest" ]; then
		know_packages || return
		newest_release >"$JDKS_DIR/newest"
	fi
	cat "$JDKS_DIR/newest"
}

# jdks [RELEASE...]: fails if one of them could not be had
jdks() {
	local jdk release why missing=0
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		say "skipped: this takes the JDKs of Debian's packages, and there is no apt here"
		return 1
	fi
	need util-linux
	mkdir -p "$JDKS_DIR"
	rm -rf "$APT_DIR"
	# shellcheck disable=SC2086 # a list of words
	[ $# -gt 0 ] || set -- $JDK_RELEASES
	for jdk in "$@"; do
		release=$jdk
		if [ "$jdk" = newest ] && ! release=$(resolve_newest); then
			why="Debian's list of packages cannot be downloaded"
		elif why=$(fetch_jdk "$release"); then
			continue
		fi
		say "skipped JDK $jdk: $why"
		missing=$((missing + 1))
	done
	rm -rf "$APT_DIR" "$JDKS_DIR/download"
	say "at hand:"
	tests/agent/jdk.sh list | cut -f 1,2 | column -t -s "$(printf '\t')"
	[ "$missing" -eq 0 ]
}
