/* SPDX-License-Identifier: MIT */
package cpuclock.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;

/**
 * How well a JVM knows the user time of short tasks: new threads each burn 2 ms in
 * user code, then ask for their own user time and total.
 *
 * All of what they burn is user time, but for what interrupts them, so their total
 * is what was burnt. How long to spin is found by that total as well.
 *
 * Prints one line of NAME=VALUE.
 */
public final class Accuracy {
	private static final int THREADS = 400;
	private static final long BURN_NS = 2000000;

	private static final ThreadMXBean threads =
		ManagementFactory.getThreadMXBean();
	static volatile long sink;

	private Accuracy() {}

	/** One thread's task, and what it was told about it. */
	private static final class Task extends Thread {
		private final long rounds;
		long burnt, user, total;

		Task(long rounds)
		{
			this.rounds = rounds;
		}

		@Override
		public void run()
		{
			long start = threads.getCurrentThreadCpuTime();

			spin(rounds);
			/* In this order: a total that is read later is no smaller. */
			user = threads.getCurrentThreadUserTime();
			total = threads.getCurrentThreadCpuTime();
			burnt = total - start;
		}

		Task finish() throws InterruptedException
		{
			start();
			join();
			return this;
		}
	}

	static void spin(long rounds)
	{
		long x = rounds | 1;

		for (long i = 0; i < rounds; i++) {
			x ^= x << 13;
			x ^= x >>> 7;
			x ^= x << 17;
		}
		sink = x;
	}

	/** The rounds that burn 2 ms, by the median of some threads. */
	private static long calibrate() throws InterruptedException
	{
		long rounds = 100000;

		for (int round = 0; round < 8; round++) {
			long[] burnt = new long[25];

			for (int i = 0; i < burnt.length; i++)
				burnt[i] = new Task(rounds).finish().burnt;
			Arrays.sort(burnt);
			rounds = rounds * BURN_NS / Math.max(burnt[burnt.length / 2], 1);
		}
		return rounds;
	}

	public static void main(String[] args) throws InterruptedException
	{
		long rounds = calibrate();
		long burnt = 0, distance = 0, worst = 0;
		int more = 0, zero = 0;

		for (int i = 0; i < THREADS; i++) {
			Task task = new Task(rounds).finish();

			burnt += task.burnt;
			distance += Math.abs(task.user - task.burnt);
			worst = Math.max(worst, task.user - task.total);
			more += task.user > task.total ? 1 : 0;
			zero += task.user == 0 ? 1 : 0;
		}
		System.out.println("threads=" + THREADS + " more=" + more + " worst_ns=" +
				   worst + " zero=" + zero + " burnt_ns=" + burnt / THREADS +
				   " distance_ns=" + distance / THREADS);
	}
}
