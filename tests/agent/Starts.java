/* SPDX-License-Identifier: MIT */

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** A JVM starts, and knows the CPU times of the thread that asks. */
public final class Starts {
	private static int failed;

	private Starts() {
	}

	private static void test(int number, String sentence, boolean holds) {
		if (!holds)
			failed++;
		System.out.println((holds ? "ok " : "not ok ") + number + " - " +
				   sentence);
	}

	public static void main(String[] args) {
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		boolean grows = true;
		boolean within = true;
		long last = 0;

		for (int i = 0; i < 1000000 && last < 50000000; i++) {
			long user = threads.getCurrentThreadUserTime();
			long total = threads.getCurrentThreadCpuTime();

			grows &= user >= 0 && total >= last;
			within &= user <= total;
			last = total;
		}
		System.out.println("1..2");
		test(1, "the total grows", grows && last > 0);
		if (Boolean.getBoolean("ticks"))
			System.out.println("ok 2 - user time is within the total" +
					   " # SKIP it is raw ticks here");
		else
			test(2, "user time is within the total", within);
		System.exit(failed > 0 ? 1 : 0);
	}
}
