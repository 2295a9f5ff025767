/* SPDX-License-Identifier: MIT */
package cpuclock.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Collection;
import java.util.Collections;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * The CPU time of a call, for JMH's -prof: what the process used in an iteration,
 * over all calls of it. Unlike time by the wall clock, it does not grow with what
 * else runs on the machine, nor with more threads than CPUs.
 */
public final class CpuPerCall implements InternalProfiler {
	private final OperatingSystemMXBean process =
		(OperatingSystemMXBean)ManagementFactory.getOperatingSystemMXBean();
	private long start;

	@Override
	public String getDescription()
	{
		return "CPU time per call";
	}

	@Override
	public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration)
	{
		start = process.getProcessCpuTime();
	}

	@Override
	public Collection<? extends Result<?>> afterIteration(
		BenchmarkParams benchmark, IterationParams iteration, IterationResult result)
	{
		long used = process.getProcessCpuTime() - start;
		long calls = result.getMetadata().getAllOps();

		if (calls == 0)
			return Collections.emptyList();
		return Collections.singletonList(new ScalarResult(
			"cpu", (double)used / calls, "ns/op", AggregationPolicy.AVG));
	}
}
