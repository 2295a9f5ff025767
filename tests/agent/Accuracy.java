/* SPDX-License-Identifier: MIT */

import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Threads that work in short bursts and read themselves, and one that reads
 * them: user is never more than the total, and neither ever decreases.
 *
 * Properties: samples (100,000); agent and options (a path: the agent is
 * attached half-way); ticks (user time is raw ticks before the attach).
 */
public final class Accuracy {
	private static final long SAMPLES = Long.getLong("samples", 100000);
	/** Of a thread by another, of these. */
	private static final long BY_OTHERS = SAMPLES * 3 / 10;
	private static final long PATIENCE_NS = 120000000000L;
	private static final int THREADS = 4;
	/** A burst is as many pieces of work, each with a sample. */
	private static final int STEPS = 12;
	private static final String AT_WORK =
		" within the work of 4 threads, in user code, in the kernel, in both";

	/** Before the attach, over it, after it; without one, all is before. */
	private enum Phase { BEFORE, OVER, AFTER }

	private static volatile Phase phase = Phase.BEFORE;
	/** The observer is the first to stop, so that it sees no thread's end. */
	private static volatile boolean stop;
	private static volatile boolean stopWorkers;
	private static final AtomicLong bySelf = new AtomicLong();
	private static final AtomicLong byOther = new AtomicLong();

	private Accuracy() {
	}

	/** What must never be, how often it was, and the worst of it. */
	private static final class Lie {
		final String sentence;
		final boolean needsScaled;
		private final long[] times = new long[Phase.values().length];
		private long worst_ns;

		Lie(String sentence, boolean needsScaled) {
			this.sentence = sentence;
			this.needsScaled = needsScaled;
		}

		/** It is one if less is more than more. */
		synchronized void check(Phase when, long less, long more) {
			if (less <= more)
				return;
			times[when.ordinal()]++;
			worst_ns = Math.max(worst_ns, less - more);
		}

		synchronized void report() {
			long before = times[0];
			long over = times[1];
			long after = times[2];
			long all = before + over + after;
			String text = all + " times, by " + worst_ns +
				" ns at worst (before an attach " + before +
				", over it " + over + ", after " + after + ")";

			/* Raw ticks break it; the agent only mends what follows. */
			if (Times.TICKS && needsScaled && Agents.PATH != null) {
				if (before + over > 0)
					Tap.note(sentence + ": " + text);
				all = after;
			}
			Tap.result(all == 0 ? null : text, sentence);
		}
	}

	private static final Lie SELF_USER_OVER =
		new Lie("by itself: user is not more than the total", true);
	private static final Lie SELF_USER_BACK =
		new Lie("by itself: user does not decrease", true);
	private static final Lie SELF_TOTAL_BACK =
		new Lie("by itself: the total does not decrease", false);
	private static final Lie OTHER_USER_OVER =
		new Lie("by another: user is not more than the total", true);
	private static final Lie OTHER_USER_BACK =
		new Lie("by another: user does not decrease", true);
	private static final Lie OTHER_TOTAL_BACK =
		new Lie("by another: the total does not decrease", false);
	private static final Lie ARRAY_USER_OVER =
		new Lie("in an array: user is not more than the total", true);
	private static final Lie BEHIND_USER = new Lie("by another: user is at"
		+ " most a window behind what the thread itself has read", true);
	private static final Lie BEHIND_TOTAL = new Lie("by another: the total is"
		+ " at most a window behind what the thread itself has read", false);
	private static final Lie AHEAD_USER = new Lie("by itself: user is at most"
		+ " a window behind what another has read", true);
	private static final Lie AHEAD_TOTAL = new Lie("by itself: the total is at"
		+ " most a window behind what another has read", false);
	private static final Lie[] ALL = {
		SELF_USER_OVER, SELF_USER_BACK, SELF_TOTAL_BACK, OTHER_USER_OVER,
		OTHER_USER_BACK, OTHER_TOTAL_BACK, ARRAY_USER_OVER,
		BEHIND_USER, BEHIND_TOTAL, AHEAD_USER, AHEAD_TOTAL};

	private static final class Worker extends Thread {
		private final int kind;
		private final Work work = new Work();
		private final Random random;
		private long user_ns;
		private long total_ns;
		private Phase last = phase;
		volatile long samples;
		/** What it has read of itself, and what another read of it. */
		volatile long readUser_ns;
		volatile long readTotal_ns;
		volatile long seenUser_ns;
		volatile long seenTotal_ns;

		Worker(int kind) {
			super("worker-" + kind);
			this.kind = kind;
			this.random = new Random(kind);
			setDaemon(true);
		}

		@Override
		public void run() {
			while (!stopWorkers) {
				burst(kind == 3 ? 100000 + random.nextInt(1900000)
						: 700000);
				sample();
				Work.sleep(kind == 3 ? 1 + random.nextInt(5) : 3);
				sample();
			}
			work.close();
		}

		private void burst(long ns) {
			long end = System.nanoTime() + ns;
			long part = ns / STEPS;

			for (int i = 0; i < STEPS && System.nanoTime() - end < 0; i++) {
				if (kind == 1 || kind >= 2 && (i & 1) != 0)
					work.kernel(part);
				else
					work.user(part);
				sample();
			}
		}

		private void sample() {
			Phase before = phase;
			long seenUser = seenUser_ns;
			long seenTotal = seenTotal_ns;
			long user = Times.USER.current();
			long total = Times.TOTAL.current();
			Phase over = over(before, phase);
			Phase since = over(last, over);

			SELF_USER_OVER.check(over, user, total);
			SELF_USER_BACK.check(since, user_ns, user);
			SELF_TOTAL_BACK.check(since, total_ns, total);
			AHEAD_USER.check(since, seenUser - Times.AHEAD_NS, user);
			AHEAD_TOTAL.check(since, seenTotal - Times.AHEAD_NS, total);
			last = over;
			user_ns = user;
			total_ns = total;
			readUser_ns = user;
			readTotal_ns = total;
			samples++;
			bySelf.incrementAndGet();
		}
	}

	/** The phase of what began in one and ended in another. */
	private static Phase over(Phase begin, Phase end) {
		return begin == end ? begin : Phase.OVER;
	}

	private static final class Observer extends Thread {
		private final Worker[] workers;
		private final long[] ids = new long[THREADS];
		private final long[] users = new long[THREADS];
		private final long[] totals = new long[THREADS];
		private final Phase[] last = new Phase[THREADS];
		volatile long rounds;

		Observer(Worker[] workers) {
			super("observer");
			this.workers = workers;
			setDaemon(true);
			for (int i = 0; i < THREADS; i++) {
				ids[i] = workers[i].getId();
				last[i] = phase;
			}
		}

		@Override
		public void run() {
			while (!stop) {
				alone();
				array();
				rounds++;
				Work.sleep(1);
			}
		}

		private void alone() {
			for (int i = 0; i < THREADS; i++) {
				Phase before = phase;
				long readUser = workers[i].readUser_ns;
				long readTotal = workers[i].readTotal_ns;
				long user = Times.USER.of(ids[i]);
				long total = Times.TOTAL.of(ids[i]);

				judge(i, before, user, total, readUser, readTotal);
				OTHER_USER_OVER.check(over(before, phase), user, total);
			}
		}

		private void array() {
			Phase before = phase;
			long[] readUser = new long[THREADS];
			long[] readTotal = new long[THREADS];
			long[] user;
			long[] total;

			for (int i = 0; i < THREADS; i++) {
				readUser[i] = workers[i].readUser_ns;
				readTotal[i] = workers[i].readTotal_ns;
			}
			user = Times.USER.of(ids);
			total = Times.TOTAL.of(ids);
			for (int i = 0; i < THREADS; i++) {
				judge(i, before, user[i], total[i], readUser[i],
				      readTotal[i]);
				ARRAY_USER_OVER.check(over(before, phase), user[i],
						      total[i]);
			}
		}

		private void judge(int i, Phase before, long user, long total,
				   long readUser, long readTotal) {
			Phase over = over(before, phase);
			Phase since = over(last[i], over);

			OTHER_USER_BACK.check(since, users[i], user);
			OTHER_TOTAL_BACK.check(since, totals[i], total);
			BEHIND_USER.check(since, readUser - Times.AHEAD_NS, user);
			BEHIND_TOTAL.check(since, readTotal - Times.AHEAD_NS, total);
			users[i] = user;
			totals[i] = total;
			last[i] = over;
			workers[i].seenUser_ns = user;
			workers[i].seenTotal_ns = total;
			byOther.incrementAndGet();
		}
	}

	private static boolean enough(long of, long end) {
		return bySelf.get() * of >= (SAMPLES - BY_OTHERS) &&
			       byOther.get() * of >= BY_OTHERS ||
		       System.nanoTime() - end > 0;
	}

	/** Until each has read what it reads anew, and read it again. */
	private static void refresh(Worker[] workers, Observer observer, long end) {
		for (int i = 0; i < 2; i++) {
			long[] samples = new long[THREADS];
			long rounds = observer.rounds;

			for (int j = 0; j < THREADS; j++)
				samples[j] = workers[j].samples;
			for (int j = 0; j < THREADS; j++) {
				while (workers[j].samples < samples[j] + 2 &&
				       System.nanoTime() - end < 0)
					Work.sleep(1);
			}
			while (observer.rounds < rounds + 2 &&
			       System.nanoTime() - end < 0)
				Work.sleep(1);
		}
	}

	public static void main(String[] args) throws Exception {
		Worker[] workers = new Worker[THREADS];
		Observer observer;
		long end = System.nanoTime() + PATIENCE_NS;

		for (int i = 0; i < THREADS; i++)
			(workers[i] = new Worker(i)).start();
		observer = new Observer(workers);
		observer.start();
		if (Agents.PATH != null) {
			while (!enough(2, end))
				Work.sleep(5);
			phase = Phase.OVER;
			Tap.test("the agent is attached", () -> {
				Agents.on();
				return null;
			});
			/* What is held against each other is then all its own. */
			refresh(workers, observer, end);
			phase = Phase.AFTER;
		}
		while (!enough(1, end))
			Work.sleep(5);
		stop = true;
		observer.join();
		stopWorkers = true;
		for (Worker worker : workers)
			worker.join();
		Tap.note(bySelf + " samples by a thread of itself, " + byOther +
			 " by another");
		for (Worker worker : workers)
			Tap.note(worker.getName() + ": user " + worker.user_ns +
				 " of " + worker.total_ns + " ns");
		Tap.result(bySelf.get() + byOther.get() >= SAMPLES
				   ? null : "too few for " + PATIENCE_NS + " ns",
			   SAMPLES + " samples" + AT_WORK);
		for (Lie lie : ALL)
			lie.report();
		Tap.finish();
	}
}
