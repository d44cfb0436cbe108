"""count.py REGION: takes turns at the counter, as count.js does, which says what its words are."""

import sys
import time

import lockword

TOTAL, GOAL, ROW, OLD_TOTAL, OLD_TALLY, LIVES = range(6)
TALLY, BEGUN, ENDED, KIND = range(4)
MOST_LIVES = 16384

region = lockword.Region(sys.argv[1])
mutex = region.mutex("count")
words = region.bytes("accounts", 4 * (8 + 4 * MOST_LIVES)).cast("I")


def repair(owner_died):
    row = words[ROW]
    if row != 0:
        assert owner_died, "a turn is half done, and nobody died"
        words[TOTAL] = words[OLD_TOTAL]
        words[row + TALLY] = words[OLD_TALLY]
        words[ROW] = 0


def turn(row, owner_died):
    repair(owner_died)
    total, tally = words[TOTAL], words[row + TALLY]
    if total >= words[GOAL]:
        return False
    words[OLD_TOTAL] = total
    words[OLD_TALLY] = tally
    words[ROW] = row
    words[TOTAL] = total + 1
    words[row + TALLY] = tally + 1
    words[ROW] = 0
    return True


with mutex as guard:
    repair(guard.owner_died)
    life = words[LIVES]
    words[LIVES] = life + 1
assert life < MOST_LIVES, "too many lives"
row = 8 + 4 * life
words[row + KIND] = 3
goes_on = True
while goes_on:
    words[row + BEGUN] += 1
    with mutex as guard:
        goes_on = turn(row, guard.owner_died)
    if goes_on:
        words[row + ENDED] += 1
    if words[row + BEGUN] == 1:
        print("began", flush=True)
    if words[row + BEGUN] % 8 == 0:
        time.sleep(50e-6)
