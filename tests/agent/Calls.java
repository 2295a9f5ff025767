/* SPDX-License-Identifier: MIT */

/**
 * Calls current|other|own|array total|user N: asks for N times and no other; an
 * array holds 100 ids. With -Dagent=PATH the agent is attached first.
 */
public final class Calls {
	private static final int IDS = 100;

	private Calls() {
	}

	public static void main(String[] args) throws Exception {
		Times time = args[1].equals("user") ? Times.USER : Times.TOTAL;
		int count = Integer.parseInt(args[2]);
		Thread waiter = new Thread(() -> Work.sleep(1000000));
		long own = Thread.currentThread().getId();
		long[] ids = new long[IDS];

		waiter.setDaemon(true);
		waiter.start();
		for (int i = 0; i < IDS; i++)
			ids[i] = i % 2 == 0 ? own : waiter.getId();
		if (Agents.PATH != null)
			Agents.on();
		for (int i = 0; i < count; i++) {
			long got;

			if (args[0].equals("current")) {
				got = time.current();
			} else if (args[0].equals("array")) {
				got = time.of(ids)[i % IDS];
				i += IDS - 1;
			} else {
				got = time.of(args[0].equals("own")
						      ? own : waiter.getId());
			}
			if (got < 0)
				throw new IllegalStateException("" + got);
		}
	}
}
