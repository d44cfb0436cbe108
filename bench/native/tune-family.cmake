# `cmake --build BUILD --target tune-family`: the same for the constants of what is not a mutex, where several threads do something together.

set(tune_plugins "")

foreach(looks 0 2 4 16)
    tune_variant("looks ${looks}" "([.]looks) = [0-9]+" "\\1 = ${looks}" wait/linux.c)
endforeach()
foreach(ns 0 200 500 2000 4000)
    tune_variant("stand back ${ns} ns" "([.]stand_back_ns) = [0-9]+" "\\1 = ${ns}" wait/linux.c)
endforeach()
tune_variant("quiet pauses 0" "(#define QUIET_PAUSES) [0-9]+" "\\1 0" blocking.c)

set(arguments "")
foreach(plugin ${tune_plugins})
    list(APPEND arguments --plugin "$<TARGET_FILE:${plugin}>")
endforeach()
add_custom_target(tune-family
    COMMAND lockword-bench --only family --peers "lockword,raw atomics" ${arguments} --json "${CMAKE_BINARY_DIR}/tune-family.json"
    DEPENDS lockword-bench ${tune_plugins}
    USES_TERMINAL
    VERBATIM)
