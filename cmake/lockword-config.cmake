# find_package(lockword): lockword::static, lockword::shared, and lockword::lockword, which is one
# of them.

include("${CMAKE_CURRENT_LIST_DIR}/lockword-targets.cmake")

if(NOT TARGET lockword::lockword)
    if(BUILD_SHARED_LIBS AND TARGET lockword::shared)
        add_library(lockword::lockword ALIAS lockword::shared)
    else()
        add_library(lockword::lockword ALIAS lockword::static)
    endif()
endif()
