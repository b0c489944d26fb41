//! The control of floating-point operations: rounding, traps and flags of exceptions, which each rank may set for itself.
//!
//! Invariant **F5**: the registers are those of the calling thread; a value that is written was read before.
#![allow(unsafe_code)]

/// The control registers of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FloatControl {
    #[cfg(target_arch = "x86_64")]
    pub(super) vector: u32,
    #[cfg(target_arch = "x86_64")]
    pub(super) x87: u16,
    #[cfg(target_arch = "aarch64")]
    control: u64,
    #[cfg(target_arch = "aarch64")]
    status: u64,
}

#[cfg(target_arch = "x86_64")]
impl FloatControl {
    /// Reads the registers.
    #[inline]
    pub(super) fn read() -> Self {
        let mut read = Self { vector: 0, x87: 0 };
        // SAFETY: F5; each instruction writes the variable that it names.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut read.vector, options(nostack, preserves_flags));
            std::arch::asm!("fnstcw [{}]", in(reg) &raw mut read.x87, options(nostack, preserves_flags));
        }
        read
    }

    /// Writes the registers that differ: reading is faster.
    #[inline]
    pub(super) fn write(self) {
        let now = Self::read();
        // SAFETY: F5; each instruction reads the variable that it names.
        unsafe {
            if self.vector != now.vector {
                std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const self.vector, options(nostack, preserves_flags));
            }
            if self.x87 != now.x87 {
                std::arch::asm!("fldcw [{}]", in(reg) &raw const self.x87, options(nostack, preserves_flags));
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
impl FloatControl {
    /// Reads the registers.
    #[inline]
    pub(super) fn read() -> Self {
        let (control, status): (u64, u64);
        // SAFETY: F5.
        unsafe {
            std::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags));
            std::arch::asm!("mrs {}, fpsr", out(reg) status, options(nomem, nostack, preserves_flags));
        }
        Self { control, status }
    }

    /// Writes the registers that differ: reading is faster.
    #[inline]
    pub(super) fn write(self) {
        let now = Self::read();
        // SAFETY: F5.
        unsafe {
            if self.control != now.control {
                std::arch::asm!("msr fpcr, {}", in(reg) self.control, options(nomem, nostack, preserves_flags));
            }
            if self.status != now.status {
                std::arch::asm!("msr fpsr, {}", in(reg) self.status, options(nomem, nostack, preserves_flags));
            }
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
impl FloatControl {
    /// Without registers that are known.
    pub(super) fn read() -> Self {
        Self {}
    }

    pub(super) fn write(self) {}
}
