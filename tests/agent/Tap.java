/* SPDX-License-Identifier: MIT */

/** Test results in TAP, on standard output. */
final class Tap {
	private static int count;
	private static int failed;
	private static int skipped;

	private Tap() {
	}

	/** Says what is wrong, or null. */
	interface Body {
		String run() throws Throwable;
	}

	/** Thrown by a body that cannot run here. */
	static final class Skip extends RuntimeException {
		private static final long serialVersionUID = 1;

		Skip(String reason) {
			super(reason);
		}
	}

	/** Runs a test; what it throws is what is wrong. */
	static void test(String sentence, Body body) {
		String wrong;

		try {
			wrong = body.run();
		} catch (Skip skip) {
			skip(sentence, skip.getMessage());
			return;
		} catch (Throwable thrown) {
			StackTraceElement[] stack = thrown.getStackTrace();

			wrong = thrown + (stack.length > 0 ? " at " + stack[0] : "");
		}
		result(wrong, sentence);
	}

	static void result(String wrong, String sentence) {
		count++;
		if (wrong == null) {
			System.out.println("ok " + count + " - " + sentence);
			return;
		}
		failed++;
		System.out.println("not ok " + count + " - " + sentence);
		note(wrong);
	}

	static void skip(String sentence, String reason) {
		count++;
		skipped++;
		System.out.println("ok " + count + " - " + sentence +
				   " # SKIP " + reason);
	}

	static void note(String text) {
		for (String line : text.split("\n"))
			System.out.println("# " + line);
	}

	/** The plan, and the exit status. */
	static void finish() {
		note((count - failed - skipped) + " passed, " + failed +
		     " failed, " + skipped + " skipped");
		System.out.println("1.." + count);
		System.out.flush();
		System.exit(failed == 0 ? 0 : 1);
	}
}
