/* SPDX-License-Identifier: MIT */

/**
 * Says whether the user times here are raw "ticks" or "scaled" to the total, in
 * units of 10 ms. A version does not tell: what JDK 26 brought was brought to
 * later releases of older ones too.
 */
public final class Ticks {
	private static final int THREADS = 60;
	private static final long UNIT_NS = 10000000;

	private Ticks() {
	}

	public static void main(String[] args) {
		boolean ticks = false;

		for (int i = 0; i < THREADS && !ticks; i++) {
			Waiter waiter = new Waiter("ticks-" + i, 3000000);

			waiter.begin().settle();
			/* A tick of 10 ms falls into some of them. */
			ticks = waiter.user_ns > waiter.total_ns ||
				waiter.user_ns % UNIT_NS != 0;
			waiter.end();
		}
		System.out.println(ticks ? "ticks" : "scaled");
	}
}
