/* SPDX-License-Identifier: MIT */
package cpuclock.bench;

import java.lang.management.ManagementFactory;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What it costs to ask a JVM for the CPU time of its threads.
 *
 * SampleTime times single calls and gives percentiles, each with the cost of the
 * clock that times it, which {@link #floor} shows. AverageTime has no such part,
 * but gives no percentiles.
 */
@State(Scope.Benchmark)
@BenchmarkMode({ Mode.SampleTime, Mode.AverageTime })
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 1, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 5, time = 300, timeUnit = TimeUnit.MILLISECONDS)
public class ThreadTimes {
	static final int BULK = 100;

	private final com.sun.management.ThreadMXBean threads =
		(com.sun.management.ThreadMXBean)ManagementFactory.getThreadMXBean();
	private final CountDownLatch end = new CountDownLatch(1);
	private long[] ids;
	private long other;

	/** Starts the threads that are asked about; each has run, and waits. */
	@Setup
	public void start() throws InterruptedException
	{
		final CountDownLatch running = new CountDownLatch(BULK);

		ids = new long[BULK];
		for (int i = 0; i < BULK; i++) {
			Thread thread = new Thread(new Runnable() {
				@Override
				public void run()
				{
					running.countDown();
					try {
						end.await();
					} catch (InterruptedException e) {
						return;
					}
				}
			}, "asked-" + i);

			thread.setDaemon(true);
			thread.start();
			ids[i] = id(thread);
		}
		other = ids[BULK / 2];
		running.await();
	}

	/* The only way on Java 8. */
	@SuppressWarnings("deprecation")
	private static long id(Thread thread)
	{
		return thread.getId();
	}

	@TearDown
	public void stop()
	{
		end.countDown();
	}

	/** Nothing: what the measurement itself costs. */
	@Benchmark
	public void floor()
	{
	}

	@Benchmark
	public long currentUser()
	{
		return threads.getCurrentThreadUserTime();
	}

	@Benchmark
	public long currentTotal()
	{
		return threads.getCurrentThreadCpuTime();
	}

	@Benchmark
	public long otherUser()
	{
		return threads.getThreadUserTime(other);
	}

	@Benchmark
	public long otherTotal()
	{
		return threads.getThreadCpuTime(other);
	}

	/** 100 threads in one call; the figures are for each of them. */
	@Benchmark
	@OperationsPerInvocation(BULK)
	public long[] bulkUser()
	{
		return threads.getThreadUserTime(ids);
	}

	@Benchmark
	@OperationsPerInvocation(BULK)
	public long[] bulkTotal()
	{
		return threads.getThreadCpuTime(ids);
	}
}
