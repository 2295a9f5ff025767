# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The worlds, and how a command is run in each of them. meson sets WORLD, and
# BUILD_ROOT, the path of the build.

: "${WORLD:?the name of a world below}"
: "${BUILD_ROOT:?the path of the build}"

# Where the programs may be run by any user.
setup_file() {
	local program
	PROGRAMS=$(mktemp -d)
	export PROGRAMS
	chmod 755 "$PROGRAMS"
	for program in "$CPUCLOCK" "$BUILD_ROOT"/tests/{deny,every_call} \
		"$BUILD_ROOT"/tests/filter.so \
		"$BUILD_ROOT"/tests/test_{source,self,threads,snapshot}; do
		if [ -e "$program" ]; then
			install -m 755 "$program" "$PROGRAMS"
		fi
	done
	# Some other process, of this user.
	sleep 1000 3>&- &
	export OTHER=$!
	CANNOT=$(cannot_enter "$WORLD")
	export CANNOT
}

teardown_file() {
	kill "$OTHER"
	rm -rf "$PROGRAMS"
}

setup() {
	[ -z "$CANNOT" ] || skip "$CANNOT"
	cd /
}

in_list() {
	[[ " $2 " = *" $1 "* ]]
}

# enter WORLD COMMAND...: as the command exits, or with an error of its own if
# this machine cannot make the world
enter() {
	local world=$1
	shift
	case $world in
	perf-eperm) deny EPERM perf_event_open -- "$@" ;;
	perf-eacces) deny EACCES perf_event_open -- "$@" ;;
	perf-enosys) deny ENOSYS perf_event_open -- "$@" ;;
	clocks-denied) deny EPERM cpu_clock_gettime -- "$@" ;;
	rusage-denied) deny EPERM getrusage -- "$@" ;;
	neither-epoch)
		GLIBC_TUNABLES=glibc.pthread.rseq=0 deny EPERM perf_event_open \
			-- "$@"
		;;
	rseq-off) GLIBC_TUNABLES=glibc.pthread.rseq=0 "$@" ;;
	no-proc) mounted 'mount -t tmpfs none /proc' "$@" ;;
	no-tracefs)
		# Nor may it be mounted.
		mounted 'mount -t tmpfs none /sys/kernel' "$PROGRAMS/deny" \
			EPERM mount fsopen move_mount open_tree unshare -- "$@"
		;;
	hidepid) with_hidepid "$@" ;;
	few-files) (ulimit -n 16 && "$@") ;;
	no-memlock) (ulimit -l 0 && "$@") ;;
	nobody) as_nobody "$@" ;;
	no-capabilities)
		setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"
		;;
	one-cpu) on_one_cpu "$@" ;;
	*) echo "no world '$world'" >&2 && return 2 ;;
	esac
}

deny() {
	"$PROGRAMS/deny" "$@"
}

# mounted SCRIPT COMMAND...: after the script, which mounts for nobody else
mounted() {
	local script=$1 namespace=--mount
	shift
	# Where a user may not, a namespace of the user's own may allow it.
	unshare --mount true 2>/dev/null ||
		namespace='--map-root-user --mount'
	# shellcheck disable=SC2086 # words
	unshare $namespace bash -ec "$script; exec \"\$@\"" bash "$@"
}

as_nobody() {
	if [ "$(id -u)" -eq 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
	else
		"$@"
	fi
}

# In a PID namespace of its own, because older kernels have one hidepid for
# all mounts of one; the shell there is root's, and hidden.
with_hidepid() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount --pid --fork --kill-child bash -c '
		mount -t proc -o hidepid=2 proc /proc || exit
		setpriv --reuid 65534 --regid 65534 --clear-groups -- "$@"
		code=$?
		exit $code' bash "$@"
}

on_one_cpu() {
	local list
	list=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
	taskset -c "${list%%[-,]*}" "$@"
}

# Why a world cannot be made; empty if it can.
cannot_enter() {
	local why
	if ! why=$(enter "$1" true 2>&1); then
		echo "this machine cannot make this world: ${why%%$'\n'*}"
	elif [ "$1" = hidepid ] &&
		! grep -q 'hidepid' <(enter hidepid cat /proc/mounts); then
		echo "this kernel does not know hidepid"
	elif [ "$1" = rseq-off ] && enter rseq-off ldd --version 2>&1 |
		grep -q musl; then
		echo "this libc registers no rseq"
	fi
}

# What `info` must say in a world, of what is off and why; a pattern a line.
said_by_info() {
	case $1 in
	perf-eperm)
		echo 'perf events +denied \(EPERM\)'
		echo ' taskclock does not work here: perf_event_open.*denied'
		;;
	perf-eacces)
		echo 'perf events +denied \(EACCES\)'
		echo ' taskclock does not work here: perf_event_open.*denied'
		;;
	perf-enosys)
		echo 'perf events .*(kernel|seccomp filter) has none'
		echo ' taskclock does not work here: .*perf'
		;;
	clocks-denied)
		echo ' self does not work here: clock_gettime.*seccomp'
		echo ' posix does not work here: clock_gettime.*seccomp'
		echo ' rusage does not work here: .*clock_gettime.*seccomp'
		echo 'Allow clock_gettime'
		;;
	rusage-denied)
		echo ' rusage does not work here: getrusage.*seccomp'
		echo 'Allow .*getrusage'
		;;
	rseq-off) echo 'rseq +not registered.*(GLIBC_TUNABLES|libc)' ;;
	neither-epoch)
		echo ' fast does not work here: rseq: .*GLIBC_TUNABLES.*; perf: .*denied'
		echo 'cpuclock_total\(\) +self$'
		echo 'cpuclock_user\(\).* rusage$'
		;;
	no-proc)
		echo ' proc does not work here: .*/proc.*mount'
		echo ' schedstat does not work here: .*/proc.*mount'
		echo 'mount -t proc'
		;;
	no-tracefs) echo 'trac(efs|epoint)' ;;
	hidepid | nobody) echo 'as root' ;;
	few-files | no-memlock | no-capabilities) ;;
	one-cpu) echo 'processor .* 1 CPU to use' ;;
	esac
}

# The sources that cannot work in a world. fast and taskclock need more than
# every machine has; the others must work wherever they are not named here.
off_in() {
	case $1 in
	perf-*) echo taskclock ;;
	neither-epoch) echo fast taskclock ;;
	clocks-denied) echo fast taskclock self posix rusage ;;
	rusage-denied) echo rusage ;;
	no-proc) echo schedstat proc ;;
	esac
}
