# 64-bit Windows: mingw-w64, and Wine, which runs the tests in a folder of its own.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
find_program(wine NAMES wine64 wine PATHS /usr/lib/wine NO_CACHE)
set(CMAKE_CROSSCOMPILING_EMULATOR
    env WINEDEBUG=-all "WINEPREFIX=${CMAKE_BINARY_DIR}/wine" "${wine}")
