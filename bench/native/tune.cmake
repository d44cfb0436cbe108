# `cmake --build BUILD --target tune`: lockword with other values of its constants, side by side.
# Each variant is the whole library again, from a copy of its sources with one constant replaced, in
# a plug-in of lockword-bench.

set(tune_plugins "")

# The name to print, then a regular expression, its replacement and the file it must match in,
# relative to src.
function(tune_variant name pattern replacement file)
    string(MAKE_C_IDENTIFIER "tune_${name}" target)
    set(copy "${CMAKE_CURRENT_BINARY_DIR}/${target}")
    file(COPY "${PROJECT_SOURCE_DIR}/src" DESTINATION "${copy}")
    file(READ "${PROJECT_SOURCE_DIR}/src/${file}" text)
    if(NOT text MATCHES "${pattern}")
        message(FATAL_ERROR "tune.cmake: ${file} has nothing like '${pattern}'")
    endif()
    string(REGEX REPLACE "${pattern}" "${replacement}" text "${text}")
    file(WRITE "${copy}/src/${file}" "${text}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${file}")

    set(sources "")
    foreach(source ${lockword_sources})
        file(RELATIVE_PATH source "${PROJECT_SOURCE_DIR}" "${source}")
        list(APPEND sources "${copy}/${source}")
    endforeach()
    add_library(${target} MODULE EXCLUDE_FROM_ALL peers/lockword.c family/lockword.c ${sources})
    set_target_properties(${target} PROPERTIES PREFIX "" C_STANDARD 11 C_VISIBILITY_PRESET hidden)
    target_include_directories(${target} PRIVATE . "${PROJECT_SOURCE_DIR}/include")
    target_compile_definitions(${target} PRIVATE "PEER_NAME=\"${name}\"")
    list(APPEND tune_plugins ${target})
    set(tune_plugins "${tune_plugins}" PARENT_SCOPE)
endfunction()

# What can be tried: a #define, the file it is in, and values.
set(tune_first LW_FIRST_LOOKS wait/awake.h 0 4 64)
set(tune_spin SPIN_NS wait/awake.c 1 300 3000)
set(tune_lost LOST_RACES wait/awake.c 1 2 6 1000000)
set(tune_looks LOOKS wait/awake.c 64 128 512 1024)
set(tune_rare RARE_LOOKS wait/awake.c 4 64 256)
set(tune_overtaken OVERTAKEN wait/awake.c 1 2 8 1000000)
set(tune_vain IN_VAIN wait/awake.c 1 4 1000000)
set(tune_period PERIOD wait/awake.c 1 2 8)
set(tune_quantum QUANTUM_NS wait/awake.c 5000 100000 1000000000)
set(tune_quanta QUANTA wait/awake.c 1 4)
set(tune_alone ALONE wait/awake.c 1 64)
set(tune_rounds ROUNDS wait/awake.c 0 4 64)
set(tune_oversubscribed OVERSUBSCRIBED_FACTOR wait/awake.c 0 2 32)
set(tune_waits MAX_FAILED_WAITS core/waiters.c 1 32)
set(tune_rechecks MAX_RECHECKS core/waiters.c 0 4 16)

function(tune_define short name file)
    foreach(value ${ARGN})
        tune_variant("${short} ${value}" "(#define ${name}) [0-9]+" "\\1 ${value}" ${file})
    endforeach()
    set(tune_plugins "${tune_plugins}" PARENT_SCOPE)
endfunction()

set(TUNE_ONLY "" CACHE STRING "what the target tune tries; empty: all")
set(tune_subjects "first;spin;close;lost;looks;rare;overtaken;vain;period;quantum;quanta;alone;rounds;oversubscribed;slice;waits;rechecks")
if(TUNE_ONLY)
    set(tune_subjects "${TUNE_ONLY}")
endif()
foreach(subject IN LISTS tune_subjects)
    if(subject STREQUAL "slice")
        foreach(slice 100 2000)
            tune_variant("slice ${slice} us" "(#define LW_SLICE_NS) 500000" "\\1 ${slice}000" wait/awake.h)
        endforeach()
    elseif(subject STREQUAL "close") # spinning: without pauses, and with fewer readings of the clock
        tune_variant("close unpaused" "(do {)\n        LW_RELAX[(][)];(\n        if [(]attempt)" "\\1\\2" wait/awake.c)
        set(often "static __thread unsigned looks")
        tune_variant("close untimed" "(spin->now = lw_now[(][)];)(\n    } while)" "${often};\n        if (++looks % 8 == 0)\n            \\1\\2" wait/awake.c)
    elseif(DEFINED tune_${subject})
        tune_define(${subject} ${tune_${subject}})
    else()
        message(FATAL_ERROR "TUNE_ONLY: no '${subject}'")
    endif()
endforeach()

set(arguments "")
foreach(plugin ${tune_plugins})
    list(APPEND arguments --plugin "$<TARGET_FILE:${plugin}>")
endforeach()
add_custom_target(tune
    COMMAND lockword-bench --only contended --peers lockword --threads 2,4,16 --section 0,180,15000 --rounds 7 --seconds 0.05 ${arguments}
    COMMAND lockword-bench --only contended --peers lockword --threads 16 --section 0,180,15000 --busy --rounds 5 --seconds 0.1 ${arguments}
    DEPENDS lockword-bench ${tune_plugins}
    USES_TERMINAL
    VERBATIM)
