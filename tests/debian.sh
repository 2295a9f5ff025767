# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Debian's packages of suites other than this machine's, by an apt configuration
# of its own: nothing is installed, and the machine's own package set stays as it
# is. Who uses it sets APT_DIR, which all of it stays under, and APT_SUITES.

# The mirror that this machine has Debian from.
find_mirror() {
	# shellcheck disable=SC2016 # for apt
	apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' \
		'Created-By: Packages' |
		awk -F '|' '$1 == "Debian" && $2 == "Debian" && !n++ { print $3 }'
}

# private_apt ARCH COMMAND ARG...: apt-get or apt-cache, as on a machine of that
# architecture
private_apt() {
	local arch=$1 command=$2
	shift 2
	"$command" -qq -oDir::Etc::sourcelist="$APT_DIR/sources.list" \
		-oDir::Etc::sourceparts=/dev/null \
		-oDir::State::Lists="$APT_DIR/$arch/lists" \
		-oDir::Cache="$APT_DIR/$arch/cache" \
		-oAPT::Architecture="$arch" -oAPT::Architectures="$arch" \
		-oAPT::Sandbox::User="$(id -un)" \
		-oAcquire::Languages=none \
		-oAcquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		"$@"
}

# Lets private_apt know what there is.
update_private_apt() {
	local arch=$1 mirror suite
	[ ! -d "$APT_DIR/$arch" ] || return 0
	mirror=$(find_mirror)
	if [ -z "$mirror" ]; then
		as_root apt-get update -qq || return
		mirror=$(find_mirror)
	fi
	[ -n "$mirror" ] || return
	say "looking up Debian's packages for $arch"
	mkdir -p "$APT_DIR/$arch"/{lists,cache/archives}/partial
	for suite in $APT_SUITES; do
		printf 'deb [signed-by=%s] %s %s main\n' \
			/usr/share/keyrings/debian-archive-keyring.gpg \
			"$mirror" "$suite"
	done >"$APT_DIR/sources.list"
	if ! private_apt "$arch" apt-get update -oAPT::Update::Error-Mode=any; then
		rm -rf "${APT_DIR:?}/$arch"
		return 1
	fi
}
