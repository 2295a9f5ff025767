#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Real programs that ask for the CPU time of their threads: the same with the
# shim as without.

# shellcheck disable=SC2154 # capture sets code, out and err
load common

# ---- Python

@test "Python: time.thread_time() and resource.getrusage()" {
	local program='
import resource, threading, time

def check():
    last = 0
    for i in range(20000):
        now = time.thread_time()
        assert now >= last, (now, last)
        last = now
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    assert last - 0.01 < usage.ru_utime + usage.ru_stime <= time.thread_time()
    before = time.thread_time_ns()
    time.sleep(0.05)
    assert time.thread_time_ns() - before < 20_000_000

for i in range(4):
    thread = threading.Thread(target=check)
    thread.start()
    thread.join()
check()
info = time.get_clock_info("thread_time")
print(info.implementation, info.monotonic, info.adjustable, info.resolution)'
	capture python3 -c "$program"
	[ "$code" -eq 0 ] || explain "without the shim: it fails"
	cp "$out" "$BATS_TEST_TMPDIR/stock"
	capture "$CPUCLOCK" run python3 -c "$program"
	[ "$code" -eq 0 ] || explain "it fails"
	[ ! -s "$err" ] || explain "standard error is not empty"
	cmp "$out" "$BATS_TEST_TMPDIR/stock"
	[ "$(report getrusage python3 -c "$program")" -ge 5 ]
}

# ---- Google Benchmark

@test "Google Benchmark: CPU times are not above real time" {
	needs c++
	cd "$BATS_TEST_TMPDIR"
	cat >bench.cc <<-'END'
		#include <benchmark/benchmark.h>

		static void work(benchmark::State &state)
		{
			for (auto _ : state) {
				for (int i = 0; i < 10000; i++)
					benchmark::DoNotOptimize(i);
			}
		}
		BENCHMARK(work)->Threads(1)->Threads(2);

		static void pauses(benchmark::State &state)
		{
			for (auto _ : state) {
				state.PauseTiming();
				state.ResumeTiming();
			}
		}
		BENCHMARK(pauses)->Iterations(10000);
		BENCHMARK_MAIN();
	END
	c++ -O2 bench.cc -o bench -lbenchmark -pthread 2>/dev/null ||
		skip "Google Benchmark (libbenchmark-dev) is not installed"
	./bench --benchmark_min_time=0.05 --benchmark_format=json >stock 2>log
	capture "$CPUCLOCK" run --report --json ./bench --benchmark_min_time=0.05 \
		--benchmark_format=json
	[ "$code" -eq 0 ] || explain "it fails"
	tail -n 12 "$err" >served
	python3 - stock "$out" served <<'PYTHON'
import json, sys
stock, shim = (json.load(open(path))["benchmarks"] for path in sys.argv[1:3])
assert [row["name"] for row in stock] == [row["name"] for row in shim]
for row in shim:
    threads = row["threads"]
    assert 0 < row["cpu_time"] <= row["real_time"] * threads * 1.1, row
text = open(sys.argv[3]).read()
served = json.loads(text[text.index("{"):])
assert (served["clock_gettime_without_call"] +
        served["clock_gettime_with_call"] >= 10000), served
PYTHON
}

# ---- stress-ng

@test "stress-ng: its clock and getrusage stressors verify" {
	needs stress-ng
	cd "$BATS_TEST_TMPDIR"
	capture "$CPUCLOCK" run --report stress-ng --clock 1 --clock-ops 200 \
		--get 1 --get-ops 20 --verify --timeout 10 --temp-path .
	[ "$code" -eq 0 ] || explain "it fails"
	lacks 'fail:|error:' "$err"
	# Its clocks it reads by system calls of its own.
	grep -qE '^getrusage of the thread +[1-9]' "$err" ||
		explain "it did not ask for its times"
}

# ---- Redis

# start_redis COMMAND...: a server, its PID in $server
start_redis() {
	local i
	"$@" --port 0 --unixsocket "$BATS_TEST_TMPDIR/socket" --save "" \
		--daemonize no >"$BATS_TEST_TMPDIR/log" \
		2>"$BATS_TEST_TMPDIR/errors" 3>&- &
	server=$!
	for i in {1..100}; do
		[ "$(redis PING 2>/dev/null)" != PONG ] || return 0
		sleep 0.1
	done
	cat "$BATS_TEST_TMPDIR/log" "$BATS_TEST_TMPDIR/errors"
	return 1
}

redis() {
	redis-cli -s "$BATS_TEST_TMPDIR/socket" "$@"
}

# What the server answers after a load; the load's own tests must all pass.
load_redis() {
	redis-benchmark -s "$BATS_TEST_TMPDIR/socket" -n 2000 -c 4 -q \
		-t set,get,incr,lpush,sadd,zadd >"$BATS_TEST_TMPDIR/bench"
	[ "$(grep -c 'requests per second' "$BATS_TEST_TMPDIR/bench")" -eq 6 ]
	redis EVAL "for i = 1, 20000 do redis.call('set', i, i * i) end
		return redis.call('dbsize')" 0
	redis GET 777
	redis GET counter:__rand_int__
	redis LLEN mylist
}

@test "Redis under load: the same answers, and its threads' times" {
	local program i
	needs redis-benchmark
	# Debian's redis-tools has the server under another name.
	program=$(command -v redis-server || command -v redis-check-rdb) ||
		skip "there is no Redis server"
	ln -s "$(readlink -f "$program")" "$BATS_TEST_TMPDIR/redis-server"
	program=$BATS_TEST_TMPDIR/redis-server

	start_redis "$program"
	load_redis >"$BATS_TEST_TMPDIR/stock"
	redis SHUTDOWN NOSAVE || true
	wait "$server"

	start_redis "$CPUCLOCK" run --report "$program"
	load_redis >"$BATS_TEST_TMPDIR/shim"
	for i in {1..5}; do
		redis INFO cpu | tr -d '\r' | awk -F : '
			/used_cpu_(user|sys)_main_thread/ { sum += $2 }
			END { print sum }' >>"$BATS_TEST_TMPDIR/times"
	done
	redis SHUTDOWN NOSAVE || true
	wait "$server"

	cat "$BATS_TEST_TMPDIR/errors"
	diff "$BATS_TEST_TMPDIR/stock" "$BATS_TEST_TMPDIR/shim"
	sort -n -c "$BATS_TEST_TMPDIR/times"
	grep -qx '0*\.0*\|0' "$BATS_TEST_TMPDIR/times" && return 1
	grep -qE '^getrusage of the thread +[1-9]' "$BATS_TEST_TMPDIR/errors"
}
