/* SPDX-License-Identifier: MIT */

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Compiled loops that ask for times in every way, while the agent is attached,
 * attached again, and switched off and on.
 *
 * Properties: agent and options; times (how often off and on, 100), ticks. Without
 * an agent the loops run for 2 s.
 */
public final class Attach {
	private static final int CALLERS = 2;
	private static final int TIMES = Integer.getInteger("times", 100);
	/** So many rounds make a loop a hot one. */
	private static final int WARM = 20000;

	private static volatile boolean stop;
	private static Waiter steady;
	private static Waiter dead;
	private static long steadyTotal;
	private static long steadyUser;
	private static final Caller[] callers = new Caller[CALLERS];
	private static final CyclicBarrier both = new CyclicBarrier(CALLERS);

	private Attach() {
	}

	private enum Rule {
		BACK("no total is less than the one before, by more than a window"),
		USER("user is not more than the total, by more than a window"),
		NOT_BELOW("every time of a live thread is one"),
		STEADY("a waiting thread keeps its total, to the nanosecond, and its"
			+ " user time, to 10 ms"),
		ENDED("one that has ended keeps its -1, one that never was too"),
		THROWN("nothing is thrown");

		private final String sentence;
		private final AtomicInteger broken = new AtomicInteger();
		private volatile String how;

		Rule(String sentence) {
			this.sentence = sentence;
		}

		void broken(String what, long a, long b) {
			if (broken.getAndIncrement() == 0)
				how = what + ": " + a + ", " + b;
		}

		void report() {
			int times = broken.get();

			Tap.result(times == 0 ? null
				   : times + " times, the first: " + how, sentence);
		}
	}

	/** Steps back that are within the window, and the worst. */
	private static final AtomicLong small = new AtomicLong();
	private static final AtomicLong worst = new AtomicLong();

	private static void forward(String how, long before, long now) {
		if (now >= before)
			return;
		small.incrementAndGet();
		worst.accumulateAndGet(before - now, Math::max);
		if (before - now > Times.AHEAD_NS)
			Rule.BACK.broken(how, before, now);
	}

	private static void within(String how, long user, long total) {
		if (user < 0 || total < 0)
			Rule.NOT_BELOW.broken(how, user, total);
		if (!Times.TICKS && user > total + Times.AHEAD_NS)
			Rule.USER.broken(how, user, total);
	}

	private static final class Caller extends Thread {
		private final long[] ids = new long[5];
		private final Work work = new Work();
		private long other;
		private long last;
		private long lastOther;
		volatile long rounds;

		@Override
		public void run() {
			try {
				/* The other lives before, and until after, the loop. */
				both.await();
				while (!stop)
					loop();
			} catch (Throwable thrown) {
				Rule.THROWN.broken("" + thrown, 0, 0);
				stop = true;
			}
			work.close();
			try {
				both.await(60, TimeUnit.SECONDS);
			} catch (Exception thrown) {
				Rule.THROWN.broken("" + thrown, 0, 0);
			}
		}

		/** Once all of them have ids. */
		void prepare(int number) {
			other = callers[1 - number].getId();
			ids[0] = getId();
			ids[1] = steady.getId();
			ids[2] = other;
			ids[3] = dead.getId();
			ids[4] = Long.MAX_VALUE;
		}

		private void loop() {
			for (int i = 0; i < 50; i++) {
				current();
				byOwnId();
				byId();
				array();
			}
			work.userStep();
			work.kernelStep();
			rounds += 50;
		}

		private void total(String how, long now) {
			forward(how, last, now);
			last = now;
		}

		private void current() {
			long user = Times.USER.current();
			long total = Times.TOTAL.current();

			within("current", user, total);
			total("current", total);
		}

		private void byOwnId() {
			total("by its own id", Times.TOTAL.of(ids[0]));
		}

		private void byId() {
			steady(Times.USER.of(ids[1]), Times.TOTAL.of(ids[1]));
			other(Times.USER.of(other), Times.TOTAL.of(other));
			if (Times.TOTAL.of(ids[3]) != -1 ||
			    Times.USER.of(ids[4]) != -1)
				Rule.ENDED.broken("by id", 0, 0);
		}

		private void array() {
			long[] user = Times.USER.of(ids);
			long[] total = Times.TOTAL.of(ids);

			within("in an array", user[0], total[0]);
			total("in an array", total[0]);
			steady(user[1], total[1]);
			other(user[2], total[2]);
			for (int i = 3; i < 5; i++) {
				if (user[i] != -1 || total[i] != -1)
					Rule.ENDED.broken("in an array", user[i],
							  total[i]);
			}
		}

		private void other(long user, long total) {
			within("the other", user, total);
			forward("the other's", lastOther, total);
			lastOther = total;
		}

		private void steady(long user, long total) {
			if (total != steadyTotal)
				Rule.STEADY.broken("total", total, steadyTotal);
			if (Math.abs(user - steadyUser) >
			    (Times.TICKS ? 40000000 : 10000000))
				Rule.STEADY.broken("user", user, steadyUser);
		}
	}

	/** Until each caller has gone through so many more rounds. */
	private static String rounds(long more) {
		long[] before = new long[CALLERS];
		long end = System.nanoTime() + 60000000000L;

		for (int i = 0; i < CALLERS; i++)
			before[i] = callers[i].rounds;
		for (int i = 0; i < CALLERS; i++) {
			while (callers[i].rounds - before[i] < more) {
				if (System.nanoTime() - end > 0 ||
				    !callers[i].isAlive())
					return "a loop has stopped";
				Work.sleep(1);
			}
		}
		return null;
	}

	/**
	 * Whether user time comes in whole milliseconds: ticks of any common
	 * rate, or the units of /proc. The agent's own are finer.
	 */
	private static boolean coarse() {
		boolean coarse = true;

		try (Work work = new Work()) {
			for (int i = 0; i < 40; i++) {
				work.user(1000000);
				coarse &= Times.USER.current() % 1000000 == 0;
			}
		}
		return coarse;
	}

	private static String expect(boolean coarseBefore, boolean coarse) {
		if (!coarseBefore || Times.TICKS)
			throw new Tap.Skip("this JVM's own user time is as fine");
		if (Agents.PATH != null && System.getProperty("options", "")
				.matches(".*(user=jdk26|source=proc).*"))
			throw new Tap.Skip("these options give ticks or 10 ms");
		return coarse() == coarse ? null
			: "user times are " + (coarse ? "fine" : "coarse");
	}

	public static void main(String[] args) throws Exception {
		boolean before;

		steady = new Waiter("steady", 30000000).begin().settle();
		dead = new Waiter("dead", 1000000).begin().settle();
		dead.end();
		Work.sleep(50);
		steadyTotal = Times.TOTAL.of(steady.getId());
		steadyUser = Times.USER.of(steady.getId());
		for (int i = 0; i < CALLERS; i++)
			callers[i] = new Caller();
		for (int i = 0; i < CALLERS; i++)
			callers[i].prepare(i);
		for (Caller caller : callers)
			caller.start();
		before = coarse();
		if (Agents.PATH == null) {
			Work.sleep(2000);
			Tap.test("the loops run", () -> rounds(100));
			Tap.skip("the agent is attached, switched off and on",
				 "no agent: -Dagent=PATH");
		} else {
			attach(before);
		}
		stop = true;
		for (Caller caller : callers)
			Work.join(caller);
		Tap.note(callers[0].rounds + callers[1].rounds + " rounds; " + small +
			 " totals less than the one before, by " + worst +
			 " ns at worst; a window is " + Times.AHEAD_NS);
		for (Rule rule : Rule.values())
			rule.report();
		Tap.finish();
	}

	private static void attach(boolean before) {
		Tap.test("the loops are hot", () -> rounds(WARM));
		Tap.test("the agent is attached", () -> {
			Agents.on();
			return rounds(100);
		});
		Tap.test("it answers: user times are finer than the JVM's", () ->
			expect(before, false));
		Tap.test("it is attached again", () -> {
			Agents.on();
			return rounds(100);
		});
		Tap.test("it still answers", () -> expect(before, false));
		Tap.test("it is attached by jcmd", () -> {
			if (Times.JDK < 9)
				throw new Tap.Skip("this JDK's jcmd cannot");
			Agents.jcmd(System.getProperty("options"));
			return rounds(100);
		});
		Tap.test("it is switched off", () -> {
			Agents.load("off");
			return rounds(100);
		});
		Tap.test("the JVM answers: user times are coarse again", () ->
			expect(before, true));
		Tap.test("it is switched off again", () -> {
			Agents.load("off");
			return rounds(100);
		});
		Tap.test("on and off, " + TIMES + " times", () -> {
			for (int i = 0; i < TIMES; i++) {
				Agents.on();
				Agents.load("off");
				if (i % 20 == 0)
					Work.sleep(1);
			}
			return rounds(100);
		});
		Tap.test("after that, off is off", () -> expect(before, true));
		Tap.test("and on is on", () -> {
			Agents.on();
			rounds(100);
			return expect(before, false);
		});
		Tap.test("the loops still run", () -> rounds(WARM / 10));
	}
}
