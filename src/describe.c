/*
 * describe.c: implements lockword/describe.h. The texts are those of JavaScript: `make core` prints
 * src/meanings.h, the list of all primitives, from js/src/meanings.js, which explains them.
 */
#include <lockword/describe.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct field {
    uint32_t word;
    uint32_t mask; /* 0: a field that is always 1 */
};

struct phrase {
    struct field when;
    struct field also;
    struct field value;
    bool otherwise; /* an alternative to the phrase before it */
    char text[30];  /* no pointer, so that nothing has to be relocated */
};

/* The text written so far. The buffer holds as much of it as fits. */
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

/* Not inlined: it has many callers, and speed does not matter here. */
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

static void say_agent(struct text *text, uint32_t id)
{
    if (id == 0) {
        say(text, "somebody");
        return;
    }
    const bool in_an_engine = id & LW_MUTEX_IN_AN_ENGINE;
    say(text, in_an_engine ? "agent " : "thread ");
    say_number(text, id, in_an_engine ? 16 : 10);
    if (id == lw_self())
        say(text, " (this one)");
}

static void say_phrase(struct text *text, const char *phrase, uint32_t value)
{
    for (; *phrase; phrase++) {
        if (*phrase != '%') {
            put(text, *phrase);
            continue;
        }
        phrase++;
        if (*phrase == 'a')
            say_agent(text, value);
        else if (*phrase != 's')
            say_number(text, *phrase == 'n' ? value + 1 : value, 10);
        else if (value != 1)
            put(text, 's');
    }
}

static uint32_t value_of(const uint32_t *words, struct field field)
{
    return field.mask ? words[field.word] & field.mask : 1;
}

static size_t describe(const char *type, const struct phrase *phrases, size_t n,
                       const lw_word *shared, size_t length, char *buffer, size_t size)
{
    uint32_t words[4] = {0};
    for (size_t i = 0; i < length && i < COUNT(words); i++)
        words[i] = lw_load(&shared[i], lw_relaxed);
    /* Permits alone are longer. Their gate, always 0, stands for how many are free. */
    if (length > COUNT(words))
        words[LW_PERMITS_GATE] = lw_permits_of(shared, 0);
    struct text text = {buffer, size, 0};
    say(&text, type);
    const char *separator = " { ";
    bool chosen = false;
    for (const struct phrase *phrase = phrases; phrase < phrases + n; phrase++) {
        if (phrase->otherwise && chosen)
            continue;
        chosen = value_of(words, phrase->when) && value_of(words, phrase->also);
        if (!chosen)
            continue;
        say(&text, separator);
        say_phrase(&text, phrase->text, value_of(words, phrase->value));
        separator = ", ";
    }
    say(&text, " }");
    if (size > 0)
        buffer[text.length < size ? text.length : size - 1] = '\0';
    return text.length;
}

#define DESCRIBE(name, Type)                                                                       \
    size_t lw_##name##_describe(const lw_##name *it, char *buffer, size_t size)                    \
    {                                                                                              \
        return describe(#Type, Type, COUNT(Type), it->word, COUNT(it->word), buffer, size);        \
    }

#include "meanings.h"
