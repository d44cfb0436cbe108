# What the DLL exports: the functions that the headers declare. Compilers for Windows cannot hide a
# symbol, so a list of those names goes to the linker.

set(names)
file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/lockword/*.h"
    "${PROJECT_SOURCE_DIR}/include/lockword/core/*.h")
list(FILTER headers EXCLUDE REGEX "/(loop|region|lease|emscripten)[.]h$") # not on Windows
foreach(header IN LISTS headers)
    # A declaration begins in the first column.
    file(STRINGS "${header}" lines REGEX "^[A-Za-z_].*[ *]lw_[a-z0-9_]+[(]")
    list(FILTER lines EXCLUDE REGEX "^(static|typedef|extern|LW_INLINE) ")
    list(TRANSFORM lines REPLACE "^.*[ *](lw_[a-z0-9_]+)[(].*$" "\\1")
    list(APPEND names ${lines})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
endforeach()
list(REMOVE_DUPLICATES names)
list(JOIN names "\n" names)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/lockword.def" CONTENT "EXPORTS\n@names@\n" @ONLY)
target_sources(lockword_shared PRIVATE "${PROJECT_BINARY_DIR}/lockword.def")
