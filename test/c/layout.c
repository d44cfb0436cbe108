/* layout.c: docs/layout.md says of the words what the headers say. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lockword/lockword.h>

#define BYTES(words) (4 * (words))

static const struct field {
    const char *word;
    const char *name;
    uint32_t offset;
    uint32_t mask;
} fields[] = {
    {"mutex.state", "OWNER", BYTES(LW_MUTEX_STATE), LW_MUTEX_OWNER},
    {"mutex.state", "RESERVED", BYTES(LW_MUTEX_STATE), LW_MUTEX_RESERVED},
    {"mutex.state", "ASYNC", BYTES(LW_MUTEX_STATE), LW_MUTEX_ASYNC},
    {"mutex.state", "BLOCKED", BYTES(LW_MUTEX_STATE), LW_MUTEX_BLOCKED},
    {"mutex.gate", "GATE", BYTES(LW_MUTEX_GATE), UINT32_MAX},
};

static const struct size {
    const char *primitive;
    uint32_t bytes;
    uint32_t alignment;
} sizes[] = {
    {"mutex", sizeof(lw_mutex), _Alignof(lw_mutex)},
};

/* The bits of "7" or "0-28". */
static uint32_t mask_of(const char *bits)
{
    char *end;
    const unsigned long low = strtoul(bits, &end, 10);
    const unsigned long high = *end == '-' ? strtoul(end + 1, NULL, 10) : low;
    assert_true(low <= high && high < 32);
    return UINT32_MAX >> (31 - (high - low)) << low;
}

static void check_field(const char *word, unsigned offset, const char *bits, const char *name, size_t *seen)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (strcmp(fields[i].word, word) != 0 || strcmp(fields[i].name, name) != 0)
            continue;
        assert_int_equal(offset, fields[i].offset);
        assert_int_equal(mask_of(bits), fields[i].mask);
        ++*seen;
        return;
    }
    fail_msg("docs/layout.md: this test does not know `%s` of `%s`", name, word);
}

static void check_size(const char *primitive, unsigned bytes, unsigned alignment, size_t *seen)
{
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        if (strcmp(sizes[i].primitive, primitive) != 0)
            continue;
        assert_int_equal(bytes, sizes[i].bytes);
        assert_int_equal(alignment, sizes[i].alignment);
        ++*seen;
        return;
    }
    fail_msg("docs/layout.md: this test does not know `%s`", primitive);
}

static void the_manual_and_the_headers_agree(void **state)
{
    (void)state;
    FILE *manual = fopen("docs/layout.md", "r");
    assert_non_null(manual);
    size_t seen_fields = 0;
    size_t seen_sizes = 0;
    char line[512], word[32], bits[16], name[32];
    unsigned offset, bytes, alignment;
    while (fgets(line, sizeof line, manual) != NULL) {
        if (sscanf(line, "| `%31[^`]` | %u | %15[0-9-] | `%31[A-Z]`", word, &offset, bits, name) == 4)
            check_field(word, offset, bits, name, &seen_fields);
        else if (sscanf(line, "| `%31[^`]` | %u | %u |", word, &bytes, &alignment) == 3)
            check_size(word, bytes, alignment, &seen_sizes);
    }
    fclose(manual);
    assert_int_equal(seen_fields, COUNT_OF(fields));
    assert_int_equal(seen_sizes, COUNT_OF(sizes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_manual_and_the_headers_agree)};
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
