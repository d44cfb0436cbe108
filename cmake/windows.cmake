# 64-bit Windows: mingw-w64, and Wine, which runs programs in a folder of its own.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
find_program(wine NAMES wine64 wine PATHS /usr/lib/wine NO_CACHE)
set(CMAKE_CROSSCOMPILING_EMULATOR
    env WINEDEBUG=-all "WINEPREFIX=${CMAKE_CURRENT_LIST_DIR}/../build/wine" "${wine}")
