/*
 * table.h: what the servers of this folder have in common: a table that a mutex guards, a pool of
 * threads that block for it, and a client that asks over a socket.
 */
#ifndef EXAMPLE_TABLE_H
#define EXAMPLE_TABLE_H

#include <stdint.h>

#include <lockword/mutex.h>

#define VISITS 300

struct table {
    lw_mutex lock;
    long counts[256];
};

extern struct table table;

/* Starts the pool and the client. Returns the server's end of the client's socket. */
int start(void);

/* Call this with the lock held: counts one visit and returns how many there were. */
long visit(unsigned char key);

/* Call this every millisecond: how late it is called is how late every event of the loop is. */
void tick(void);

/* Ends the pool, and prints what was served. Returns the program's exit status. */
int finish(void);

#endif
