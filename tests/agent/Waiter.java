/* SPDX-License-Identifier: MIT */

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A thread that uses some time, says how much, and waits to be let go. */
final class Waiter extends Thread {
	/** What the thread read of itself, user first; then it did no more. */
	long user_ns;
	long total_ns;
	/** The wall clock before it was started. */
	long born_ns;
	private final long cpu_ns;
	private final CountDownLatch published = new CountDownLatch(1);
	private final CountDownLatch gate = new CountDownLatch(1);

	Waiter(String name, long cpu_ns) {
		super(name);
		this.cpu_ns = cpu_ns;
		setDaemon(true);
	}

	@Override
	public void run() {
		try (Work work = new Work()) {
			work.burn(cpu_ns, false);
		}
		user_ns = Times.USER.current();
		total_ns = Times.TOTAL.current();
		published.countDown();
		try {
			gate.await();
		} catch (InterruptedException error) {
			throw new IllegalStateException(error);
		}
	}

	/** Starts it; it then waits, or very soon will. */
	Waiter begin() {
		born_ns = System.nanoTime();
		start();
		return this;
	}

	Waiter settle() {
		try {
			if (!published.await(60, TimeUnit.SECONDS))
				throw new IllegalStateException(getName() +
					" does not come to wait");
		} catch (InterruptedException error) {
			throw new IllegalStateException(error);
		}
		while (getState() != Thread.State.WAITING && isAlive())
			Work.sleep(1);
		return this;
	}

	void end() {
		gate.countDown();
		Work.join(this);
	}
}
