/*
 * addon.c: what JavaScript needs of a region that it cannot do on the region's memory itself: to
 * open it, to sleep on its words, and to hear of notifies on an event loop. Node-API, in plain C.
 *
 * The memory. JavaScript makes a shared WebAssembly.Memory, and `map` puts the region's pages in
 * place of that memory's own. So the region is a SharedArrayBuffer of an ordinary kind: Atomics
 * work on it, workers may have it, and the engine unmaps it when nobody has it any more, whenever
 * the region was closed. The C library has a mapping of its own, by whose addresses it waits: the
 * kernel knows a word of a file by its place in the file.
 *
 * A process opens a file once, however many of its threads open the region: each of them is an
 * agent of that one process. Threads that end are buried by the library (src/region/agent.c).
 *
 * Event loops. The library's listener (src/region/listen.c) says which of the region's bells have
 * moved. Each loop that listens to any of them is told by a thread-safe function that does not keep
 * the loop alive. JavaScript looks what waits there.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <node_api.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "region/care.h"
#include "region/region.h"

/* A region that this process has open. */
struct opened {
    struct opened *next;
    dev_t device;
    ino_t inode;
    uint32_t users; /* how many event loops have it open */
    lw_region *region;

    pthread_mutex_t lock; /* guards `loops` */
    struct listening *loops;
};

/* An event loop that has a region open. */
struct listening {
    struct opened *opened; /* NULL: closed */
    struct listening *next;
    pthread_t thread;
    napi_threadsafe_function tell;
    lw_word bells; /* one bit for each bell that it listens to */
    lw_word rung;  /* one bit for each of those that have moved; JavaScript takes them */
};

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static struct opened *all_opened;

/* Node-API */

static napi_value number(napi_env env, int64_t n)
{
    napi_value value = NULL;
    napi_create_int64(env, n, &value);
    return value;
}

/* Sets the arguments, of which there are n. Those that are left out are undefined. */
static void arguments(napi_env env, napi_callback_info info, size_t n, napi_value *values)
{
    napi_get_cb_info(env, info, &n, values, NULL, NULL);
}

static struct listening *listening_of(napi_env env, napi_value value)
{
    void *data = NULL;
    napi_get_value_external(env, value, &data);
    return data;
}

static uint32_t uint32_of(napi_env env, napi_value value)
{
    uint32_t n = 0;
    napi_get_value_uint32(env, value, &n);
    return n;
}

static double double_of(napi_env env, napi_value value)
{
    double n = 0;
    napi_get_value_double(env, value, &n);
    return n;
}

static char *string_of(napi_env env, napi_value value)
{
    size_t length = 0;
    if (napi_get_value_string_utf8(env, value, NULL, 0, &length) != napi_ok)
        return NULL;
    char *text = malloc(length + 1);
    if (text)
        napi_get_value_string_utf8(env, value, text, length + 1, &length);
    return text;
}

static void set(napi_env env, napi_value object, const char *name, napi_value value)
{
    napi_set_named_property(env, object, name, value);
}

static lw_word *word_at(const struct listening *listening, uint32_t offset)
{
    return (lw_word *)(void *)((char *)listening->opened->region->memory + offset);
}

/* Tells the loops which of their bells have moved. */
static void tell(void *told, uint32_t moved)
{
    struct opened *opened = told;
    pthread_mutex_lock(&opened->lock);
    for (struct listening *loop = opened->loops; loop; loop = loop->next) {
        const uint32_t bells = moved & __atomic_load_n(&loop->bells, __ATOMIC_SEQ_CST);
        if (bells && __atomic_fetch_or(&loop->rung, bells, __ATOMIC_SEQ_CST) == 0)
            napi_call_threadsafe_function(loop->tell, loop, napi_tsfn_nonblocking);
    }
    pthread_mutex_unlock(&opened->lock);
}

/*
 * listen(handle, bells): from now on the loop is told of these bells, and of no others. A bell that
 * moves after this has returned is told of.
 */
static napi_value js_listen(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    arguments(env, info, 2, values);
    struct listening *loop = listening_of(env, values[0]);
    __atomic_store_n(&loop->bells, uint32_of(env, values[1]), __ATOMIC_SEQ_CST);
    return number(env, lw_region_listen(loop->opened->region));
}

/* Calls JavaScript with the bells that have moved. */
static void call_js(napi_env env, napi_value callback, void *context, void *data)
{
    (void)context;
    struct listening *loop = data;
    if (!env)
        return; /* the loop ends */
    const uint32_t rung = __atomic_exchange_n(&loop->rung, 0, __ATOMIC_SEQ_CST);
    napi_value undefined;
    napi_value value = number(env, rung);
    napi_get_undefined(env, &undefined);
    if (value)
        napi_call_function(env, undefined, callback, 1, &value, NULL);
}

/* Opening and closing */

static void close_loop(struct listening *loop)
{
    struct opened *opened = loop->opened;
    if (!opened)
        return;
    loop->opened = NULL;
    pthread_mutex_lock(&opened->lock);
    struct listening **link = &opened->loops;
    while (*link != loop)
        link = &(*link)->next;
    *link = loop->next;
    bool is_agent = false; /* the thread has the region open once more */
    for (const struct listening *other = opened->loops; other; other = other->next)
        is_agent |= pthread_equal(other->thread, loop->thread);
    pthread_mutex_unlock(&opened->lock);

    pthread_mutex_lock(&registry);
    const bool is_last = --opened->users == 0;
    if (is_last) {
        struct opened **place = &all_opened;
        while (*place != opened)
            place = &(*place)->next;
        *place = opened->next;
        lw_region_close(opened->region);
        pthread_mutex_destroy(&opened->lock);
        free(opened);
    } else if (!is_agent) {
        lw_region_retire(opened->region);
    }
    pthread_mutex_unlock(&registry);
}

/* The environment ends: its event loop turns no more, and it releases the function itself. */
static void close_at_exit(void *loop)
{
    close_loop(loop);
}

static void close_before_exit(napi_env env, struct listening *loop)
{
    if (!loop->opened)
        return;
    napi_remove_env_cleanup_hook(env, close_at_exit, loop);
    close_loop(loop);
    napi_release_threadsafe_function(loop->tell, napi_tsfn_abort);
}

/* close(handle) */
static napi_value js_close(napi_env env, napi_callback_info info)
{
    napi_value values[1];
    arguments(env, info, 1, values);
    close_before_exit(env, listening_of(env, values[0]));
    return NULL;
}

static void finalize(napi_env env, void *data, void *hint)
{
    (void)hint;
    close_before_exit(env, data); /* nobody can use it any more */
    free(data);
}

static struct opened *find(dev_t device, ino_t inode)
{
    struct opened *opened = all_opened;
    while (opened && (opened->device != device || opened->inode != inode))
        opened = opened->next;
    return opened;
}

/* Opens the file, unless this process has it open. Returns 0 or an errno code. */
static int open_once(const char *path, unsigned flags, unsigned mode, size_t size,
                     struct opened **found)
{
    struct stat file;
    const bool may_be_open = !(flags & LW_REGION_EXCLUSIVE) && lstat(path, &file) == 0;
    *found = may_be_open ? find(file.st_dev, file.st_ino) : NULL;
    if (*found && !(flags & LW_REGION_ANY_OWNER) && file.st_uid != geteuid()) {
        *found = NULL;
        return EPERM;
    }
    if (*found)
        return 0;
    lw_region *region;
    const int error = lw_region_open(&region, path, flags, mode, size);
    if (error)
        return error;
    *found = find(region->device, region->inode);
    if (*found) /* its path was another file's a moment ago */
        return lw_region_close(region);
    *found = calloc(1, sizeof **found);
    if (!*found) {
        lw_region_close(region);
        return ENOMEM;
    }
    **found = (struct opened){
        .next = all_opened, .device = region->device, .inode = region->inode, .region = region};
    pthread_mutex_init(&(*found)->lock, NULL);
    region->told = *found;
    region->tell = tell;
    all_opened = *found;
    return 0;
}

/* Returns 0 or an errno code. */
static int begin_to_listen(napi_env env, napi_value callback, struct listening *loop)
{
    napi_value name;
    if (napi_create_string_utf8(env, "lockword", NAPI_AUTO_LENGTH, &name) != napi_ok ||
        napi_create_threadsafe_function(env, callback, NULL, name, 0, 1, NULL, NULL, NULL, call_js,
                                        &loop->tell) != napi_ok)
        return EAGAIN;
    napi_unref_threadsafe_function(env, loop->tell);
    return 0;
}

/*
 * open(path, flags, mode, size, heard): returns an errno code, or { handle, byteLength }. `heard`
 * is called with the bells that have moved.
 */
static napi_value js_open(napi_env env, napi_callback_info info)
{
    napi_value values[5];
    arguments(env, info, 5, values);
    char *path = string_of(env, values[0]);
    struct listening *loop = calloc(1, sizeof *loop);
    napi_value result = NULL;
    int error = path && loop ? 0 : ENOMEM;
    pthread_mutex_lock(&registry);
    if (!error)
        error = open_once(path, uint32_of(env, values[1]), uint32_of(env, values[2]),
                          (size_t)double_of(env, values[3]), &loop->opened);
    if (!error) {
        struct opened *opened = loop->opened;
        opened->users++;
        pthread_mutex_lock(&opened->lock);
        loop->thread = pthread_self();
        loop->next = opened->loops;
        opened->loops = loop;
        pthread_mutex_unlock(&opened->lock);
    }
    pthread_mutex_unlock(&registry);
    free(path);
    if (!error)
        error = begin_to_listen(env, values[4], loop);
    napi_value handle;
    if (!error && (napi_create_object(env, &result) != napi_ok ||
                   napi_create_external(env, loop, finalize, NULL, &handle) != napi_ok))
        error = ENOMEM;
    if (error) {
        if (loop && loop->opened)
            close_loop(loop);
        if (loop && loop->tell)
            napi_release_threadsafe_function(loop->tell, napi_tsfn_abort);
        free(loop);
        return number(env, error);
    }
    /* After the thread-safe function's own hook, so that this one runs before it. */
    napi_add_env_cleanup_hook(env, close_at_exit, loop);
    set(env, result, "handle", handle);
    set(env, result, "byteLength", number(env, (int64_t)loop->opened->region->mapped));
    return result;
}

/*
 * map(handle, view): puts the region's pages in place of those of the memory that the view begins
 * with. Returns 0 or an errno code.
 */
static napi_value js_map(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    arguments(env, info, 2, values);
    const lw_region *region = listening_of(env, values[0])->opened->region;
    void *data = NULL;
    size_t length = 0;
    napi_get_typedarray_info(env, values[1], NULL, &length, &data, NULL, NULL);
    if (!data || length < region->mapped)
        return number(env, EINVAL);
    /* An old size of 0 makes a second mapping of the same pages. */
    const void *mapped =
        mremap(region->memory, 0, region->mapped, MREMAP_MAYMOVE | MREMAP_FIXED, data);
    return number(env, mapped == data ? 0 : errno);
}

/* Agents and names */

/* An array of these numbers. */
static napi_value numbers(napi_env env, int64_t first, int64_t second, int64_t third)
{
    napi_value array = NULL;
    napi_create_array_with_length(env, 3, &array);
    napi_set_element(env, array, 0, number(env, first));
    napi_set_element(env, array, 1, number(env, second));
    napi_set_element(env, array, 2, number(env, third));
    return array;
}

/* Where in the region's memory this is, bytes. */
static int64_t place_of(const lw_region *region, const void *address)
{
    return (const char *)address - (const char *)region->memory;
}

/*
 * agent(handle): returns an errno code or 0, the thread's id, and at which byte it says what it is
 * busy with.
 */
static napi_value js_agent(napi_env env, napi_callback_info info)
{
    napi_value values[1];
    arguments(env, info, 1, values);
    lw_region *region = listening_of(env, values[0])->opened->region;
    uint32_t self = 0;
    const int error = lw_region_agent(region, &self);
    return numbers(env, error, self, place_of(region, &lw_region_agent_of(region, self)->busy));
}

/* What JavaScript takes for granted of a slot: its words, at which it counts, and the next slot. */
_Static_assert(offsetof(struct slot, acquisitions) == offsetof(struct slot, words) + 16, "");
_Static_assert(offsetof(struct slot, contended) == offsetof(struct slot, words) + 20, "");
_Static_assert(offsetof(struct slot, other) == offsetof(struct slot, words) + 32, "");

/*
 * mutex(handle, name, kind): returns an errno code or 0, the byte at which the mutex's words are,
 * and their fate.
 */
static napi_value js_mutex(napi_env env, napi_callback_info info)
{
    napi_value values[3];
    arguments(env, info, 3, values);
    lw_region *region = listening_of(env, values[0])->opened->region;
    char *name = string_of(env, values[1]);
    const uint32_t kind = uint32_of(env, values[2]);
    lw_region_mutex mutex = {0};
    const int error = name ? lw_region_find_mutex(region, name, kind, &mutex) : ENOMEM;
    free(name);
    return numbers(env, error, error ? 0 : place_of(region, mutex.words), (int32_t)mutex.fate);
}

/* KINDS of region.js has the names of these, in this order. */
_Static_assert(LW_REGION_MUTEX == 1 && LW_REGION_RMUTEX == 2 && LW_REGION_ONCE == 3 &&
                   LW_REGION_RWLOCK == 4 && LW_REGION_EVENT == 5 && LW_REGION_SEM == 6 &&
                   LW_REGION_COUNTER == 7 && LW_REGION_WAITGROUP == 8 && LW_REGION_LATCH == 9 &&
                   LW_REGION_BARRIER == 10 && LW_REGION_COND == 11 && LW_REGION_BYTES == 12,
               "");

/*
 * named(handle, name, kind, initial): finds the primitive, or makes it with the words of this
 * Int32Array. Returns an errno code or 0, and the byte at which its words are.
 */
static napi_value js_named(napi_env env, napi_callback_info info)
{
    napi_value values[4];
    arguments(env, info, 4, values);
    lw_region *region = listening_of(env, values[0])->opened->region;
    char *name = string_of(env, values[1]);
    const uint32_t kind = uint32_of(env, values[2]);
    void *initial = NULL;
    size_t length = 0;
    napi_get_typedarray_info(env, values[3], NULL, &length, &initial, NULL, NULL);
    struct slot *slot = NULL;
    uint32_t type;
    int error = name ? 0 : ENOMEM;
    if (!initial || length != lw_region_words(kind))
        error = EINVAL;
    if (!error)
        error = lw_region_named(region, name, kind, initial, 0, &slot, &type);
    free(name);
    return numbers(env, error, error ? 0 : place_of(region, slot->other), 0);
}

/*
 * bytes(handle, name, size): finds the range of bytes, or makes it. Returns an errno code or 0, and
 * the byte at which it begins.
 */
static napi_value js_bytes(napi_env env, napi_callback_info info)
{
    napi_value values[3];
    arguments(env, info, 3, values);
    lw_region *region = listening_of(env, values[0])->opened->region;
    char *name = string_of(env, values[1]);
    void *bytes = NULL;
    const int error =
        name ? lw_region_bytes(region, name, (size_t)double_of(env, values[2]), &bytes) : ENOMEM;
    free(name);
    return numbers(env, error, error ? 0 : place_of(region, bytes), 0);
}

/*
 * permits(handle, name, n): finds the permits, or makes them. Returns an errno code or 0, the byte
 * at which they begin, and what a thread is busy with that waits for them.
 */
static napi_value js_permits(napi_env env, napi_callback_info info)
{
    napi_value values[3];
    arguments(env, info, 3, values);
    lw_region *region = listening_of(env, values[0])->opened->region;
    char *name = string_of(env, values[1]);
    lw_region_permits permits = {0};
    const int error =
        name ? lw_region_permits_named(region, name, uint32_of(env, values[2]), &permits) : ENOMEM;
    free(name);
    return numbers(env, error, error ? 0 : place_of(region, permits.words), permits.busy);
}

/*
 * rwtable(handle, name): finds the read-write lock with a table of its readers, or makes it.
 * Returns what mutex() does, the byte at which its readers' permits begin, and what a thread is
 * busy with that waits for them.
 */
static napi_value js_rwtable(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    arguments(env, info, 2, values);
    lw_region *region = listening_of(env, values[0])->opened->region;
    char *name = string_of(env, values[1]);
    lw_region_rwtable lock = {0};
    const int error = name ? lw_region_rwtable_named(region, name, &lock) : ENOMEM;
    free(name);
    if (error)
        return numbers(env, error, 0, 0);
    napi_value array =
        numbers(env, 0, place_of(region, lock.mutex.words), (int32_t)lock.mutex.fate);
    napi_set_element(env, array, 3, number(env, place_of(region, lock.readers.words)));
    napi_set_element(env, array, 4, number(env, lock.readers.busy));
    return array;
}

/* slot(handle, offset): what a thread is busy with that waits for the words at this byte. */
static napi_value js_slot(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    arguments(env, info, 2, values);
    const size_t offset = uint32_of(env, values[1]) - offsetof(struct memory, slots);
    return number(env, (int64_t)(offset / sizeof(struct slot)) + 1);
}

/* remove(handle, name) */
static napi_value js_remove(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    arguments(env, info, 2, values);
    char *name = string_of(env, values[1]);
    const int error =
        name ? lw_region_remove(listening_of(env, values[0])->opened->region, name) : ENOMEM;
    free(name);
    return number(env, error);
}

/* nameThread(handle, name) */
static napi_value js_name_thread(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    arguments(env, info, 2, values);
    char *name = string_of(env, values[1]);
    const int error =
        name ? lw_region_name_thread(listening_of(env, values[0])->opened->region, name) : ENOMEM;
    free(name);
    return number(env, error);
}

static napi_value text(napi_env env, const char *bytes)
{
    napi_value value = NULL;
    napi_create_string_utf8(env, bytes, NAPI_AUTO_LENGTH, &value);
    return value;
}

static napi_value describe(napi_env env, const struct lw_region_info *info)
{
    napi_value object = NULL;
    napi_create_object(env, &object);
    set(env, object, "name", text(env, info->name));
    set(env, object, "fate", number(env, info->fate));
    set(env, object, "holderPid", number(env, info->holder_pid));
    set(env, object, "holderTid", number(env, info->holder_tid));
    set(env, object, "holder", text(env, info->holder));
    set(env, object, "waiters", number(env, info->waiters));
    set(env, object, "longestMs", number(env, info->longest_ms));
    set(env, object, "acquisitions", number(env, info->acquisitions));
    set(env, object, "contended", number(env, info->contended));
    set(env, object, "recoveries", number(env, info->recoveries));
    set(env, object, "kind", number(env, info->kind));
    set(env, object, "size", number(env, info->size));
    set(env, object, "permits", number(env, info->permits));
    set(env, object, "held", number(env, info->held));
    return object;
}

/* list(handle): an array of all that has a name; list(handle, name): that one, or undefined */
static napi_value js_list(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    arguments(env, info, 2, values);
    lw_region *region = listening_of(env, values[0])->opened->region;
    struct lw_region_info found;
    char *name = string_of(env, values[1]);
    if (name) {
        const int error = lw_region_describe(region, name, &found);
        free(name);
        return error ? NULL : describe(env, &found);
    }
    napi_value array = NULL;
    uint32_t cursor = 0;
    napi_create_array(env, &array);
    for (uint32_t i = 0; lw_region_next(region, &cursor, &found) == 0; i++)
        napi_set_element(env, array, i, describe(env, &found));
    return array;
}

/* Waiting */

/*
 * wait(handle, offset, expected, ms): sleeps while the word at this byte holds `expected`, and
 * returns LW_OK, LW_NOT_EQUAL or LW_TIMED_OUT.
 */
static napi_value js_wait(napi_env env, napi_callback_info info)
{
    napi_value values[4];
    arguments(env, info, 4, values);
    const lw_word *word = word_at(listening_of(env, values[0]), uint32_of(env, values[1]));
    const int64_t ns = (int64_t)(double_of(env, values[3]) * 1e6);
    return number(env, lw_wait(word, uint32_of(env, values[2]), lw_after_ns(ns)));
}

/* notify(handle, offset, n): wakes up to n threads that sleep on the word at this byte */
static napi_value js_notify(napi_env env, napi_callback_info info)
{
    napi_value values[3];
    arguments(env, info, 3, values);
    lw_word *word = word_at(listening_of(env, values[0]), uint32_of(env, values[1]));
    return number(env, lw_notify(word, uint32_of(env, values[2])));
}

/* notifyAsync(handle, offset): tells all event loops that wait at the word at this byte */
static napi_value js_notify_async(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    arguments(env, info, 2, values);
    lw_notify_async(word_at(listening_of(env, values[0]), uint32_of(env, values[1])), LW_ALL);
    return NULL;
}

/* now(): milliseconds of the clock by which agents note since when they wait */
static napi_value js_now(napi_env env, napi_callback_info info)
{
    (void)info;
    return number(env, (int32_t)(lw_now() / 1000000));
}

/* nextLook(ms): in how many us a thread that has waited so many ms is to call bury */
static napi_value js_next_look(napi_env env, napi_callback_info info)
{
    napi_value values[1];
    arguments(env, info, 1, values);
    const int64_t waited = uint32_of(env, values[0]);
    return number(env, lw_care_ns(lw_now() - waited * 1000000) / 1000);
}

/* bury(handle, offset): for a thread that has waited for long; see LW_CARE_NS in region/care.h */
static napi_value js_bury(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    arguments(env, info, 2, values);
    const struct listening *loop = listening_of(env, values[0]);
    lw_region_bury_the_dead(loop->opened->region);
    lw_region_bury_nobody(loop->opened->region, word_at(loop, uint32_of(env, values[1])));
    return NULL;
}

static lw_region_mutex mutex_of(napi_env env, const napi_value *values)
{
    const struct listening *loop = listening_of(env, values[0]);
    lw_word *words = word_at(loop, uint32_of(env, values[1]));
    lw_region *region = loop->opened->region;
    return (lw_region_mutex){region, words, region->serial, uint32_of(env, values[2])};
}

/* unlock(handle, offset, fate): returns 0 or an errno code */
static napi_value js_unlock(napi_env env, napi_callback_info info)
{
    napi_value values[3];
    arguments(env, info, 3, values);
    const lw_region_mutex mutex = mutex_of(env, values);
    return number(env, lw_region_mutex_unlock(&mutex));
}

NAPI_MODULE_INIT()
{
    static const struct {
        const char *name;
        napi_callback call;
    } functions[] = {
        {"open", js_open},     {"map", js_map},         {"close", js_close},
        {"agent", js_agent},   {"mutex", js_mutex},     {"slot", js_slot},
        {"remove", js_remove}, {"list", js_list},       {"nameThread", js_name_thread},
        {"wait", js_wait},     {"notify", js_notify},   {"notifyAsync", js_notify_async},
        {"listen", js_listen}, {"now", js_now},         {"bury", js_bury},
        {"unlock", js_unlock}, {"rwtable", js_rwtable}, {"named", js_named},
        {"bytes", js_bytes},   {"permits", js_permits}, {"nextLook", js_next_look},
    };
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        napi_value value;
        if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL,
                                 &value) != napi_ok)
            return NULL;
        set(env, exports, functions[i].name, value);
    }
    return exports;
}
