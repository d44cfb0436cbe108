/*
 * lease.c: a user of liblockword-lease. `lease SERVERS NAME` takes the lock, says so, unlocks it
 * when its standard input ends, and says how each of that went. Without words it only sees whether
 * the library is there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lockword/lease.h>

static void say_lost(void *context)
{
    int *times = context;
    printf("lost, %d\n", ++*times);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    lw_lease *lease;
    int times = 0;
    char reason[200] = "", holder[] = "the user", byte;
    const char *ttl = getenv("LW_TTL");
    const struct lw_lease_options options = {
        .deadline = argc < 3 ? lw_after_ms(1000) : LW_FOREVER,
        .ttl = ttl ? (uint32_t)atoi(ttl) : 2,
        .cancel_fd = argc > 3 ? dup(STDIN_FILENO) : -1,
        .holder = holder,
        .lost = say_lost,
        .context = &times,
        .reason = reason,
        .reason_size = sizeof reason,
    };
    if (argc < 3)
        return lw_lease_lock(&lease, "no servers", "name", &options) == EINVAL ? 0 : 1;
    const int error = lw_lease_lock(&lease, argv[1], argv[2], &options);
    memset(holder, 'x', sizeof holder - 1); /* the text is needed for the call alone */
    if (error) {
        printf("not taken: %s\n", error == ECANCELED ? "cancelled" : strerror(error));
        return 1;
    }
    printf("held: %d, %lld\n", lw_lease_is_held(lease), (long long)lw_lease_token(lease));
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    printf("held: %d\n", lw_lease_is_held(lease));
    const int freed = lw_lease_unlock(lease);
    printf("%s\n", freed == 0 ? "unlocked" : freed == ESTALE ? "had been lost" : "no response");
    return 0;
}
