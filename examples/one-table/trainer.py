"""trainer.py TABLE TURNS: a trainer in Python, which adds to the same table from asyncio."""

import asyncio
import struct
import sys

import lockword

table, turns = sys.argv[1], int(sys.argv[2])
mutex = lockword.Region(table + ".region").mutex("table")


async def train():
    with open(table, "r+b", buffering=0) as file:
        for i in range(1, turns + 1):
            async with mutex as guard:
                if guard.owner_died:
                    print("a holder died: the table would have to be checked")
                file.seek(0)
                rows, total = struct.unpack("<QQ", file.read(16))
                file.seek(0)
                file.write(struct.pack("<QQ", rows + 1, total + i))


asyncio.run(train())
