// SPDX-License-Identifier: MIT
// Burns in a method of a generic type.
use std::time::{Duration, Instant};

struct Store<T> {
    sum: T,
}

trait Burn {
    fn burn(&mut self, ms: u64);
}

impl Burn for Store<u64> {
    #[inline(never)]
    fn burn(&mut self, ms: u64) {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(ms) {
            for i in 0..20000u64 {
                self.sum = std::hint::black_box(self.sum.wrapping_add(i));
            }
        }
    }
}

#[inline(never)]
fn run<B: Burn>(burner: &mut B) {
    burner.burn(1000);
    std::hint::black_box(&burner as *const _ as usize);
}

fn main() {
    let mut store = Store { sum: 0u64 };
    run(&mut store);
    std::process::exit((store.sum & 0) as i32);
}
