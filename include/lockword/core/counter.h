/*
 * core/counter.h: the counter's two words.
 *
 *     word 0, state   bits 0-29   VALUE
 *                     bits 30-31  see core/waiters.h
 *     word 1, gate    see core/waiters.h
 */
#ifndef LOCKWORD_CORE_COUNTER_H
#define LOCKWORD_CORE_COUNTER_H

#include <lockword/core/step.h>
#include <lockword/core/word.h>

enum {
    LW_COUNTER_STATE = 0,
    LW_COUNTER_GATE = 1,
    LW_COUNTER_WORDS = 2,
};

#define LW_COUNTER_MAX 0x3fffffffu /* also the mask of VALUE */

/* lw_counter_add_step returns this if the sum would be less than 0 or more than LW_COUNTER_MAX. */
#define LW_COUNTER_OVERFLOW UINT32_MAX

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the value of this moment. */
uint32_t lw_counter_value(const lw_word *counter);

/*
 * Adds n, which may be negative, wakes all waiters, and returns the old value. Returns
 * LW_COUNTER_OVERFLOW, with nothing changed, if the sum is out of range.
 */
uint32_t lw_counter_add_step(lw_word *counter, int32_t n);

/*
 * Steps: wait until the value is another one than `value`, at least `value`, or at most `value`.
 * The result is the value that ended the wait.
 */
lw_answer lw_counter_change_step(lw_word *counter, uint32_t value, uint32_t why, lw_phase phase);
lw_answer lw_counter_at_least_step(lw_word *counter, uint32_t value, uint32_t why, lw_phase phase);
lw_answer lw_counter_at_most_step(lw_word *counter, uint32_t value, uint32_t why, lw_phase phase);

#ifdef __cplusplus
}
#endif

#endif
