/* expect.hpp: what the programs in C++ say, and what they have in common. */
#include <cstdio>
#include <system_error>
#include <thread>
#include <vector>
#if LW_LINUX
#include <poll.h>
#endif

static int wrong;

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    std::printf("not so: %s\n", what);
    wrong++;
}
#define EXPECT(condition) expect((condition), #condition)

#ifdef __cpp_exceptions
template <class Call> static bool throws(int error, const Call &call)
{
    try {
        call();
    } catch (const std::system_error &caught) {
        return caught.code() == std::error_code(error, std::generic_category());
    }
    return false;
}
#define EXPECT_ERROR(error, call) EXPECT(throws((error), [&] { call; }))
#else
#define EXPECT_ERROR(error, call) static_cast<void>(0)
#endif

template <class... Calls> static void at_once(const Calls &...calls)
{
    std::vector<std::thread> threads;
    (threads.emplace_back(calls), ...);
    for (std::thread &thread : threads)
        thread.join();
}

#if LW_LINUX && defined(__cpp_lib_coroutine)
/* A coroutine that begins at once, and that nobody awaits. */
struct task {
    struct promise_type {
        task get_return_object()
        {
            return {};
        }
        std::suspend_never initial_suspend()
        {
            return {};
        }
        std::suspend_never final_suspend() noexcept
        {
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            std::terminate();
        }
    };
};

static void run_until(lw::loop &loop, const int &ended, int enough)
{
    while (ended < enough) {
        pollfd readable = {loop.fd(), POLLIN, 0};
        if (poll(&readable, 1, 10000) != 1) {
            EXPECT(false);
            return;
        }
        loop.run();
    }
}
#endif
