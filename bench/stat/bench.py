#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What it costs to see the threads of a process, beside the usual viewers.

bench.py CPUCLOCK THREADS-PROGRAM [RUNS]: both are paths. All rows are of the
same processes, in turns, in one run.
"""
import atexit
import json
import os
import pty
import select
import shutil
import statistics
import subprocess
import sys
import time

CPUCLOCK, THREADS = sys.argv[1:3]
RUNS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
COUNTS = tuple(int(n) for n in os.environ.get("THREADS", "2000 10000").split())
LIVE_SECONDS = 10


def start(*arguments):
    program = subprocess.Popen([THREADS, *arguments], stdout=subprocess.PIPE, text=True)
    if program.stdout.readline() != "ready\n":
        sys.exit("bench: the threads could not be made")
    return program


def run(command, quit_after=None):
    """Wall and CPU seconds of a command whose output nobody reads; of one that
    needs a terminal, if it is to be quit after some seconds."""
    begin = time.monotonic()
    if quit_after:
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.update(TERM="xterm", LINES="40", COLUMNS="120")
            os.execvp(command[0], command)
        while True:
            rest = begin + quit_after - time.monotonic()
            if rest <= 0:
                os.write(fd, b"q")
                rest = 1
            try:
                if select.select([fd], [], [], rest)[0] and not os.read(fd, 65536):
                    break
            except OSError:
                break
        os.close(fd)
    else:
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            os.execvp(command[0], command)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit("bench: failed: " + " ".join(command))
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime


def system_calls(command):
    with open("strace.out", "w"):
        pass
    subprocess.run(["strace", "-f", "-c", "-o", "strace.out", *command],
                   stdout=subprocess.DEVNULL, check=True)
    for line in open("strace.out"):
        if line.rstrip().endswith(" total"):
            return int(line.split()[3 if len(line.split()) > 4 else 2])
    return 0


def works(source):
    info = json.loads(subprocess.run([CPUCLOCK, "info", "--json"], capture_output=True,
                                     text=True, check=True).stdout)
    return any(s["name"] == source and s["available"] for s in info["snapshot_sources"])


def middle(values):
    return statistics.median(values)


def scans(pid, sources):
    """One scan by cpuclock, as it accounts for itself; and by the others."""
    for source in sources:
        found = [json.loads(subprocess.run(
            [CPUCLOCK, "stat", "--source", source, "-p", pid, "-i", "0.2", "-c", "5", "--json"],
            capture_output=True, text=True, check=True).stdout.splitlines()[-1])["scans"]
            for _ in range(RUNS)]
        yield (f"cpuclock, {source}", middle(f["median_duration_ns"] for f in found) / 1e6,
               middle(f["median_cpu_ns"] for f in found) / 1e6, None)
    for command in (["pidstat", "-t", "-p", pid], ["ps", "-L", "-p", pid],
                    ["top", "-H", "-b", "-n", "1", "-p", pid]):
        if not shutil.which(command[0]):
            continue
        found = [run(command) for _ in range(RUNS)]
        yield (" ".join(command[:2]), middle(f[0] for f in found) * 1e3,
               middle(f[1] for f in found) * 1e3, system_calls(command))


def samples(pid, sources):
    """A whole command that shows one second."""
    commands = [[CPUCLOCK, "stat", "--source", source, "-p", pid, "-d", "1"]
                for source in sources]
    commands += [["pidstat", "-t", "-p", pid, "1", "1"],
                 ["top", "-H", "-b", "-d", "1", "-n", "2", "-p", pid]]
    for command in commands:
        if not shutil.which(command[0]):
            continue
        found = [run(command) for _ in range(RUNS)]
        name = "cpuclock stat, " + command[3] if command[0] == CPUCLOCK else " ".join(command[:2])
        yield (name, middle(f[0] for f in found), middle(f[1] for f in found),
               system_calls(command))


def live(pid, sources):
    """Per cent of one CPU, for ten seconds with a view each second."""
    n = str(LIVE_SECONDS)
    commands = [[CPUCLOCK, "stat", "--source", source, "-p", pid, "-i", "1", "-c", n]
                for source in sources]
    commands += [["pidstat", "-t", "-p", pid, "1", n],
                 ["top", "-H", "-b", "-d", "1", "-n", n, "-p", pid],
                 ["htop", "-d", "10", "-p", pid]]
    for command in commands:
        if not shutil.which(command[0]):
            continue
        wall, cpu = run(command, LIVE_SECONDS if command[0] == "htop" else None)
        name = "cpuclock stat, " + command[3] if command[0] == CPUCLOCK else command[0]
        yield name, 100 * cpu / wall, wall


def short_lived(sources):
    """Sum of the rows, in per cent of what the process has used."""
    for source in sources:
        command = [CPUCLOCK, "stat", "--source", source, "--json=rows.json", "--",
                   THREADS, "short", "3"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        used = int(done.stdout.split()[-1])
        rows = json.load(open("rows.json"))["rows"]
        total = sum(r["total_ns"] for r in rows if r["row"] in ("thread", "exited"))
        named = sum(r["total_ns"] for r in rows if r["row"] == "thread")
        yield f"cpuclock stat, {source}", 100 * total / used, 100 * named / used
    program = start("short", "5")
    out = subprocess.run(["pidstat", "-t", "-p", str(program.pid), "2", "1"],
                         capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    program.wait()
    rows = [line.split() for line in out.splitlines()]
    cpu = next(r.index("%CPU") for r in rows if "%CPU" in r)
    rows = [r for r in rows if r and r[0] == "Average:"]
    process = sum(float(r[cpu]) for r in rows if r[3] == "-")
    threads = sum(float(r[cpu]) for r in rows if r[2] == "-")
    yield "pidstat -t", 100 * threads / process, 100 * threads / process


def main():
    sources = [s for s in ("bpf", "bpf-iter", "proc") if works(s)]
    for count in COUNTS:
        program = start(str(count))
        atexit.register(program.kill)
        pid = str(program.pid)
        print(f"\n{count} threads, medians of {RUNS} runs")
        print(f"{'one scan':28}{'wall ms':>10}{'CPU ms':>10}{'calls':>10}")
        for name, wall, cpu, calls in scans(pid, sources):
            print(f"{name:28}{wall:10.2f}{cpu:10.2f}{calls if calls is not None else '-':>10}")
        print(f"{'a sample of 1 s':28}{'wall s':>10}{'CPU s':>10}{'calls':>10}")
        for name, wall, cpu, calls in samples(pid, sources):
            print(f"{name:28}{wall:10.2f}{cpu:10.3f}{calls:>10}")
        print(f"{'a view each second':28}{'% of CPU':>10}{'wall s':>10}")
        for name, percent, wall in live(pid, sources):
            print(f"{name:28}{percent:10.1f}{wall:10.1f}")
        program.kill()
        program.wait()
    print(f"\n{'threads of 40 ms':28}{'sum %':>10}{'by name %':>10}")
    for name, total, named in short_lived(sources):
        print(f"{name:28}{total:10.1f}{named:10.1f}")


main()
