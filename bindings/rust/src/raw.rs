//! What the raw primitives have in common: words in place, whose addresses C and JavaScript know.

/// Defines a primitive of so many 32-bit words (docs/layout.md of lockword). Zeros are an unused
/// one, and there is nothing to destroy.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $count:expr) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name([core::sync::atomic::AtomicU32; $count]);

        impl $name {
            /// How many 32-bit words it has.
            pub const WORDS: usize = $count;

            #[allow(clippy::declare_interior_mutable_const)]
            const fn beginning_with(first: u32) -> Self {
                const ZERO: core::sync::atomic::AtomicU32 = core::sync::atomic::AtomicU32::new(0);
                let mut words = [ZERO; $count];
                words[0] = core::sync::atomic::AtomicU32::new(first);
                $name(words)
            }

            /// Its address, by which C, or JavaScript beside WebAssembly, uses the same primitive.
            pub fn as_ptr(&self) -> *mut u32 {
                // The words are atomics, so that writing through this pointer is allowed.
                self.0.as_ptr() as *mut u32
            }

            /// The primitive at an address, which C or JavaScript may use, too.
            ///
            /// # Safety
            ///
            /// The address is aligned to 4 bytes, has [`Self::WORDS`] words that were zeros or
            /// are such a primitive, and stays valid and in place for `'a`. All who use it follow
            /// lockword's rules for its words.
            pub unsafe fn from_ptr<'a>(address: *mut u32) -> &'a Self {
                // SAFETY: the caller's promise; the struct is transparent over these words.
                unsafe { &*(address as *const Self) }
            }
        }
    };
}
pub(crate) use words;
