# `cmake --build BUILD --target tune-family`: the same for the constants of what is not a mutex,
# where several threads do something together.

set(tune_plugins "")

foreach(tries 0 2 4 16)
    tune_variant("tries ${tries}" "(#define TRIES) [0-9]+" "\\1 ${tries}" wait/awake.c)
endforeach()
foreach(ns 0 200 500 2000 4000)
    tune_variant("back off ${ns} ns" "(#define BACKOFF_NS) [0-9]+" "\\1 ${ns}" wait/awake.c)
endforeach()
tune_variant("asleep factor 0" "(#define ASLEEP_FACTOR) [0-9]+" "\\1 0" wait/awake.c)

set(arguments "")
foreach(plugin ${tune_plugins})
    list(APPEND arguments --plugin "$<TARGET_FILE:${plugin}>")
endforeach()
add_custom_target(tune-family
    COMMAND lockword-bench --only family --peers "lockword,raw atomics" ${arguments} --json "${CMAKE_BINARY_DIR}/tune-family.json"
    DEPENDS lockword-bench ${tune_plugins}
    USES_TERMINAL
    VERBATIM)
