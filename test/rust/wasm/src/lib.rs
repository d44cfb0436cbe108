//! A program in WebAssembly, of which each worker has an instance. run.js calls it.
#![no_std]
use core::time::Duration;
use lockword::{Event, Instant, Mutex, RwLock, Semaphore};

static COUNT: Mutex<u32> = Mutex::new(0);
static PAIR: RwLock<(u32, u32)> = RwLock::new((0, 0));
static SLOTS: Semaphore = Semaphore::new(0);
static BEGUN: Event = Event::manual();

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

/// The address of the mutex, of what it guards, and of the others.
#[no_mangle]
pub extern "C" fn address(which: u32) -> *const u32 {
    match which {
        // SAFETY: only for its address.
        0 => unsafe { COUNT.raw() }.as_ptr(),
        1 => COUNT.data_ptr(),
        // SAFETY: only for its address.
        2 => unsafe { PAIR.raw() }.as_ptr(),
        3 => PAIR.data_ptr() as *const u32,
        4 => SLOTS.as_ptr(),
        _ => BEGUN.as_ptr(),
    }
}

/// Counts in turns with all others, when the event says that they may begin.
#[no_mangle]
pub extern "C" fn count(turns: u32) {
    BEGUN.wait();
    for _ in 0..turns {
        *COUNT.lock() += 1;
        let mut pair = PAIR.write();
        pair.0 += 1;
        pair.1 += 1;
    }
    SLOTS.release(1);
}

/// Whether the mutex can be had in time.
#[no_mangle]
pub extern "C" fn lock_for(ms: u32) -> bool {
    let ms = Duration::from_millis(ms.into());
    let by_then = COUNT.try_lock_for(ms).is_some();
    by_then && COUNT.try_lock_until(Instant::after(ms)).is_some()
}
