#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Part of ./dev bench-jvm: prints its results as one table.

table.py times FILE...: JMH's JSON, DIR/JDK/HOW-THREADS.json
table.py accuracy FILE...: what Accuracy printed, DIR/JDK/HOW.accuracy
"""

import json
import os
import statistics
import sys

TIMES_LEGEND = """
ns per call; of the bulk calls, per thread that they ask about. CPU: CPU time, the
median of the iterations; it hardly depends on what else the machine does. avg, with
half its 99.9 % interval: JMH's AverageTime. The rest: SampleTime, where the clock
that times a call is part of it: that is `floor`. By CPU, /stock: how many times
cheaper than the same JDK without the agent; /26: than JDK 26 without it. agent: as
it is by default; as-26: user=jdk26,source=posix, what JDK 26 does; as-26-pid0:
user=jdk26,source=self, the same with PID 0."""

ACCURACY_LEGEND = """
New threads that each burn 2 ms of user time, then ask for their user time and their
total. more: reported more user time than total, the worst by `worst`. zero: reported
no user time. distance: mean distance of the user time from what was burnt."""


def number(value):
    """Three digits or more, as no more are true."""
    if value is None:
        return "-"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def print_table(head, rows, words):
    """The first columns are words, the others figures. None: an empty line."""
    widths = [max(len(row[i]) for row in [head, *filter(None, rows)])
              for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(
            cell.ljust(width) if i < words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row or [""] * len(head), widths))
        ).rstrip())


def median(metric):
    """Of the iterations of all forks."""
    return metric and statistics.median(sum(metric["rawData"], []))


def read_times(files):
    """{(benchmark, threads): {(JDK, how): figures}}, all in the order of the run."""
    cells = {}
    for file in files:
        jdk = os.path.basename(os.path.dirname(file))
        how = os.path.basename(file).removesuffix(".json").rsplit("-", 1)[0]
        with open(file, encoding="utf-8") as opened:
            results = json.load(opened)
        for result in results:
            name = result["benchmark"].rsplit(".", 1)[-1]
            figures = cells.setdefault((name, result["threads"]), {}).setdefault(
                (jdk, how), {"version": result["jdkVersion"]})
            metric = result["primaryMetric"]
            if result["mode"] == "avgt":
                figures["avg"] = metric["score"]
                figures["error"] = metric["scoreError"]
                figures["cpu"] = median(result["secondaryMetrics"].get("cpu"))
            else:
                figures.update(metric["scorePercentiles"])
    return cells


def ratio(figures, peer):
    """How many times cheaper than the peer."""
    if not peer or not figures.get("cpu") or not peer.get("cpu"):
        return "-"
    return number(peer["cpu"] / figures["cpu"])


def error(figures):
    """JMH says NaN as a text if there is one iteration."""
    value = figures.get("error")
    return number(value) if isinstance(value, float) and value == value else "-"


def times(files):
    cells = read_times(files)
    rows = []
    for name in dict.fromkeys(name for name, _ in cells):
        for threads in sorted(threads for other, threads in cells if other == name):
            runs = cells[name, threads]
            peer = next((figures for (_, how), figures in runs.items()
                         if how == "stock" and figures["version"].startswith("26")),
                        None)
            for (jdk, how), figures in runs.items():
                rows.append([
                    name, str(threads), jdk, how, number(figures.get("cpu")),
                    number(figures.get("avg")), error(figures),
                    *(number(figures.get(percentile)) for percentile in
                      ("50.0", "99.0", "99.9", "100.0")),
                    ratio(figures, runs.get((jdk, "stock"))), ratio(figures, peer)])
            rows.append(None)
    print_table(["benchmark", "thr", "JDK", "how", "CPU", "avg", "+-", "p50", "p99",
                 "p99.9", "max", "/stock", "/26"], rows[:-1], 4)
    print(TIMES_LEGEND)


def accuracy(files):
    rows = []
    for file in files:
        with open(file, encoding="utf-8") as opened:
            line = opened.read().split()
        said = {name: int(value) for name, value in
                (word.split("=") for word in line if "=" in word)}
        rows.append([
            os.path.basename(os.path.dirname(file)),
            os.path.basename(file).removesuffix(".accuracy"),
            str(said["threads"]), str(said["more"]),
            f"{said['worst_ns'] / 1e6:.3f} ms", str(said["zero"]),
            f"{said['burnt_ns'] / 1e6:.3f} ms", f"{said['distance_ns'] / 1e6:.3f} ms",
            f"{100 * said['distance_ns'] / said['burnt_ns']:.1f} %"])
    print_table(["JDK", "how", "threads", "more", "worst", "zero", "burnt", "distance",
                 ""], rows, 2)
    print(ACCURACY_LEGEND)


if __name__ == "__main__":
    {"times": times, "accuracy": accuracy}[sys.argv[1]](sys.argv[2:])
