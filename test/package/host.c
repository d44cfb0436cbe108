/*
 * host.c: host ADDON [FILE]: loads the addon of lockword-region; with FILE, opens a region, looks a
 * mutex up, sleeps, forks and listens. It has as much of Node-API as the addon uses, so that an
 * addon for another C library or processor can be tried where there is no Node for these. Prints
 * 'ok'.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <node_api.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* All that a value may be at once. Nothing is freed. */
struct napi_value__ {
    double number;
    const char *text;
    void *data;
    napi_callback call;
    uint32_t length;
    const char *names[32];
    napi_value members[32]; /* of an array, or of an object */
};

struct napi_callback_info__ {
    size_t count;
    napi_value *values;
};

static napi_status give(napi_value *result, struct napi_value__ value)
{
    *result = malloc(sizeof value);
    **result = value;
    return napi_ok;
}

#define GIVE(...) give(result, (struct napi_value__){__VA_ARGS__})

napi_status napi_create_int64(napi_env env, int64_t n, napi_value *result)
{
    return GIVE(.number = (double)n);
}

napi_status napi_create_string_utf8(napi_env env, const char *text, size_t n, napi_value *result)
{
    return GIVE(.text = strdup(text));
}

napi_status napi_create_external(napi_env env, void *data, napi_finalize end, void *hint,
                                 napi_value *result)
{
    return GIVE(.data = data);
}

napi_status napi_create_function(napi_env env, const char *name, size_t n, napi_callback call,
                                 void *data, napi_value *result)
{
    return GIVE(.call = call);
}

napi_status napi_create_object(napi_env env, napi_value *result)
{
    return GIVE(.length = 0);
}

napi_status napi_create_array(napi_env env, napi_value *result)
{
    return GIVE(.length = 0);
}

napi_status napi_create_array_with_length(napi_env env, size_t n, napi_value *result)
{
    return GIVE(.length = 0);
}

napi_status napi_get_undefined(napi_env env, napi_value *result)
{
    return GIVE(.length = 0);
}

napi_status napi_set_element(napi_env env, napi_value array, uint32_t i, napi_value value)
{
    array->members[i] = value;
    return napi_ok;
}

napi_status napi_set_named_property(napi_env env, napi_value object, const char *name,
                                    napi_value value)
{
    object->names[object->length] = name;
    object->members[object->length++] = value;
    return napi_ok;
}

napi_status napi_get_value_uint32(napi_env env, napi_value value, uint32_t *n)
{
    *n = (uint32_t)value->number;
    return napi_ok;
}

napi_status napi_get_value_double(napi_env env, napi_value value, double *n)
{
    *n = value->number;
    return napi_ok;
}

napi_status napi_get_value_string_utf8(napi_env env, napi_value value, char *text, size_t size,
                                       size_t *length)
{
    if (!value->text)
        return napi_string_expected;
    *length = strlen(value->text);
    if (text)
        snprintf(text, size, "%s", value->text);
    return napi_ok;
}

napi_status napi_get_value_external(napi_env env, napi_value value, void **data)
{
    *data = value->data;
    return napi_ok;
}

napi_status napi_get_cb_info(napi_env env, napi_callback_info info, size_t *n, napi_value *values,
                             napi_value *self, void **data)
{
    for (size_t i = 0; i < *n; i++)
        if (i < info->count)
            values[i] = info->values[i];
        else
            napi_get_undefined(env, &values[i]);
    return napi_ok;
}

/* What this program never comes to, or need not do. */
#define NOTHING(name, ...)                                                                         \
    napi_status name(__VA_ARGS__)                                                                  \
    {                                                                                              \
        return napi_ok;                                                                            \
    }
NOTHING(napi_get_typedarray_info, napi_env env, napi_value array, napi_typedarray_type *type,
        size_t *length, void **data, napi_value *buffer, size_t *offset)
NOTHING(napi_call_function, napi_env env, napi_value self, napi_value function, size_t n,
        const napi_value *values, napi_value *result)
NOTHING(napi_create_threadsafe_function, napi_env env, napi_value function, napi_value resource,
        napi_value name, size_t queue, size_t threads, void *data, napi_finalize end, void *context,
        napi_threadsafe_function_call_js call, napi_threadsafe_function *result)
NOTHING(napi_call_threadsafe_function, napi_threadsafe_function function, void *data,
        napi_threadsafe_function_call_mode mode)
NOTHING(napi_release_threadsafe_function, napi_threadsafe_function function,
        napi_threadsafe_function_release_mode mode)
NOTHING(napi_unref_threadsafe_function, napi_env env, napi_threadsafe_function function)
NOTHING(napi_add_env_cleanup_hook, napi_env env, napi_cleanup_hook hook, void *data)
NOTHING(napi_remove_env_cleanup_hook, napi_env env, napi_cleanup_hook hook, void *data)

static napi_value property(napi_value object, const char *name)
{
    for (uint32_t i = 0; i < object->length; i++)
        if (strcmp(object->names[i], name) == 0)
            return object->members[i];
    printf("there is no '%s': %g\n", name, object->number);
    exit(1);
}

static napi_value addon;

static napi_value call(const char *name, size_t n, napi_value *values)
{
    struct napi_callback_info__ info = {n, values};
    return property(addon, name)->call(NULL, &info);
}

#define CALL(name, ...)                                                                            \
    call(name, sizeof(napi_value[]){__VA_ARGS__} / sizeof(napi_value), (napi_value[]){__VA_ARGS__})

static napi_value number(double n)
{
    napi_value value;
    napi_create_int64(NULL, (int64_t)n, &value);
    return value;
}

static napi_value text(const char *bytes)
{
    napi_value value;
    napi_create_string_utf8(NULL, bytes, 0, &value);
    return value;
}

static void expect(const char *what, napi_value value, double expected)
{
    if (value->number == expected)
        return;
    printf("%s: %g, not %g\n", what, value->number, expected);
    exit(1);
}

static bool use_region(const char *file, napi_value heard)
{
    const double create = 1;
    napi_value opened =
        CALL("open", text(file), number(create), number(0600), number(1 << 20), heard);
    napi_value handle = property(opened, "handle");
    napi_value agent = CALL("agent", handle);
    expect("agent", agent->members[0], 0);
    napi_value mutex = CALL("mutex", handle, text("jobs"), number(1));
    expect("mutex", mutex->members[0], 0);
    napi_value word = mutex->members[1];
    expect("unlock by a thread that does not hold it",
           CALL("unlock", handle, word, mutex->members[2]), EPERM);
    expect("listen", CALL("listen", handle, number(1)), 0);
    expect("wait", CALL("wait", handle, word, number(0), number(20)), 3);
    expect("notify", CALL("notify", handle, word, number(1)), 0);
    const pid_t child = fork(); /* is another agent */
    if (child == 0)
        _exit(CALL("agent", handle)->members[1]->number == agent->members[1]->number);
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0) {
        printf("the child: %d\n", status);
        return false;
    }
    CALL("close", handle);
    unlink(file);
    return true;
}

int main(int count, char **words)
{
    void *library = count > 1 ? dlopen(words[1], RTLD_NOW) : NULL;
    napi_addon_register_func begin = NULL;
    if (library)
        *(void **)&begin = dlsym(library, "napi_register_module_v1");
    if (!begin) {
        puts(count > 1 ? dlerror() : "usage: host ADDON [FILE]");
        return 1;
    }
    napi_value exports;
    napi_create_object(NULL, &exports);
    addon = begin(NULL, exports);
    if (CALL("now")->number == 0)
        return 1;
    if (count > 2 && !use_region(words[2], exports))
        return 1;
    puts("ok");
    return 0;
}
