/* SPDX-License-Identifier: MIT */

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** The two times of a thread, each asked for in the three ways that there are. */
enum Times {
	TOTAL {
		@Override
		long current() {
			return BEAN.getCurrentThreadCpuTime();
		}

		@Override
		long of(long id) {
			return BEAN.getThreadCpuTime(id);
		}

		@Override
		long[] of(long[] ids) {
			return BEAN.getThreadCpuTime(ids);
		}
	},
	USER {
		@Override
		long current() {
			return BEAN.getCurrentThreadUserTime();
		}

		@Override
		long of(long id) {
			return BEAN.getThreadUserTime(id);
		}

		@Override
		long[] of(long[] ids) {
			return BEAN.getThreadUserTime(ids);
		}
	};

	static final ThreadMXBean BEAN =
		(ThreadMXBean) ManagementFactory.getThreadMXBean();

	/**
	 * The thread's own clock may be ahead of the kernel's by as much, while a
	 * hypervisor has taken its processor: one window. Another reader may
	 * then be behind it.
	 */
	static final long AHEAD_NS = Long.getLong("ahead_ns", 1000000);

	/**
	 * Whether user time is raw ticks here, which can exceed the total: so it
	 * is in JDK 26, and with the agent's user=jdk26. Ticks can tell.
	 */
	static final boolean TICKS = Boolean.getBoolean("ticks");

	/** 8, 11, 17 and so on. */
	static final int JDK = Integer.parseInt(System.getProperty(
		"java.specification.version").replaceFirst("^1\\.", ""));

	/** of the calling thread */
	abstract long current();

	abstract long of(long id);

	abstract long[] of(long[] ids);

	String word() {
		return name().toLowerCase();
	}
}
