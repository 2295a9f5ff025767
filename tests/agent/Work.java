/* SPDX-License-Identifier: MIT */

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/** What uses CPU time, in user code or in the kernel; one for each thread. */
final class Work implements AutoCloseable {
	private ByteBuffer buffer;
	private RandomAccessFile zero;
	private FileChannel channel;
	private long state = 88172645463325252L;

	/** Some microseconds in user code. */
	void userStep() {
		long x = state;

		for (int i = 0; i < 1000; i++) {
			x ^= x << 13;
			x ^= x >>> 7;
			x ^= x << 17;
		}
		state = x | 1;
	}

	/** Some microseconds, nearly all of them in the kernel. */
	void kernelStep() {
		try {
			/* Where descriptors are few, only who needs one has one. */
			if (zero == null) {
				buffer = ByteBuffer.allocateDirect(1 << 16);
				zero = new RandomAccessFile("/dev/zero", "r");
				channel = zero.getChannel();
			}
			buffer.clear();
			channel.read(buffer);
		} catch (IOException error) {
			throw new UncheckedIOException(error);
		}
	}

	/** By the wall clock. */
	void user(long ns) {
		long end = System.nanoTime() + ns;

		while (System.nanoTime() - end < 0)
			userStep();
	}

	void kernel(long ns) {
		long end = System.nanoTime() + ns;

		while (System.nanoTime() - end < 0)
			kernelStep();
	}

	/** Until this thread's total has grown by cpu_ns, for 10 s at most. */
	boolean burn(long cpu_ns, boolean inKernel) {
		long end = System.nanoTime() + 10000000000L;
		long start = Times.TOTAL.current();

		while (Times.TOTAL.current() - start < cpu_ns) {
			if (System.nanoTime() - end > 0)
				return false;
			if (inKernel)
				kernel(200000);
			else
				user(200000);
		}
		return true;
	}

	@Override
	public void close() {
		try {
			if (zero != null)
				zero.close();
		} catch (IOException error) {
			throw new UncheckedIOException(error);
		}
	}

	static void sleep(long ms) {
		try {
			Thread.sleep(ms);
		} catch (InterruptedException error) {
			throw new IllegalStateException(error);
		}
	}

	static void join(Thread thread) {
		try {
			thread.join();
		} catch (InterruptedException error) {
			throw new IllegalStateException(error);
		}
	}
}
