# Headers, both libraries, a CMake package, a pkg-config file, and what Helgrind and DRD need not
# report.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lockword")

install(TARGETS lockword_static lockword_shared EXPORT lockword
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/lockword" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    # the npm package has the one, with what it declares; lease.cmake installs the other
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN emscripten.h EXCLUDE
    PATTERN lease.h EXCLUDE)
install(EXPORT lockword NAMESPACE lockword:: FILE lockword-targets.cmake
    DESTINATION "${package_dir}")

# SameMinorVersion until 1.0, as with the library's SOVERSION.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/lockword-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_SOURCE_DIR}/cmake/lockword-config.cmake"
    "${PROJECT_BINARY_DIR}/lockword-config-version.cmake"
    DESTINATION "${package_dir}")

# The prefix is found from where the file lies, so that `cmake --install --prefix` and a moved tree
# work, too.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX
    BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE pc_prefix)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "\${prefix}"
    OUTPUT_VARIABLE pc_include)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE pc_lib)
if(lockword_system STREQUAL "posix")
    set(pc_portable " -DLOCKWORD_PORTABLE")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/lockword.pc.in" "${PROJECT_BINARY_DIR}/lockword.pc"
    @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/lockword.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/cmake/lockword.supp"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/lockword")
