# What this repository's own tests need. CTest runs every program there is; docs/building.md lists
# the labels.

# Development tools run on the Node that test/runtimes/package.json pins, whatever the machine has.
if(CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(node_arch arm64)
else()
    set(node_arch x64)
endif()
set(node "${PROJECT_SOURCE_DIR}/test/runtimes/node_modules/node24-${node_arch}/bin/node")

# add_suite(NAME COMMAND [variable=value...] command... LABELS label... [NEEDS name...] [BUSY]
# [CONFIGURATIONS name]): a test that is no program of this build. It runs in the repository's root,
# where `node` and npm's tools are the pinned ones. One that is BUSY uses all CPUs. Where a program
# or a file (an absolute path) that it needs is not installed, it is disabled, and test/summary.js
# says so. One that has a configuration runs only in that.
function(add_suite name)
    cmake_parse_arguments(PARSE_ARGV 1 suite "BUSY" "" "COMMAND;LABELS;CONFIGURATIONS;NEEDS")
    add_test(NAME ${name} COMMAND env ${suite_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        CONFIGURATIONS ${suite_CONFIGURATIONS})
    cmake_path(GET node PARENT_PATH node_folder)
    set(first_in_path "${PROJECT_SOURCE_DIR}/node_modules/.bin" "${node_folder}")
    list(TRANSFORM first_in_path PREPEND "PATH=path_list_prepend:")
    set_tests_properties(${name} PROPERTIES
        LABELS "${suite_LABELS}"
        ENVIRONMENT_MODIFICATION "${first_in_path}")
    if(suite_BUSY)
        cmake_host_system_information(RESULT cpus QUERY NUMBER_OF_LOGICAL_CORES)
        set_tests_properties(${name} PROPERTIES PROCESSORS ${cpus})
    endif()
    foreach(needed IN LISTS suite_NEEDS)
        unset(suite_PROGRAM)
        find_program(suite_PROGRAM ${needed} NO_CACHE)
        if(NOT suite_PROGRAM AND NOT (IS_ABSOLUTE "${needed}" AND EXISTS "${needed}"))
            set_tests_properties(${name} PROPERTIES DISABLED TRUE)
        endif()
    endforeach()
endfunction()

# The programs that `make check` runs: it builds nothing else.
add_custom_target(check)

# add_program_test(TARGET NAME LABELS label...): a program of this build, as a test.
function(add_program_test target name)
    cmake_parse_arguments(PARSE_ARGV 2 program "" "" "LABELS")
    add_test(NAME ${name} COMMAND ${target} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(${name} PROPERTIES LABELS "${program_LABELS}")
    if("check" IN_LIST program_LABELS)
        add_dependencies(check ${target})
    endif()
endfunction()
