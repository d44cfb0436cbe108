# liblockword-lease: locks on an etcd cluster. It needs libcurl and libcjson; without them it is
# left out. Only static, so that no shared library of lockword needs them.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
    pkg_check_modules(lockword_curl QUIET IMPORTED_TARGET libcurl>=7.68 libcjson)
endif()
if(NOT lockword_curl_FOUND OR NOT lockword_system STREQUAL "linux")
    return()
endif()

file(GLOB lease_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/lease/*.c")
add_library(lockword_lease STATIC ${lease_sources})
add_library(lockword::lease ALIAS lockword_lease)
target_include_directories(lockword_lease PUBLIC "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(lockword_lease PUBLIC PkgConfig::lockword_curl)
set_target_properties(lockword_lease PROPERTIES
    OUTPUT_NAME lockword-lease
    POSITION_INDEPENDENT_CODE ON
    C_STANDARD 11
    C_STANDARD_REQUIRED ON
    C_EXTENSIONS OFF)

install(TARGETS lockword_lease)
install(FILES "${PROJECT_SOURCE_DIR}/include/lockword/lease.h"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lockword")
configure_file("${PROJECT_SOURCE_DIR}/cmake/lockword-lease.pc.in"
    "${PROJECT_BINARY_DIR}/lockword-lease.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/lockword-lease.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
