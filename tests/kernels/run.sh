# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Part of ./dev kernels: boots the guests by software emulation, and counts.

BOOT_SECONDS=400
slow=

# boot ARCH KERNEL FIRST LOG: the guest's console goes to the log
boot() {
	local arch=$1 kernel=$2 first=$3 log=$4 machine console
	case $arch in
	amd64)
		# Emulation hands on the machine's own TSC, but says nothing of
		# its rate being constant. The CPUs take turns in one thread:
		# with two, one at times runs an int3 that the kernel, as it
		# switched a static key (that of the first perf event), had
		# already taken back, and panics.
		machine="qemu-system-x86_64 -accel tcg,thread=single"
		machine+=" -cpu max,+invtsc,x-force-features=on"
		console="ttyS0 tsc=reliable"
		;;
	arm64)
		machine="qemu-system-aarch64 -M virt -accel tcg,thread=single -cpu max,pauth-impdef=on"
		console=ttyAMA0
		;;
	esac
	# shellcheck disable=SC2086 # words
	timeout "$BOOT_SECONDS" $machine -m 512 -smp 2 -no-reboot -display none \
		-monitor none -serial file:"$log" -nic none -kernel "$kernel" -initrd "$KERNELS_DIR/$arch/initrd" \
		-append "console=$console quiet loglevel=1 panic=-1 FIRST=$first SLOW=$slow" \
		</dev/null 2> >(grep -v 'TCG doesn.t support.*invtsc' >&2)
}

# first_source RELEASE: rseq's words are no epoch since Linux 6.19, where only
# an interrupt of user mode clears them
first_source() {
	local oldest
	oldest=$(printf '%s\n' 6.19 "$1" | sort -V | head -n 1)
	if [ "$oldest" = 6.19 ]; then
		echo fast:perf
	else
		echo fast:rseq
	fi
}

# Reads what a guest said. Prints each failure with what led to it, each skip,
# and at last "= " and the cells of a table's row.
digest() {
	awk '
		function close_program() {
			if (!tap)
				status ? failed++ : passed++
			else if (status && !bad || planned != tap)
				failed++
			if (status || bad || tap && planned != tap)
				printf "! %s: status %s, %d of %d tests\n%s", program,
				       status, tap, planned, text
			program = ""
		}
		/^@ begin / {
			program = $3 " " $4
			text = ""
			tap = bad = planned = 0
			next
		}
		/^@ end / {
			status = $3
			close_program()
			next
		}
		/^@ skip / {
			skipped++
			sub(/^@ skip /, "")
			print "# SKIP " $0
			next
		}
		/^@ done/ { done = 1 }
		program { text = text "    " $0 "\n" }
		program && /^1\.\.[0-9]+/ { planned = substr($0, 4) + 0 }
		program && /^ok .*# SKIP/ {
			tap++
			skipped++
			sub(/^ok [0-9]+ (- )?/, "")
			print "# SKIP " program ": " $0
			next
		}
		program && /^ok / { tap++; passed++ }
		program && /^not ok / { tap++; bad++; failed++ }
		/^# SKIP because/ { print "# SKIP " program ": " substr($0, 8) }
		program == "root epochs" && /^# verdict / {
			name = $3
			sub(/:$/, "", name)
			verdict[name] = $4 == "works" ? "accepted" : "refused"
		}
		program == "root epochs" && /^# cap_user_time: / { cap = $3 }
		program == "root epochs" && /^# in use: / { use = $4 }
		program == "root info" && /^ *cpuclock_total\(\)/ { info = $2 }
		END {
			if (!done) {
				failed++
				printf "! the guest did not come to its end; it last ran %s\n%s",
				       program, text
			}
			if (use && info && use != info) {
				failed++
				print "! info says " info ", epochs says " use
			}
			print "=", info ? info : "-",
			      verdict["fast:rseq"] ? verdict["fast:rseq"] : "-",
			      verdict["fast:perf"] ? verdict["fast:perf"] : "-",
			      cap ? cap : "-", passed + 0, failed + 0, skipped + 0
		}'
}

# digest_log LOG: leaves LOG.digest; prints how many failed
digest_log() {
	tr -d '\r' <"$1" | digest >"$1.digest"
	awk '/^= / { print $7 }' "$1.digest"
}

# boot_all ARCH: one after the other, as each keeps one CPU of the machine busy.
# A guest in which something failed is booted once more: an emulated CPU stands
# still when the machine's own are busy.
boot_all() {
	local arch=$1 series kernel release log start tries failures
	for series in $KERNEL_SERIES; do
		kernel=$(kernel_file "$arch" "${series%:*}")
		release=${kernel##*/vmlinuz-}
		log=$KERNELS_DIR/$arch/${series%:*}.log
		say "booting $release"
		start=$SECONDS
		for tries in 1 2; do
			boot "$arch" "$kernel" "$(first_source "$release")" "$log" || true
			failures=$(digest_log "$log")
			[ "${failures:-1}" -gt 0 ] || break
			say "$release: ${failures:-1} failed, try $tries of 2:"
			grep -v '^# SKIP' "$log.digest" >&2
		done
		echo "$((SECONDS - start))" >"$log.seconds"
	done
}

# count_all ARCH: adds its rows to the table
table=
count_all() {
	local arch=$1 series release log row p f s
	for series in $KERNEL_SERIES; do
		release=$(kernel_file "$arch" "${series%:*}")
		release=${release##*/vmlinuz-}
		log=$KERNELS_DIR/$arch/${series%:*}.log
		say "$release said:"
		grep -v '^= ' "$log.digest" >&2 || true
		row=$(sed -n 's/^= //p' "$log.digest")
		table+="${release%-cloud-*} $arch $row $(<"$log.seconds")s"$'\n'
		read -r _ _ _ _ p f s <<<"$row"
		passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	done
}

print_table() {
	{
		echo "kernel arch in-use rseq perf cap_user_time passed failed skipped time"
		printf '%s' "$table"
	} | column -t
}

# Everything from elsewhere that the kernel matrix needs, or the reason why not.
fetch_for_kernels() {
	local arch
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		echo "needs Debian's packages"
		return 1
	fi
	if [ "$(dpkg --print-architecture)" != amd64 ]; then
		echo "is made for amd64 machines"
		return 1
	fi
	# shellcheck disable=SC2086 # a list of words
	if ! (need $KERNELS_PACKAGES); then
		echo "its packages cannot be installed"
		return 1
	fi
	for arch in amd64 arm64; do
		if ! fetch_all "$arch"; then
			echo "Debian's kernels cannot be downloaded"
			return 1
		fi
	done
	rm -rf "$APT_DIR"
}

# kernels [--slow]
kernels() {
	local arch why
	case $* in
	'') ;;
	--slow) slow=yes BOOT_SECONDS=2400 ;;
	*)
		say "kernels takes --slow or nothing, not: $*"
		exit 2
		;;
	esac
	if ! why=$(fetch_for_kernels); then
		printf '# SKIP kernels: %s\n' "$why"
		exit 0
	fi
	for arch in amd64 arm64; do
		build_guest "$arch"
		pack "$arch"
	done
	boot_all amd64 &
	boot_all arm64 &
	wait
	for arch in amd64 arm64; do
		count_all "$arch"
	done
	print_table
}
