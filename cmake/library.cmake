# The library: static and shared, from the same objects. Link to lockword::lockword.

# How the system waits: docs/porting.md.
option(LOCKWORD_PORTABLE "Wait by pthreads alone, as on systems that have no file of their own" OFF)
string(TOLOWER "${CMAKE_SYSTEM_NAME}" lockword_system)
if(APPLE)
    set(lockword_system darwin) # iOS, tvOS, watchOS and visionOS, too
endif()
if(lockword_system MATCHES "^(emscripten|wasi|generic)$" OR
        (NOT UNIX AND NOT EXISTS "${PROJECT_SOURCE_DIR}/src/wait/${lockword_system}.c"))
    message(FATAL_ERROR "lockword: no src/wait/${lockword_system}.c for ${CMAKE_SYSTEM_NAME}: "
        "see docs/porting.md (for WebAssembly: the npm package holds a built archive)")
endif()
if(LOCKWORD_PORTABLE OR NOT EXISTS "${PROJECT_SOURCE_DIR}/src/wait/${lockword_system}.c")
    set(lockword_system posix)
endif()

file(GLOB lockword_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.c"
    "${PROJECT_SOURCE_DIR}/src/core/*.c")
foreach(name ${lockword_system} poll self awake)
    list(APPEND lockword_sources "${PROJECT_SOURCE_DIR}/src/wait/${name}.c")
endforeach()

# Event loops and regions: only Linux has them.
if(lockword_system STREQUAL "linux")
    file(GLOB region_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/region/*.c")
    list(APPEND lockword_sources ${region_sources})
    foreach(name loop lot linux)
        list(APPEND lockword_sources "${PROJECT_SOURCE_DIR}/src/loop/${name}.c")
    endforeach()
else()
    list(APPEND lockword_sources "${PROJECT_SOURCE_DIR}/src/loop/none.c"
        "${PROJECT_SOURCE_DIR}/src/wait/table.c")
    if(NOT WIN32)
        list(APPEND lockword_sources "${PROJECT_SOURCE_DIR}/src/wait/pthreads.c")
    endif()
endif()

add_library(lockword_objects OBJECT ${lockword_sources})
set_target_properties(lockword_objects PROPERTIES
    POSITION_INDEPENDENT_CODE ON # for the static one, too: a shared library may link it
    C_STANDARD 11
    C_STANDARD_REQUIRED ON
    C_EXTENSIONS OFF)
foreach(kind STATIC SHARED)
    string(TOLOWER ${kind} name)
    add_library(lockword_${name} ${kind} $<TARGET_OBJECTS:lockword_objects>)
    add_library(lockword::${name} ALIAS lockword_${name})
    set_target_properties(lockword_${name} PROPERTIES
        OUTPUT_NAME lockword EXPORT_NAME ${name} LINKER_LANGUAGE C)
endforeach()
foreach(name objects static shared)
    target_include_directories(lockword_${name}
        PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
    if(lockword_system STREQUAL "posix")
        target_compile_definitions(lockword_${name} PUBLIC LOCKWORD_PORTABLE)
    endif()
endforeach()

set(abi ${PROJECT_VERSION_MAJOR})
if(abi EQUAL 0)
    set(abi 0.${PROJECT_VERSION_MINOR}) # until 1.0 a minor version may change the ABI
endif()
if(WIN32)
    target_link_libraries(lockword_static INTERFACE synchronization) # WaitOnAddress
    set(pc_libs " -lsynchronization")
    target_link_libraries(lockword_shared PRIVATE synchronization)
    if(MINGW)
        target_link_options(lockword_shared PRIVATE -static) # it needs no DLLs of the compiler's
    else()
        # elsewhere an import library is named as a static one
        set_target_properties(lockword_shared PROPERTIES ARCHIVE_OUTPUT_NAME lockword-import)
    endif()
    include("${CMAKE_CURRENT_LIST_DIR}/exports.cmake")
else()
    set_target_properties(lockword_shared PROPERTIES
        VERSION ${PROJECT_VERSION}
        SOVERSION ${abi})
    # A library of their own on the BSDs, and in glibc before 2.34. Global: a project that takes
    # the sources links it, too.
    find_package(Threads REQUIRED GLOBAL)
    target_link_libraries(lockword_static INTERFACE Threads::Threads)
    target_link_libraries(lockword_shared PRIVATE Threads::Threads)
    set(pc_libs_private "-pthread")
endif()
if(NOT WIN32 AND NOT APPLE)
    set_target_properties(lockword_shared PROPERTIES
        LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/lockword.map")
    target_link_options(lockword_shared
        PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/lockword.map")
    if(NOT lockword_system STREQUAL "openbsd") # whose shared libraries do not name the C library
        target_link_options(lockword_shared PRIVATE LINKER:--no-undefined)
    endif()
endif()

# Static unless asked otherwise: then the agent's id is a thread-local of the program itself, which
# costs one instruction.
if(BUILD_SHARED_LIBS)
    add_library(lockword::lockword ALIAS lockword_shared)
else()
    add_library(lockword::lockword ALIAS lockword_static)
endif()
