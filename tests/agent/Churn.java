/* SPDX-License-Identifier: MIT */

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * Churn SECONDS: threads that live for a moment, and others that ask for their
 * times all the while, one by one and in arrays. Each answer is held against
 * what is known of that thread.
 *
 * Property: ticks (user time is raw ticks).
 */
public final class Churn {
	private static final int MAKERS = 3;
	private static final int ASKERS = 2;
	private static final int BATCH = 12;
	/** Each maker has so many places here, for its batch and some of old. */
	private static final int PLACES = BATCH * 3 / 2;
	private static final AtomicReferenceArray<Brief> known =
		new AtomicReferenceArray<>(MAKERS * PLACES);
	/** What the wall clock and the thread clocks may differ by. */
	private static final long SLACK_NS = 2000000;

	private static volatile boolean stop;
	private static volatile Object garbage;
	private static final AtomicLong threads = new AtomicLong();
	private static final AtomicLong answers = new AtomicLong();
	private static final AtomicLong positive = new AtomicLong();
	private static Waiter steady;

	private Churn() {
	}

	/** What must hold of each answer. */
	private enum Rule {
		NOT_BELOW("an answer is -1 or a time"),
		ALIVE("a thread that lives has a time"),
		ENDED("one that has ended, or never was, has -1"),
		READ("no time is less than what the thread itself has read before,"
			+ " by more than a window"),
		RUN("the total is no less than what the kernel has run it for"),
		WALL("no thread has used more than the time since its start"),
		USER("user is not more than the total"),
		FIRST("a new thread begins near 0"),
		BACK("a thread's own times do not decrease"),
		STEADY("a thread that waits has the same times, always"),
		THROWN("nothing is thrown");

		private final String sentence;
		private final AtomicInteger broken = new AtomicInteger();
		private volatile String how;

		Rule(String sentence) {
			this.sentence = sentence;
		}

		void check(boolean holds, String what, Object... values) {
			if (holds || broken.getAndIncrement() > 0)
				return;
			how = String.format(what, values);
		}

		void report() {
			int times = broken.get();

			Tap.result(times == 0 ? null
				   : times + " times, the first: " + how, sentence);
		}
	}

	private static final class Brief extends Thread {
		private final int kind;
		volatile long born_ns;
		/** What it has read of itself, and what the kernel said. */
		volatile long user_ns = -1;
		volatile long total_ns = -1;
		volatile long run_ns;
		volatile boolean running;
		volatile boolean leaving;
		volatile boolean joined;

		Brief(int kind) {
			this.kind = kind;
		}

		@Override
		public void run() {
			running = true;
			try (Work work = new Work()) {
				first();
				live(work);
			} catch (Throwable thrown) {
				Rule.THROWN.check(false, "%s", thrown);
			}
			leaving = true;
		}

		private void first() {
			long user = Times.USER.current();
			long total = Times.TOTAL.current();
			long wall = System.nanoTime() - born_ns + SLACK_NS;

			Rule.FIRST.check(user >= 0 && total >= 0 && total <= wall,
					 "user %d, total %d after %d ns", user, total,
					 wall);
			publish(user, total);
		}

		private void publish(long user, long total) {
			Rule.BACK.check(user >= user_ns && total >= total_ns,
					"user %d, then %d; total %d, then %d",
					user_ns, user, total_ns, total);
			Rule.USER.check(Times.TICKS || user <= total,
					"%d of %d, of itself", user, total);
			user_ns = user;
			total_ns = total;
		}

		private void live(Work work) {
			long user;
			long total;

			garbage = new byte[1024 + kind * 512];
			/* Most are brief, some are not, so that mistaking one shows. */
			if (kind == 0)
				work.user(8000000);
			else if (kind == 1)
				work.kernel(2000000);
			else
				work.user(20000);
			if (kind < 4)
				run_ns = runByKernel();
			user = Times.USER.current();
			total = kind == 2 ? Times.TOTAL.of(getId())
					  : Times.TOTAL.current();
			publish(user, total);
			if (kind % 3 == 0)
				Work.sleep(1);
		}
	}

	/** As of the last tick or switch. */
	private static long runByKernel() {
		try {
			String text = new String(Files.readAllBytes(Paths.get(
				"/proc/thread-self/schedstat")),
				StandardCharsets.US_ASCII);

			return Long.parseLong(text.split(" ")[0]);
		} catch (IOException error) {
			return 0;
		}
	}

	/** Makes threads, waits for them, and makes others. */
	private static void make(int maker) {
		ThreadLocalRandom random = ThreadLocalRandom.current();
		Brief[] batch = new Brief[BATCH];
		int place = 0;

		while (!stop) {
			for (int i = 0; i < BATCH; i++) {
				batch[i] = new Brief(random.nextInt(24));
				place = (place + 1) % PLACES;
				known.set(maker * PLACES + place, batch[i]);
			}
			for (Brief brief : batch) {
				brief.born_ns = System.nanoTime();
				brief.start();
			}
			for (Brief brief : batch) {
				Work.join(brief);
				brief.joined = true;
			}
			threads.addAndGet(BATCH);
		}
	}

	/** A question about a thread: what was known when it was asked. */
	private static final class Question {
		final Brief brief;
		final boolean running;
		final boolean joined;
		final long user_ns;
		final long total_ns;
		final long run_ns;
		long userAnswer;

		Question(Brief brief) {
			this.brief = brief;
			running = brief.running;
			joined = brief.joined;
			user_ns = brief.user_ns;
			total_ns = brief.total_ns;
			run_ns = brief.run_ns;
		}

		void judge(Times time, long answer, boolean array) {
			boolean total = time == Times.TOTAL;
			boolean left = brief.leaving;
			long wall = System.nanoTime() - brief.born_ns + SLACK_NS;
			long read = total ? total_ns : user_ns;
			String who = time.word() + (array ? " in an array" : "");

			answers.incrementAndGet();
			if (answer >= 0)
				positive.incrementAndGet();
			Rule.NOT_BELOW.check(answer >= -1, "%s: %d", who, answer);
			Rule.ALIVE.check(answer != -1 || !running || left,
					 "%s: thread %d", who, brief.getId());
			if (answer == -1)
				return;
			Rule.ENDED.check(!joined, "%s: %d of thread %d", who, answer,
					 brief.getId());
			Rule.READ.check(answer >= read - Times.AHEAD_NS,
					"%s: %d, it had read %d", who, answer, read);
			if (!total) {
				Rule.WALL.check(Times.TICKS || answer <= wall,
						"%s: %d in %d ns", who, answer, wall);
				return;
			}
			Rule.WALL.check(answer <= wall, "%s: %d in %d ns", who,
					answer, wall);
			Rule.RUN.check(answer >= run_ns, "%s: %d of %d", who, answer,
				       run_ns);
			Rule.USER.check(Times.TICKS || userAnswer <= answer,
					"%d of %d", userAnswer, answer);
		}
	}

	private static void askAlone(ThreadLocalRandom random) {
		Brief brief = known.get(random.nextInt(known.length()));
		Question question;
		Question again;

		if (brief == null)
			return;
		question = new Question(brief);
		question.userAnswer = Times.USER.of(brief.getId());
		question.judge(Times.USER, question.userAnswer, false);
		again = new Question(brief);
		again.userAnswer = question.userAnswer;
		again.judge(Times.TOTAL, Times.TOTAL.of(brief.getId()), false);
	}

	/** Those known, this thread, the steady one, and some that never were. */
	private static void askMany(ThreadLocalRandom random) {
		int size = random.nextBoolean() ? 300 : 2 + random.nextInt(40);
		long[] ids = new long[size];
		Question[] questions = new Question[size];
		long[] user;
		long[] total;

		for (int i = 0; i < size; i++) {
			Brief brief = known.get(random.nextInt(known.length()));

			if (brief != null && i % 16 < 13) {
				questions[i] = new Question(brief);
				ids[i] = brief.getId();
			} else {
				ids[i] = i % 16 == 13 ? steady.getId()
					 : i % 16 == 14
						 ? Thread.currentThread().getId()
						 : Long.MAX_VALUE - i;
			}
		}
		user = Times.USER.of(ids);
		total = Times.TOTAL.of(ids);
		for (int i = 0; i < size; i++) {
			if (questions[i] != null) {
				questions[i].judge(Times.USER, user[i], true);
				questions[i].userAnswer = user[i];
				questions[i].judge(Times.TOTAL, total[i], true);
			} else if (ids[i] == steady.getId()) {
				steady(user[i], total[i]);
			} else if (ids[i] == Thread.currentThread().getId()) {
				Rule.USER.check(user[i] >= 0 && (Times.TICKS ||
							user[i] <= total[i]),
					"%d of %d, its own", user[i], total[i]);
			} else {
				Rule.ENDED.check(user[i] == -1 && total[i] == -1,
						 "one that never was: user %d,"
						 + " total %d", user[i], total[i]);
			}
		}
	}

	private static long steadyUser;
	private static long steadyTotal;

	private static void steady(long user, long total) {
		Rule.STEADY.check(user == steadyUser && total == steadyTotal,
				  "user %d, not %d; total %d, not %d", user,
				  steadyUser, total, steadyTotal);
	}

	private static void ask(boolean array) {
		ThreadLocalRandom random = ThreadLocalRandom.current();
		long user = 0;
		long total = 0;

		while (!stop) {
			if (array)
				askMany(random);
			else
				for (int i = 0; i < 20; i++)
					askAlone(random);
			long nowUser = Times.USER.current();
			long nowTotal = Times.TOTAL.current();

			Rule.BACK.check(nowUser >= user && nowTotal >= total,
					"user %d, then %d; total %d, then %d", user,
					nowUser, total, nowTotal);
			user = nowUser;
			total = nowTotal;
			/* Or no thread would be made where there are few CPUs. */
			Work.sleep(1);
		}
	}

	private static Thread start(Runnable run) {
		Thread thread = new Thread(() -> {
			try {
				run.run();
			} catch (Throwable thrown) {
				StackTraceElement[] at = thrown.getStackTrace();

				Rule.THROWN.check(false, "%s at %s", thrown,
						  at.length > 0 ? at[0] : "?");
			}
		});

		thread.start();
		return thread;
	}

	public static void main(String[] args) {
		Thread[] all = new Thread[MAKERS + 2 * ASKERS];
		double seconds = Double.parseDouble(args[0]);

		steady = new Waiter("steady", 30000000).begin().settle();
		Work.sleep(50);
		steadyUser = Times.USER.of(steady.getId());
		steadyTotal = Times.TOTAL.of(steady.getId());
		Tap.result(steadyTotal >= 30000000 && (Times.TICKS ||
			   steadyUser <= steadyTotal) ? null
			   : steadyUser + " of " + steadyTotal,
			   "one that has used 30 ms has used them");
		for (int i = 0; i < all.length; i++) {
			int number = i;

			all[i] = start(i < MAKERS ? () -> make(number)
						  : () -> ask(number % 2 == 0));
		}
		Work.sleep((long) (seconds * 1000));
		stop = true;
		for (Thread thread : all)
			Work.join(thread);
		Tap.note(threads + " threads, " + answers + " answers, " + positive +
			 " of them a time");
		Tap.result(threads.get() > 0 && positive.get() > 0 &&
			   positive.get() < answers.get() ? null : "there were not",
			   "there were threads, times, and -1");
		for (Rule rule : Rule.values())
			rule.report();
		Tap.finish();
	}
}
