# find_package(lockword): lockword::static, lockword::shared, and lockword::lockword, which is one
# of them.

if(NOT WIN32)
    include(CMakeFindDependencyMacro)
    find_dependency(Threads)
endif()
include("${CMAKE_CURRENT_LIST_DIR}/lockword-targets.cmake")

if(NOT TARGET lockword::lockword)
    if(BUILD_SHARED_LIBS AND TARGET lockword::shared)
        add_library(lockword::lockword ALIAS lockword::shared)
    else()
        add_library(lockword::lockword ALIAS lockword::static)
    endif()
endif()

foreach(component IN LISTS lockword_FIND_COMPONENTS)
    if(TARGET lockword::${component})
        set(lockword_${component}_FOUND TRUE)
    elseif(lockword_FIND_REQUIRED_${component})
        set(lockword_FOUND FALSE)
        set(lockword_NOT_FOUND_MESSAGE "it has no component ${component}: static and shared are all")
    endif()
endforeach()
