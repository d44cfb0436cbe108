# `cmake --build BUILD --target tune`: lockword with other values of its constants, side by side. Each variant is the whole library
# again, from a copy of its sources with one constant replaced, in a plug-in of lockword-bench.

set(tune_plugins "")

# The name to print, then a regular expression, its replacement and the file it must match in, relative to src.
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

foreach(waits 1 2 4 16 32)
    tune_variant("waits ${waits}" "(#define MAX_FAILED_WAITS) [0-9]+u" "\\1 ${waits}u" core/mutex.c)
endforeach()
foreach(pauses 0 1 2 7)
    tune_variant("pauses ${pauses}" "([.]pauses) = [0-9]+" "\\1 = ${pauses}" wait/linux.c)
endforeach()
foreach(slice 100 200 1000 2000)
    tune_variant("slice ${slice} us" "([.]slice_ns) = [0-9]+" "\\1 = ${slice}000" wait/linux.c)
endforeach()

set(arguments "")
foreach(plugin ${tune_plugins})
    list(APPEND arguments --plugin "$<TARGET_FILE:${plugin}>")
endforeach()
add_custom_target(tune
    COMMAND lockword-bench --only contended --peers lockword --threads 2,4,16 --section 0,180,15000 --rounds 7 --seconds 0.15 ${arguments}
        --json "${CMAKE_BINARY_DIR}/tune.json"
    DEPENDS lockword-bench ${tune_plugins}
    USES_TERMINAL
    VERBATIM)
