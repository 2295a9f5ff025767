#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that a file is JMH's JSON, as `cpuclock bench --json` promises it.

usage: check_jmh.py FILE [--interrupted] [--forks N] [--iterations N]
                    [--threads N,...] [--count N]
"""
import argparse
import json
import math

PERCENTILES = ["0.0", "50.0", "90.0", "95.0", "99.0", "99.9", "99.99", "100.0"]
BENCHMARK_KEYS = {
    "jmhVersion": str, "benchmark": str, "mode": str, "threads": int,
    "forks": int, "jvm": str, "jvmArgs": list, "jdkVersion": str,
    "vmName": str, "vmVersion": str, "warmupIterations": int,
    "warmupTime": str, "warmupBatchSize": int, "measurementIterations": int,
    "measurementTime": str, "measurementBatchSize": int,
    "primaryMetric": dict, "secondaryMetrics": dict,
}


def number(value):
    """JMH writes "NaN" as a string."""
    if value == "NaN":
        return math.nan
    assert isinstance(value, (int, float)) and math.isfinite(value), value
    return float(value)


def check_metric(metric, name):
    for key in ("score", "scoreError", "scoreConfidence", "scorePercentiles",
                "scoreUnit"):
        assert key in metric, f"{name} has no {key}"
    low, high = map(number, metric["scoreConfidence"])
    score, error = number(metric["score"]), number(metric["scoreError"])
    assert score >= 0, f"{name}: a score of {score}"
    if not math.isnan(error):
        assert abs(low - (score - error)) <= 1e-6 * (score + error), name
        assert abs(high - (score + error)) <= 1e-6 * (score + error), name
    raw = [key for key in ("rawData", "rawDataHistogram") if key in metric]
    assert len(raw) == 1, f"{name} has {raw}"
    return raw[0]


def check_percentiles(metric):
    percentiles = metric["scorePercentiles"]
    missing = set(PERCENTILES) - set(percentiles)
    assert not missing, f"no percentiles {missing}"
    values = [number(percentiles[key])
              for key in sorted(percentiles, key=float)]
    assert values == sorted(values), f"percentiles fall: {values}"
    assert values[0] >= 0
    return values


def check_shape(raw, forks, iterations, is_partial):
    if is_partial:
        assert 1 <= len(raw) <= forks
        assert all(1 <= len(fork) <= iterations for fork in raw)
    else:
        assert len(raw) == forks, f"{len(raw)} forks"
        assert all(len(fork) == iterations for fork in raw), "iterations"


def check_sample(metric, raw):
    """rawDataHistogram: [fork][iteration][[value, count], ...]"""
    lowest, highest = math.inf, 0
    count = total = 0
    for iteration in (iteration for fork in raw for iteration in fork):
        values = [value for value, _ in iteration]
        assert values and values == sorted(set(values)), "values not rising"
        assert all(isinstance(n, int) and n > 0 for _, n in iteration)
        lowest, highest = min(lowest, values[0]), max(highest, values[-1])
        count += sum(n for _, n in iteration)
        total += sum(value * n for value, n in iteration)
    percentiles = check_percentiles(metric)
    assert percentiles[0] <= lowest and percentiles[-1] >= highest * 0.99
    # Buckets are a few per cent wide.
    score = number(metric["score"])
    assert abs(total / count - score) <= 0.05 * score + 1, (total / count, score)
    return count


def check_avgt(metric, raw):
    values = [number(value) for fork in raw for value in fork]
    assert all(value > 0 for value in values)
    score = number(metric["score"])
    assert min(values) * 0.999999 <= score <= max(values) * 1.000001
    check_percentiles(metric)


def check_benchmark(benchmark, is_partial):
    for key, kind in BENCHMARK_KEYS.items():
        assert isinstance(benchmark.get(key), kind), f"{key} is no {kind}"
    assert benchmark["benchmark"].startswith("cpuclock.")
    assert benchmark["mode"] in ("sample", "avgt")
    metric = benchmark["primaryMetric"]
    assert metric["scoreUnit"] == "ns/op"
    kind = check_metric(metric, "primaryMetric")
    raw = metric[kind]
    check_shape(raw, benchmark["forks"], benchmark["measurementIterations"],
                is_partial)
    if benchmark["mode"] == "sample":
        assert kind == "rawDataHistogram"
        check_sample(metric, raw)
    else:
        assert kind == "rawData"
        check_avgt(metric, raw)
    for name, metric in benchmark["secondaryMetrics"].items():
        # Where the kernel refuses the clock there is none.
        if name == "cpuTime" and metric["score"] == "NaN":
            continue
        check_metric(metric, name)
    secondary = benchmark["secondaryMetrics"]
    # Not a number where the kernel refuses the clock; never zero.
    if benchmark["mode"] == "avgt":
        assert number(secondary["cpuTime"]["score"]) != 0, "no CPU time"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--interrupted", action="store_true")
    parser.add_argument("--forks", type=int)
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--threads")
    parser.add_argument("--count", type=int)
    options = parser.parse_args()
    with open(options.file, encoding="utf-8") as file:
        benchmarks = json.load(file)

    assert isinstance(benchmarks, list)
    identities = [(b["benchmark"], b["mode"], b["threads"]) for b in benchmarks]
    assert len(set(identities)) == len(identities), "a row is there twice"
    for i, benchmark in enumerate(benchmarks):
        is_last = i + 1 == len(benchmarks)
        try:
            check_benchmark(benchmark, options.interrupted and is_last)
        except AssertionError as error:
            raise SystemExit(f"{identities[i]}: {error}") from error
        if options.forks:
            assert benchmark["forks"] == options.forks
        if options.iterations:
            assert benchmark["measurementIterations"] == options.iterations
    if options.threads:
        wanted = {int(count) for count in options.threads.split(",")}
        assert {b["threads"] for b in benchmarks} == wanted
    if options.count is not None:
        assert len(benchmarks) == options.count, f"{len(benchmarks)} rows"


main()
