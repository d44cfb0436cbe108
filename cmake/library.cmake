# The library: static and shared, from one list of sources. Link to lockword::lockword.

# How the system waits: docs/porting.md.
string(TOLOWER "${CMAKE_SYSTEM_NAME}" lockword_system)
if(NOT EXISTS "${PROJECT_SOURCE_DIR}/src/wait/${lockword_system}.c")
    message(FATAL_ERROR "lockword: no src/wait/${lockword_system}.c for ${CMAKE_SYSTEM_NAME}: see docs/porting.md "
        "(for WebAssembly: the npm package holds a built archive)")
endif()

file(GLOB lockword_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.c"
    "${PROJECT_SOURCE_DIR}/src/core/*.c")
list(APPEND lockword_sources "${PROJECT_SOURCE_DIR}/src/loop/loop.c"
    "${PROJECT_SOURCE_DIR}/src/loop/lot.c" "${PROJECT_SOURCE_DIR}/src/loop/${lockword_system}.c")
foreach(name ${lockword_system} poll self awake)
    list(APPEND lockword_sources "${PROJECT_SOURCE_DIR}/src/wait/${name}.c")
endforeach()

if(lockword_system STREQUAL "linux")
    file(GLOB region_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/region/*.c")
    list(APPEND lockword_sources ${region_sources})
endif()

foreach(kind STATIC SHARED)
    string(TOLOWER ${kind} name)
    add_library(lockword_${name} ${kind} ${lockword_sources})
    add_library(lockword::${name} ALIAS lockword_${name})
    target_include_directories(lockword_${name}
        PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>")
    set_target_properties(lockword_${name} PROPERTIES
        OUTPUT_NAME lockword
        EXPORT_NAME ${name}
        POSITION_INDEPENDENT_CODE ON # the static one, too: a shared library may link it
        C_STANDARD 11
        C_STANDARD_REQUIRED ON
        C_EXTENSIONS OFF)
endforeach()

set(abi ${PROJECT_VERSION_MAJOR})
if(abi EQUAL 0)
    set(abi 0.${PROJECT_VERSION_MINOR}) # until 1.0 a minor version may change the ABI
endif()
set_target_properties(lockword_shared PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${abi}
    LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/lockword.map")
target_link_options(lockword_shared
    PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/lockword.map"
    LINKER:--no-undefined)

# Static unless asked otherwise: then the agent's id is a thread-local of the program itself, which
# costs one instruction.
if(BUILD_SHARED_LIBS)
    add_library(lockword::lockword ALIAS lockword_shared)
else()
    add_library(lockword::lockword ALIAS lockword_static)
endif()
