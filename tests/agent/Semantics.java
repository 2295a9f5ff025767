/* SPDX-License-Identifier: MIT */

import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * What ThreadMXBean promises of CPU times: the same of a JVM as it comes and of
 * one with the agent.
 *
 * Properties: ticks (user time is raw ticks), waiters (how many threads wait).
 */
public final class Semantics {
	private static final int WAITERS = Integer.getInteger("waiters", 10);
	/** USER_HZ is 100 wherever Java runs on Linux. */
	private static final long STAT_UNIT_NS = 10000000;
	private static final long MARK = -77;

	private static final List<Waiter> waiters = new ArrayList<>();
	private static Waiter dead;
	private static Thread unstarted;

	private Semantics() {
	}

	public static void main(String[] args) throws Exception {
		begin();
		support();
		for (Times time : Times.values()) {
			refusals(time);
			threadsThatAreNot(time);
			ownTime(time);
			otherThreads(time);
			bulk(time);
			collisions(time);
			natives(time);
			virtualThreads(time);
		}
		userWithinTotal();
		clock();
		kernelAgrees();
		proxy();
		disabled();
		for (Waiter waiter : waiters)
			waiter.end();
		Tap.finish();
	}

	/** Threads that have used 1, 4, 7, ... ms, and wait. */
	private static void begin() {
		for (int i = 0; i < WAITERS; i++)
			waiters.add(new Waiter("waiter-" + i,
					       1000000L + i % 10 * 3000000L)
						.begin());
		for (Waiter waiter : waiters)
			waiter.settle();
		dead = new Waiter("dead", 2000000).begin().settle();
		dead.end();
		unstarted = new Thread("unstarted");
		/* One whose state is WAITING may still be on its way. */
		Work.sleep(50);
	}

	private static long ownId() {
		return Thread.currentThread().getId();
	}

	// ---- What is wrong, or null

	private static String throwing(Class<? extends Throwable> wanted,
				       String call, Tap.Body body) {
		try {
			body.run();
		} catch (Throwable thrown) {
			return thrown.getClass() == wanted
				       ? null
				       : call + " throws " + thrown;
		}
		return call + " throws nothing";
	}

	private static String equal(long wanted, long got, String what) {
		return wanted == got ? null
				     : what + " is " + got + ", not " + wanted;
	}

	private static String ordered(String names, long... values) {
		for (int i = 1; i < values.length; i++) {
			if (values[i] < values[i - 1])
				return names + ": " + Arrays.toString(values);
		}
		return values[0] < 0 ? names + ": " + values[0] : null;
	}

	/** The first that is not null. */
	private static String first(String... wrongs) {
		for (String wrong : wrongs) {
			if (wrong != null)
				return wrong;
		}
		return null;
	}

	// ---- The tests

	private static void support() {
		Tap.test("the times of the current thread are supported", () ->
			Times.BEAN.isCurrentThreadCpuTimeSupported()
				? null : "they are not");
		Tap.test("the times of other threads are supported", () ->
			Times.BEAN.isThreadCpuTimeSupported()
				? null : "they are not");
		Tap.test("both are enabled from the start", () ->
			Times.BEAN.isThreadCpuTimeEnabled()
				? null : "they are not");
	}

	private static final long[] BAD_IDS = {
		0, -1, -2, -1000000, Integer.MIN_VALUE,
		Long.MIN_VALUE, Long.MIN_VALUE + 1};

	private static void refusals(Times time) {
		Class<? extends Throwable> illegal =
			IllegalArgumentException.class;
		String word = time.word() + ": ";

		Tap.test(word + "an id below 1 is refused", () -> {
			String wrong = null;

			for (long id : BAD_IDS)
				wrong = first(wrong, throwing(illegal, "id " + id,
					() -> "" + time.of(id)));
			return wrong;
		});
		Tap.test(word + "so is an array with one, wherever it stands",
			 () -> badIdInArray(time));
		Tap.test(word + "no array is a NullPointerException", () ->
			throwing(NullPointerException.class, "null",
				 () -> "" + time.of((long[]) null)));
		Tap.test(word + "no ids give no times", () ->
			equal(0, time.of(new long[0]).length, "the length"));
		Tap.test(word + "the ids stay as they are, the answer is a new"
			+ " array", () -> {
			long[] ids = {ownId(), waiters.get(0).getId(), 1L << 50};
			long[] before = ids.clone();
			long[] one = time.of(ids);
			long[] two = time.of(ids);

			if (!Arrays.equals(ids, before))
				return Arrays.toString(ids);
			return one != two && one != ids && one.length == 3
				       ? null : "it is not";
		});
	}

	private static String badIdInArray(Times time) {
		String wrong = null;

		for (int size : new int[] {1, 2, 3, 257}) {
			for (int at : new int[] {0, size / 2, size - 1}) {
				for (long bad : new long[] {0, -1, Long.MIN_VALUE}) {
					long[] ids = new long[size];

					Arrays.fill(ids, ownId());
					ids[at] = bad;
					wrong = first(wrong, throwing(
						IllegalArgumentException.class,
						bad + " at " + at + " of " + size,
						() -> "" + time.of(ids)));
				}
			}
		}
		return wrong;
	}

	/** -1 for it alone, and among others */
	private static String none(Times time, String who, long id) {
		long[] four = time.of(new long[] {ownId(), id, id, ownId()});

		return first(
			equal(-1, time.of(id), who + ", id " + id),
			equal(-1, time.of(new long[] {id})[0], who + " in an array"),
			equal(-1, four[1], who + " among others"),
			equal(-1, four[2], who + " again"),
			ordered("its neighbours", four[0], four[3]));
	}

	private static void threadsThatAreNot(Times time) {
		String word = time.word() + ": ";

		Tap.test(word + "a thread that has ended has -1", () ->
			none(time, "it", dead.getId()));
		Tap.test(word + "a thread that was not started has -1", () ->
			none(time, "it", unstarted.getId()));
		Tap.test(word + "from unstarted to ended: -1, a time, -1", () -> {
			Waiter waiter = new Waiter("short", 1000000);
			String wrong = none(time, "unstarted", waiter.getId());
			long alive;

			waiter.begin().settle();
			alive = time.of(waiter.getId());
			waiter.end();
			return first(wrong, alive < 0 ? "alive: " + alive : null,
				     none(time, "ended", waiter.getId()));
		});
		Tap.test(word + "ids that no thread has, -1", () -> {
			String wrong = null;

			for (long id : new long[] {Long.MAX_VALUE,
				     Long.MAX_VALUE - 1, Integer.MAX_VALUE,
				     1L << 31, 1L << 32, 1L << 62})
				wrong = first(wrong, none(time, "it", id));
			return wrong;
		});
		Tap.test(word + "an id that differs from a thread's in one upper"
			+ " bit has -1", () -> {
			String wrong = null;
			long[] live = {1, ownId(), waiters.get(0).getId(),
				       waiters.get(WAITERS - 1).getId()};

			/* Fewer threads than 2^20 were ever made here. */
			for (int bit = 20; bit < 63; bit++) {
				for (long id : live)
					wrong = first(wrong, none(time,
						"bit " + bit, id | 1L << bit));
			}
			return wrong;
		});
	}

	private static void ownTime(Times time) {
		String word = time.word() + ": ";
		boolean swapped = time == Times.USER && userByOwnIdIsTotal();

		Tap.test(word + "never negative, and never less than before", () -> {
			long last = 0;

			for (int i = 0; i < 10000; i++) {
				long now = time.current();

				if (now < last)
					return "read " + i + ": " + last +
						", then " + now;
				last = now;
			}
			return null;
		});
		Tap.test(word + "by its own id a thread has no less than it read"
			+ " before", () -> {
			String wrong = null;

			for (int i = 0; i < 200; i++)
				wrong = first(wrong, ordered("current, by id",
					time.current(), time.of(ownId())));
			return wrong;
		});
		Tap.test(word + "nor, in the current way, less than by its id", () -> {
			String wrong = null;

			if (swapped)
				throw new Tap.Skip("this JVM has JDK-8372704");
			for (int i = 0; i < 200; i++)
				wrong = first(wrong, ordered("by id, by id, current",
					time.of(ownId()), time.of(ownId()),
					time.current()));
			return wrong;
		});
		Tap.test(word + "the same in an array of one, two and three", () -> {
			String wrong = null;

			for (int i = 0; i < 200; i++) {
				long id = ownId();
				long a = time.current();
				long[] one = time.of(new long[] {id});
				long[] two = time.of(new long[] {id, id});
				long[] three = time.of(new long[] {id, id, id});
				long b = time.current();

				wrong = first(wrong, ordered("array of one",
							     a, one[0]),
					ordered("current, arrays, current", a,
						two[0], two[1], three[0],
						three[1], three[2], b));
			}
			return wrong;
		});
		Tap.test(word + "a new thread begins near 0", () -> {
			long[] read = new long[3];
			long born = System.nanoTime();
			Thread thread = new Thread(() -> {
				read[0] = time.current();
				read[1] = time.of(new long[] {ownId(), 1})[0];
				read[2] = System.nanoTime() - born;
			});

			thread.start();
			Work.join(thread);
			return ordered("current, by id, wall clock + 2 ms", read[0],
				       read[1], read[2] + 2000000);
		});
	}

	private static boolean userByOwnIdIsTotal() {
		long byId;
		long current;

		try (Work work = new Work()) {
			work.burn(100000000, true);
		}
		byId = Times.USER.of(ownId());
		current = Times.USER.current();
		if (byId <= current + 20000000)
			return false;
		/* Known of 21 to 25; it is not the agent's to mend. */
		if (Times.JDK < 21 || Times.JDK > 25)
			Tap.result("user by id " + byId + ", current " + current,
				   "user: by its own id it is no other time");
		else
			Tap.skip("user: by its own id it is no other time",
				 "this JVM has JDK-8372704: there it is the total");
		return true;
	}

	private static void otherThreads(Times time) {
		String word = time.word() + ": ";

		Tap.test(word + "another thread has what it read of itself and"
			+ " little more", () -> {
			String wrong = null;

			for (Waiter waiter : waiters) {
				long own = time == Times.TOTAL ? waiter.total_ns
							       : waiter.user_ns;
				long now = time.of(waiter.getId());

				if (now < own - Times.AHEAD_NS ||
				    now > own + 50000000)
					wrong = first(wrong, waiter.getName() +
						" read " + own + ", it has " + now);
			}
			return wrong;
		});
		Tap.test(word + "waiting threads stand still", () -> {
			String wrong = null;

			/* A busy machine may not have let one wait yet. */
			for (int i = 0; i < 5; i++) {
				wrong = still(time);
				if (wrong == null || wrong.contains("back"))
					return wrong;
			}
			return wrong;
		});
		Tap.test(word + "a thread at work advances, and not backwards", () -> {
			AtomicReference<Boolean> stop =
				new AtomicReference<>(false);
			Thread busy = new Thread(() -> {
				try (Work work = new Work()) {
					while (!stop.get())
						work.user(1000000);
				}
			});
			long start;
			long last;
			String wrong = null;
			long end = System.nanoTime() + 10000000000L;

			busy.start();
			start = last = time.of(busy.getId());
			while (last < start + 30000000 && wrong == null &&
			       System.nanoTime() - end < 0) {
				long now = time.of(busy.getId());

				wrong = ordered("before, now", last, now);
				last = now;
			}
			stop.set(true);
			Work.join(busy);
			return first(wrong, last < start + 30000000
				? "by " + (last - start) + " in 10 s" : null);
		});
		Tap.test(word + "every thread that the JVM lists has a time", () -> {
			long[] all = Times.BEAN.getAllThreadIds();
			long[] times = time.of(all);
			String wrong = all.length > WAITERS ? null : "no list";

			for (int i = 0; i < all.length; i++) {
				long alone = time.of(all[i]);
				boolean ended =
					Times.BEAN.getThreadInfo(all[i]) == null;

				if (!ended && (times[i] < 0 || alone < times[i]))
					wrong = first(wrong, "thread " + all[i] +
						": " + times[i] + ", then " + alone);
			}
			return wrong;
		});
	}

	private static String still(Times time) {
		long[] before = new long[WAITERS];
		String wrong = null;

		for (int i = 0; i < WAITERS; i++)
			before[i] = time.of(waiters.get(i).getId());
		Work.sleep(200);
		for (int i = 0; i < WAITERS; i++) {
			long now = time.of(waiters.get(i).getId());

			if (now < before[i] || now > before[i] + 100)
				wrong = first(wrong, waiters.get(i).getName() +
					(now < before[i] ? " went back: " : ": ") +
					before[i] + ", then " + now);
		}
		return wrong;
	}

	// ---- Many ids at once

	private static final int[] SIZES = {
		1, 2, 3, 63, 64, 65, 255, 256, 257, 511, 512, 513, 4096, 100000};

	private static void bulk(Times time) {
		String word = time.word() + ": ";

		for (int size : SIZES)
			Tap.test(word + size + " ids at once: live, ended, unknown,"
				+ " repeated, and its own", () -> many(time, size));
		Tap.test(word + "in an array as alone", () -> {
			long[] ids = new long[WAITERS];
			long[] times;
			String wrong = null;

			for (int i = 0; i < WAITERS; i++)
				ids[i] = waiters.get(i).getId();
			times = time.of(ids);
			for (int i = 0; i < WAITERS; i++)
				wrong = first(wrong, equal(time.of(ids[i]), times[i],
					waiters.get(i).getName()));
			return wrong;
		});
	}

	private static String many(Times time, int size) {
		long[] ids = new long[size];
		long[] wanted = new long[size];
		long[] alone = new long[WAITERS];
		long[] got;
		long own;
		String wrong;

		for (int i = 0; i < WAITERS; i++)
			alone[i] = time.of(waiters.get(i).getId());
		for (int i = 0; i < size; i++)
			wanted[i] = fill(ids, i, alone);
		own = time.current();
		got = time.of(ids);
		wrong = equal(size, got.length, "the length");
		for (int i = 0; i < size && wrong == null; i++) {
			if (ids[i] != ownId()) {
				wrong = equal(wanted[i], got[i], "number " + i);
				continue;
			}
			wrong = ordered("its own, number " + i, own, got[i]);
			own = got[i];
		}
		return first(wrong, size == 1 ? null
			: ordered("its own, current", own, time.current()));
	}

	/** A different mixture at each place; its time if it stands still. */
	private static long fill(long[] ids, int i, long[] alone) {
		int waiter = i * 7 % WAITERS;

		switch (i * 31 % 8) {
		case 1:
			ids[i] = dead.getId();
			return -1;
		case 2:
			ids[i] = Long.MAX_VALUE - i;
			return -1;
		case 3:
			ids[i] = ownId();
			return 0;
		case 4:
			ids[i] = unstarted.getId();
			return -1;
		case 5:
			waiter = 0;
			break;
		default:
			break;
		}
		ids[i] = waiters.get(waiter).getId();
		return alone[waiter];
	}

	// ---- Ids that a table of 2^16 or fewer places would confuse

	private static Waiter sharesPlaceWith(Thread thread, long cpu_ns) {
		for (int i = 0; i < 1 << 18; i++) {
			Waiter waiter = new Waiter("same place", cpu_ns);

			if ((waiter.getId() - thread.getId()) % (1 << 16) == 0)
				return waiter;
		}
		throw new Tap.Skip("this JVM's ids are not consecutive");
	}

	private static void collisions(Times time) {
		String word = time.word() + ": ";

		Tap.test(word + "ids that are equal in their lower 16 bits are not"
			+ " confused", () -> {
			Waiter old = new Waiter("old", 5000000).begin().settle();
			Waiter young = sharesPlaceWith(old, 25000000);
			String wrong;

			Work.sleep(20);
			wrong = equal(-1, time.of(young.getId()), "unstarted");
			young.begin().settle();
			Work.sleep(20);
			wrong = first(wrong, own(time, old), own(time, young));
			old.end();
			wrong = first(wrong, none(time, "the older", old.getId()),
				      own(time, young));
			young.end();
			return first(wrong, none(time, "both", old.getId()),
				     none(time, "both", young.getId()));
		});
		Tap.test(word + "nor when the younger ends first", () -> {
			Waiter old = new Waiter("old", 5000000).begin().settle();
			Waiter young = sharesPlaceWith(old, 1000000);
			String wrong;

			young.begin().settle();
			Work.sleep(20);
			wrong = first(own(time, old), own(time, young));
			young.end();
			wrong = first(wrong, none(time, "the younger", young.getId()),
				      own(time, old));
			old.end();
			return first(wrong, none(time, "both", old.getId()));
		});
	}

	/** Twice the same, alone and in an array, and what it read itself. */
	private static String own(Times time, Waiter waiter) {
		long alone = time.of(waiter.getId());
		long[] both = time.of(new long[] {waiter.getId(), waiter.getId()});
		long read = time == Times.TOTAL ? waiter.total_ns : waiter.user_ns;

		return first(equal(alone, both[0], waiter.getName()),
			     equal(alone, both[1], waiter.getName()),
			     alone < read - Times.AHEAD_NS ||
					     alone > read + 50000000
				     ? waiter.getName() + " read " + read +
					       ", it has " + alone
				     : null);
	}

	// ---- The natives, past the checks in Java

	private interface Native {
		Object call(Object... args) throws Throwable;
	}

	private static Native find(String name, Class<?>... types) {
		try {
			Method method = Class.forName("sun.management.ThreadImpl")
				.getDeclaredMethod(name, types);

			method.setAccessible(true);
			return args -> {
				try {
					return method.invoke(null, args);
				} catch (InvocationTargetException error) {
					throw error.getCause();
				}
			};
		} catch (ReflectiveOperationException error) {
			throw new Tap.Skip("this JVM has no " + name);
		} catch (RuntimeException error) {
			throw new Tap.Skip("it needs --add-opens"
				+ " java.management/sun.management=ALL-UNNAMED");
		}
	}

	private static Native one(Times time) {
		return find(time == Times.TOTAL ? "getThreadTotalCpuTime0"
						: "getThreadUserCpuTime0",
			    long.class);
	}

	private static Native array(Times time) {
		return find(time == Times.TOTAL ? "getThreadTotalCpuTime1"
						: "getThreadUserCpuTime1",
			    long[].class, long[].class);
	}

	private static void natives(Times time) {
		String word = time.word() + ", the native: ";
		Class<? extends Throwable> illegal =
			IllegalArgumentException.class;

		Tap.test(word + "0 is the current thread, as is its id", () -> {
			Native one = one(time);

			return ordered("current, 0, its id, current", time.current(),
				       (Long) one.call(0L),
				       (Long) one.call(ownId()), time.current());
		});
		Tap.test(word + "a negative id is refused", () -> first(
			throwing(illegal, "-1", () -> "" + one(time).call(-1L)),
			throwing(illegal, "least",
				 () -> "" + one(time).call(Long.MIN_VALUE))));
		Tap.test(word + "-1 for what is no thread", () -> first(
			equal(-1, (Long) one(time).call(dead.getId()), "ended"),
			equal(-1, (Long) one(time).call(unstarted.getId()),
			      "unstarted"),
			equal(-1, (Long) one(time).call(Long.MAX_VALUE), "unknown")));
		Tap.test(word + "null in either place is a NullPointerException",
			 () -> {
			Native array = array(time);
			Class<? extends Throwable> none =
				NullPointerException.class;
			long[] two = {MARK, MARK};

			return first(
				throwing(none, "no ids",
					 () -> "" + array.call(null, two)),
				throwing(none, "no times",
					 () -> "" + array.call(new long[] {1, 1},
							       null)),
				throwing(none, "neither",
					 () -> "" + array.call(null, null)),
				equal(MARK, two[0], "the time"));
		});
		for (int[] sizes : new int[][] {{2, 1}, {2, 3}, {0, 1}, {1, 0},
			     {300, 299}, {300, 600}})
			Tap.test(word + sizes[0] + " ids and room for " + sizes[1] +
				" times is refused, and nothing written", () -> {
				Native array = array(time);
				long[] ids = new long[sizes[0]];
				long[] times = new long[sizes[1]];

				Arrays.fill(ids, ownId());
				Arrays.fill(times, MARK);
				return first(throwing(illegal, "it",
						() -> "" + array.call(ids, times)),
					     onlyMarks(times));
			});
		for (int size : new int[] {2, 257, 1000})
			Tap.test(word + "a bad id among " + size + " is refused, and"
				+ " nothing written", () ->
				badIdWritesNothing(time, size));
		for (int size : new int[] {0, 1, 2, 257, 1000})
			Tap.test(word + "among " + size + " ids, what is no thread's"
				+ " is left as it was", () ->
				leavesOthers(time, size));
	}

	private static String onlyMarks(long[] times) {
		for (int i = 0; i < times.length; i++) {
			if (times[i] != MARK)
				return "number " + i + " is " + times[i];
		}
		return null;
	}

	private static String badIdWritesNothing(Times time, int size) {
		Native array = array(time);
		String wrong = null;

		for (int at : new int[] {0, size / 2, size - 1}) {
			for (long bad : new long[] {0, -1, Long.MIN_VALUE}) {
				long[] ids = new long[size];
				long[] times = new long[size];

				Arrays.fill(ids, waiters.get(0).getId());
				Arrays.fill(times, MARK);
				ids[at] = bad;
				wrong = first(wrong, throwing(
					IllegalArgumentException.class,
					bad + " at " + at,
					() -> "" + array.call(ids, times)),
					onlyMarks(times));
			}
		}
		return wrong;
	}

	private static String leavesOthers(Times time, int size)
		throws Throwable {
		long[] ids = new long[size];
		long[] times = new long[size];
		long alone = time.of(waiters.get(0).getId());
		String wrong = null;

		for (int i = 0; i < size; i++)
			ids[i] = i % 3 == 1 ? dead.getId()
				 : i % 3 == 2 ? Long.MAX_VALUE - i
					      : waiters.get(0).getId();
		Arrays.fill(times, MARK);
		array(time).call(ids, times);
		for (int i = 0; i < size; i++)
			wrong = first(wrong, equal(i % 3 == 0 ? alone : MARK,
						   times[i], "number " + i));
		return wrong;
	}

	// ---- Virtual threads

	private static Thread startVirtual(Runnable run) {
		try {
			return (Thread) Thread.class
				.getMethod("startVirtualThread", Runnable.class)
				.invoke(null, run);
		} catch (NoSuchMethodException error) {
			throw new Tap.Skip("this JVM has no virtual threads");
		} catch (InvocationTargetException error) {
			throw new Tap.Skip(error.getCause().getMessage());
		} catch (IllegalAccessException error) {
			throw new IllegalStateException(error);
		}
	}

	/** What the body says of a virtual thread, in it. */
	private static String inVirtual(Tap.Body body) {
		AtomicReference<String> wrong = new AtomicReference<>("not run");

		Work.join(startVirtual(() -> {
			try {
				wrong.set(body.run());
			} catch (Throwable thrown) {
				wrong.set("" + thrown);
			}
		}));
		return wrong.get();
	}

	private static void virtualThreads(Times time) {
		String word = time.word() + ", a virtual thread: ";
		long platform = ownId();

		Tap.test(word + (Times.JDK == 19 || Times.JDK == 20
			? "it may not ask for its own" : "its own is -1"), () ->
			inVirtual(() -> Times.JDK == 19 || Times.JDK == 20
				? throwing(UnsupportedOperationException.class,
					   "current", () -> "" + time.current())
				: equal(-1, time.current(), "current")));
		Tap.test(word + "by its own id, alone and in arrays: -1", () ->
			inVirtual(() -> {
				long[] two = time.of(new long[] {ownId(), ownId()});

				return first(
					equal(-1, time.of(ownId()), "by id"),
					equal(-1, time.of(new long[] {ownId()})[0],
					      "in an array of one"),
					equal(-1, two[0], "in an array"),
					equal(-1, two[1], "in an array, again"));
			}));
		Tap.test(word + "parked, by its id: -1, also between others", () -> {
			AtomicReference<Boolean> done =
				new AtomicReference<>(false);
			Thread thread = startVirtual(() -> {
				while (!done.get())
					LockSupport.park();
			});
			String wrong;

			Work.sleep(20);
			wrong = none(time, "it", thread.getId());
			done.set(true);
			LockSupport.unpark(thread);
			Work.join(thread);
			return first(wrong, none(time, "ended", thread.getId()));
		});
		Tap.test(word + "at work, by its id: -1", () -> {
			AtomicReference<Boolean> done =
				new AtomicReference<>(false);
			Thread thread = startVirtual(() -> {
				try (Work work = new Work()) {
					while (!done.get())
						work.user(100000);
				}
			});
			String wrong = null;

			for (int i = 0; i < 50; i++)
				wrong = first(wrong,
					none(time, "it", thread.getId()));
			done.set(true);
			Work.join(thread);
			return wrong;
		});
		Tap.test(word + "it sees platform threads as others do", () -> {
			long read = time.current();
			long id = waiters.get(0).getId();
			long waits = time.of(id);

			return inVirtual(() -> {
				long[] three = time.of(
					new long[] {platform, id, platform});

				return first(
					equal(waits, time.of(id), "a waiting one"),
					equal(waits, three[1], "in an array"),
					ordered("the one that started it",
						read - Times.AHEAD_NS,
						three[0], three[2]));
			});
		});
	}

	// ---- What holds between the two times, and of each

	private static void userWithinTotal() {
		Tap.test("user, then total: never more, of itself", () -> {
			if (Times.TICKS)
				throw new Tap.Skip("user time is raw ticks");
			return userWithinTotal(0);
		});
		Tap.test("user, then total: never more, of a thread at work", () -> {
			AtomicReference<Boolean> stop =
				new AtomicReference<>(false);
			Thread busy = new Thread(() -> {
				try (Work work = new Work()) {
					while (!stop.get()) {
						work.user(300000);
						work.kernel(100000);
					}
				}
			});
			String wrong;

			if (Times.TICKS)
				throw new Tap.Skip("user time is raw ticks");
			busy.start();
			Work.sleep(2);
			wrong = userWithinTotal(busy.getId());
			stop.set(true);
			Work.join(busy);
			return wrong;
		});
		Tap.test("user, then total: never more, of those that wait", () -> {
			String wrong = null;

			if (Times.TICKS)
				throw new Tap.Skip("user time is raw ticks");
			for (Waiter waiter : waiters)
				wrong = first(wrong, ordered(waiter.getName(),
					Times.USER.of(waiter.getId()),
					Times.TOTAL.of(waiter.getId())));
			return wrong;
		});
	}

	private static String userWithinTotal(long id) {
		try (Work work = new Work()) {
			for (int i = 0; i < 2000; i++) {
				long user = id == 0 ? Times.USER.current()
						    : Times.USER.of(id);
				long total = id == 0 ? Times.TOTAL.current()
						     : Times.TOTAL.of(id);

				if (user > total)
					return "read " + i + ": " + user + " of " +
						total;
				if (i % 3 == 0)
					work.userStep();
				else
					work.kernelStep();
			}
		}
		return null;
	}

	private static void clock() {
		Tap.test("work in user code is user time, for the most part", () ->
			share(false));
		Tap.test("work in the kernel is not, for the most part", () ->
			share(true));
		Tap.test("a thread that sleeps uses nothing", () -> {
			long total = Times.TOTAL.current();

			Work.sleep(200);
			total = Times.TOTAL.current() - total;
			return total < 100000000 ? null : total + " in 200 ms";
		});
		Tap.test("the total grows no faster than the wall clock", () -> {
			long wall = System.nanoTime();
			long total = Times.TOTAL.current();

			try (Work work = new Work()) {
				work.burn(50000000, false);
			}
			total = Times.TOTAL.current() - total;
			wall = System.nanoTime() - wall;
			return total <= wall + wall / 500 + 2000000
				? null : total + " in " + wall;
		});
	}

	private static String share(boolean inKernel) {
		long user = Times.USER.current();
		long total = Times.TOTAL.current();
		boolean done;
		long of_ten;

		try (Work work = new Work()) {
			done = work.burn(200000000, inKernel);
		}
		user = Times.USER.current() - user;
		total = Times.TOTAL.current() - total;
		of_ten = user * 10 / Math.max(total, 1);
		return !done ? "no 200 ms in 10 s"
			: (inKernel ? of_ten <= 5 : of_ten >= 5)
				? null : user + " of " + total;
	}

	/** The waiting threads, by their names, as the kernel has them. */
	private static void kernelAgrees() {
		Tap.test("total: what the kernel has run a waiting thread for",
			() -> eachTask((waiter, task) -> {
				String text = read(new File(task, "schedstat"));

				if (text == null || text.startsWith("0 0 0"))
					throw new Tap.Skip("no schedstat here");
				return equal(Long.parseLong(text.split(" ")[0]),
					Times.TOTAL.of(waiter.getId()),
					waiter.getName());
			}));
		/* Both estimate the split, to about a tick. */
		Tap.test("user: what the kernel says, to its unit and a tick",
			() -> eachTask((waiter, task) -> {
				String text = read(new File(task, "stat"));
				long user = Times.USER.of(waiter.getId());
				long kernel;

				if (text == null)
					throw new Tap.Skip("no stat here");
				if (Times.TICKS)
					throw new Tap.Skip("user time is raw ticks");
				text = text.substring(text.lastIndexOf(')') + 2);
				kernel = STAT_UNIT_NS *
					 Long.parseLong(text.split(" ")[11]);
				return user >= kernel &&
					user < kernel + 2 * STAT_UNIT_NS
					? null : waiter.getName() + ": " + user +
						", the kernel: " + kernel;
			}));
	}

	private interface OfTask {
		String run(Waiter waiter, File task);
	}

	private static String eachTask(OfTask body) {
		File[] tasks = new File("/proc/self/task").listFiles();
		String wrong = null;
		int found = 0;

		for (File task : tasks == null ? new File[0] : tasks) {
			String name = read(new File(task, "comm"));

			for (Waiter waiter : waiters) {
				if (name != null && waiter.getName().equals(
						name.trim())) {
					wrong = first(wrong, body.run(waiter, task));
					found++;
				}
			}
		}
		if (found == 0)
			throw new Tap.Skip("the kernel has no such names");
		return first(wrong, equal(WAITERS, found, "those found"));
	}

	private static String read(File file) {
		try {
			return new String(Files.readAllBytes(file.toPath()),
					  StandardCharsets.UTF_8);
		} catch (java.io.IOException error) {
			return null;
		}
	}

	private static void proxy() {
		Tap.test("through an MBean server as without", () -> {
			ThreadMXBean proxy = ManagementFactory
				.newPlatformMXBeanProxy(
					ManagementFactory.getPlatformMBeanServer(),
					ManagementFactory.THREAD_MXBEAN_NAME,
					ThreadMXBean.class);
			long id = waiters.get(0).getId();

			return first(
				ordered("total", Times.TOTAL.current(),
					proxy.getCurrentThreadCpuTime(),
					Times.TOTAL.current()),
				ordered("user", Times.USER.current(),
					proxy.getCurrentThreadUserTime(),
					Times.USER.current()),
				equal(Times.TOTAL.of(id),
				      proxy.getThreadCpuTime(id), "another's total"),
				equal(Times.USER.of(id),
				      proxy.getThreadUserTime(id),
				      "another's user"));
		});
	}

	private static void disabled() {
		long[] before = {Times.TOTAL.current(), Times.USER.current()};

		Times.BEAN.setThreadCpuTimeEnabled(false);
		Tap.test("disabled, it says so", () ->
			Times.BEAN.isThreadCpuTimeEnabled() ? "enabled" : null);
		for (Times time : Times.values()) {
			String word = time.word() + ", disabled: ";

			Tap.test(word + "the current thread has -1", () ->
				equal(-1, time.current(), "current"));
			Tap.test(word + "every id has -1", () -> first(
				equal(-1, time.of(ownId()), "its own"),
				equal(-1, time.of(waiters.get(0).getId()), "waiting"),
				equal(-1, time.of(dead.getId()), "ended"),
				equal(-1, time.of(Long.MAX_VALUE), "unknown")));
			Tap.test(word + "in arrays of any size too", () -> {
				String wrong = null;

				for (int size : new int[] {1, 2, 256, 257}) {
					long[] ids = new long[size];

					Arrays.fill(ids, ownId());
					for (long got : time.of(ids))
						wrong = first(wrong, equal(-1, got,
							"one of " + size));
				}
				return first(wrong, equal(0,
					time.of(new long[0]).length, "of none"));
			});
			Tap.test(word + "what is refused is still refused", () ->
				first(throwing(IllegalArgumentException.class, "0",
					       () -> "" + time.of(0)),
				      throwing(IllegalArgumentException.class, "-1",
					       () -> "" + time.of(new long[] {-1, 1})),
				      throwing(NullPointerException.class, "null",
					       () -> "" + time.of((long[]) null))));
		}
		Times.BEAN.setThreadCpuTimeEnabled(true);
		Tap.test("enabled again, it says so", () ->
			Times.BEAN.isThreadCpuTimeEnabled() ? null : "disabled");
		Tap.test("enabled again, no time is less than it was", () -> first(
			ordered("total", before[0], Times.TOTAL.current()),
			ordered("user", before[1], Times.USER.current())));
	}
}
