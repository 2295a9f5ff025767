/* SPDX-License-Identifier: MIT */

/**
 * Says hello; with an argument, after it has asked for its times in all ways;
 * with the argument stay, it then stays until its standard input ends.
 */
public final class Hello {
	private Hello() {
	}

	public static void main(String[] args) throws Exception {
		if (args.length > 0)
			ask();
		System.out.println("hello");
		System.err.println("hello on standard error");
		if (args.length > 0 && args[0].equals("stay")) {
			while (System.in.read() >= 0)
				continue;
			ask();
			System.out.println("bye");
		}
	}

	/** In a JVM with no module for it, not even the class is loaded. */
	private static void ask() {
		long id = Thread.currentThread().getId();

		for (Times time : Times.values()) {
			long[] times = time.of(new long[] {id, 1, Long.MAX_VALUE});

			if (time.current() < 0 || time.of(id) < 0 || times[0] < 0)
				throw new IllegalStateException("no times");
		}
	}
}
