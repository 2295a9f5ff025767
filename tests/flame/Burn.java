// SPDX-License-Identifier: MIT
// Burns in a compiled method until it is told to stop, after SECONDS.
public class Burn {
    static volatile long sink;

    static long inner(long n) {
        long sum = 0;
        for (long i = 0; i < n; i++) {
            sum += i ^ (sum >>> 3);
        }
        return sum;
    }

    static void outer(long n) {
        sink += inner(n);
    }

    public static void main(String[] args) {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        while (System.nanoTime() < end) {
            outer(1_000_000);
        }
    }
}
