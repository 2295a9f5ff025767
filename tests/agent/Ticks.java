/* SPDX-License-Identifier: MIT */

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Says whether this JVM's user time is raw ticks (JDK 26, and builds of 25 that
 * have its change): true, or false if it comes in the units of /proc. A kernel
 * with 100 ticks a second has both alike; then this says false.
 */
public final class Ticks {
	private static final long STAT_UNIT_NS = 10000000;

	private Ticks() {
	}

	public static void main(String[] args) {
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		boolean ticks = false;
		long user = 0;

		while (user < 10 * STAT_UNIT_NS && !ticks) {
			user = threads.getCurrentThreadUserTime();
			ticks = user % STAT_UNIT_NS != 0;
		}
		System.out.println(ticks);
	}
}
