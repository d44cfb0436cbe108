/* macOS's. */
#define OS_CLOCK_MACH_ABSOLUTE_TIME 32
