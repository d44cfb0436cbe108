/* describe.c: the words of lockword/describe.h. js/src/inspect.js has the same; test/js/core/describe.test.js compares them. */
#include <lockword/core/waiters.h>
#include <lockword/describe.h>

/* Ids with this bit are those of agents in an engine; others are threads of the operating system. */
#define IN_AN_ENGINE 0x10000000u

/* What has been written, of which the buffer holds what fits. */
struct text {
    char *buffer;
    size_t size;
    size_t length;
};

static void put(struct text *text, char c)
{
    if (text->length + 1 < text->size)
        text->buffer[text->length] = c;
    text->length++;
}

/* Not inlined, for it is called everywhere, and there is no hurry. */
__attribute__((noinline)) static void say(struct text *text, const char *words)
{
    while (*words)
        put(text, *words++);
}

static void say_number(struct text *text, uint32_t n, uint32_t base)
{
    if (n >= base)
        say_number(text, n / base, base);
    put(text, "0123456789abcdef"[n % base]);
}

static void say_if(struct text *text, bool so, const char *words)
{
    if (so)
        say(text, words);
}

static void say_agent(struct text *text, uint32_t id)
{
    const bool in_an_engine = id & IN_AN_ENGINE;
    say(text, in_an_engine ? "agent " : "thread ");
    say_number(text, id, in_an_engine ? 16 : 10);
    say_if(text, id == lw_self(), " (this one)");
}

static struct text begin(char *buffer, size_t size, const char *type)
{
    struct text text = {buffer, size, 0};
    say(&text, type);
    say(&text, " { ");
    return text;
}

static size_t end(struct text *text)
{
    say(text, " }");
    if (text->size > 0)
        text->buffer[text->length < text->size ? text->length : text->size - 1] = '\0';
    return text->length;
}

/* The end of all but a condition. */
static size_t end_with_waiters(struct text *text, uint32_t state)
{
    say_if(text, state & LW_BLOCKED_WAITERS, ", threads wait");
    say_if(text, state & LW_ASYNC_WAITERS, ", event loops wait");
    return end(text);
}

static uint32_t look(const lw_word *word)
{
    return lw_load(word, lw_relaxed);
}

static void say_holder(struct text *text, uint32_t state)
{
    if ((state & LW_MUTEX_OWNER) == 0) {
        say(text, "free");
        return;
    }
    say(text, "held by ");
    say_agent(text, state & LW_MUTEX_OWNER);
}

size_t lw_mutex_describe(const lw_mutex *mutex, char *buffer, size_t size)
{
    const uint32_t state = look(&mutex->word[LW_MUTEX_STATE]);
    struct text text = begin(buffer, size, "Mutex");
    say_holder(&text, state);
    say_if(&text, state & LW_MUTEX_RESERVED, ", reserved for a waiter");
    return end_with_waiters(&text, state);
}

size_t lw_rmutex_describe(const lw_rmutex *rmutex, char *buffer, size_t size)
{
    const uint32_t state = look(&rmutex->word[LW_MUTEX_STATE]);
    const uint32_t depth = look(&rmutex->word[LW_RMUTEX_DEPTH]);
    struct text text = begin(buffer, size, "RecursiveMutex");
    say_holder(&text, state);
    if (state & LW_MUTEX_OWNER) {
        say_if(&text, depth & LW_RMUTEX_TASK, " in a task");
        if (depth & LW_RMUTEX_AGAIN) {
            say(&text, ", ");
            say_number(&text, (depth & LW_RMUTEX_AGAIN) + 1, 10);
            say(&text, " times");
        }
    }
    say_if(&text, state & LW_MUTEX_RESERVED, ", reserved for a waiter");
    return end_with_waiters(&text, state);
}

size_t lw_cond_describe(const lw_cond *cond, char *buffer, size_t size)
{
    const uint32_t waiters = look(&cond->word[LW_COND_WAITERS]) & ~LW_COND_LEFT_BEHIND;
    struct text text = begin(buffer, size, "Condition");
    if (waiters == 0) {
        say(&text, "nobody waits");
    } else {
        say_number(&text, waiters, 10);
        say(&text, waiters == 1 ? " waits" : " wait");
    }
    return end(&text);
}

size_t lw_sem_describe(const lw_sem *sem, char *buffer, size_t size)
{
    const uint32_t state = look(&sem->word[LW_SEM_STATE]);
    struct text text = begin(buffer, size, "Semaphore");
    say_number(&text, state & LW_SEM_MAX, 10);
    say(&text, (state & LW_SEM_MAX) == 1 ? " permit" : " permits");
    return end_with_waiters(&text, state);
}

/* The owner is written a moment after the state. */
static void say_user(struct text *text, uint32_t owner)
{
    if (owner)
        say_agent(text, owner);
    else
        say(text, "somebody");
}

size_t lw_rwlock_describe(const lw_rwlock *rwlock, char *buffer, size_t size)
{
    const uint32_t state = look(&rwlock->word[LW_RWLOCK_STATE]);
    const uint32_t owner = look(&rwlock->word[LW_RWLOCK_OWNER]);
    const uint32_t readers = state & LW_RWLOCK_READERS;
    struct text text = begin(buffer, size, "RWLock");
    if (state & LW_RWLOCK_WRITER) {
        say(&text, "written by ");
        say_user(&text, owner);
    } else {
        if (readers) {
            say(&text, "read by ");
            say_number(&text, readers, 10);
        }
        if (state & LW_RWLOCK_UPGRADABLE) {
            say(&text, readers ? ", read by " : "read by ");
            say_user(&text, owner);
            say(&text, ", who may upgrade");
        }
        say_if(&text, !readers && !(state & LW_RWLOCK_UPGRADABLE), "free");
    }
    if (state & LW_RWLOCK_READERS_TURN)
        say(&text, ", readers are next");
    else
        say_if(&text, state & LW_RWLOCK_WRITERS_TURN, ", a writer is next");
    say_if(&text, state & LW_RWLOCK_RESERVED, ", reserved for a waiter");
    return end_with_waiters(&text, state);
}

size_t lw_barrier_describe(const lw_barrier *barrier, char *buffer, size_t size)
{
    const uint32_t state = look(&barrier->word[LW_BARRIER_STATE]);
    const uint32_t parties = look(&barrier->word[LW_BARRIER_PARTIES]);
    const uint32_t missing = state & LW_BARRIER_MISSING;
    struct text text = begin(buffer, size, "Barrier");
    if (state & LW_BARRIER_BROKEN) {
        say(&text, "broken");
    } else if (missing == 0) {
        say(&text, "without parties");
    } else {
        say_number(&text, missing, 10);
        say(&text, " of ");
        /* Some may have dropped out since this cycle began. */
        say_number(&text, parties > missing ? parties : missing, 10);
        say(&text, " missing");
    }
    return end_with_waiters(&text, state);
}

size_t lw_waitgroup_describe(const lw_waitgroup *group, char *buffer, size_t size)
{
    const uint32_t state = look(&group->word[LW_WAITGROUP_STATE]);
    struct text text = begin(buffer, size, "WaitGroup");
    if (state & LW_WAITGROUP_MAX) {
        say_number(&text, state & LW_WAITGROUP_MAX, 10);
        say(&text, " to do");
    } else {
        say(&text, "done");
    }
    return end_with_waiters(&text, state);
}

size_t lw_event_describe(const lw_event *event, char *buffer, size_t size)
{
    const uint32_t state = look(&event->word[LW_EVENT_STATE]);
    struct text text = begin(buffer, size, "Event");
    say(&text, state & LW_EVENT_SET ? "set" : "not set");
    say(&text, state & LW_EVENT_AUTO ? ", resets itself" : ", stays set");
    return end_with_waiters(&text, state);
}

size_t lw_once_describe(const lw_once *once, char *buffer, size_t size)
{
    const uint32_t state = look(&once->word[LW_ONCE_STATE]);
    struct text text = begin(buffer, size, "Once");
    if (state & LW_ONCE_RUNNER) {
        say(&text, "run by ");
        say_agent(&text, state & LW_ONCE_RUNNER);
    } else {
        say(&text, state & LW_ONCE_RAN ? "done" : "not run yet");
    }
    return end_with_waiters(&text, state);
}

size_t lw_counter_describe(const lw_counter *counter, char *buffer, size_t size)
{
    const uint32_t state = look(&counter->word[LW_COUNTER_STATE]);
    struct text text = begin(buffer, size, "Counter");
    say_number(&text, state & LW_COUNTER_MAX, 10);
    return end_with_waiters(&text, state);
}

size_t lw_cancel_describe(const lw_cancel *cancel, char *buffer, size_t size)
{
    const uint32_t state = look(&cancel->word[LW_EVENT_STATE]);
    struct text text = begin(buffer, size, "Cancel");
    say(&text, state & LW_EVENT_SET ? "fired" : "not fired");
    return end_with_waiters(&text, state);
}
