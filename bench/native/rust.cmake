# Rust's peers, from crates that are on this machine already: Debian's librust-parking-lot-dev puts
# them into a directory that cargo reads like a registry. Built in release builds alone, where there
# is something to measure.

find_program(CARGO cargo)
set(crates /usr/share/cargo/registry)
file(GLOB parking_lot "${crates}/parking_lot-0.12*")
set(cargo_build "${CARGO}" build --quiet --release --offline
    --config "source.crates-io.replace-with='debian'" --config "source.debian.directory='${crates}'")

if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    list(APPEND bench_missing "Rust's mutexes (not a Release build)")
elseif(NOT CARGO)
    list(APPEND bench_missing "Rust's mutexes (apt-get install cargo librust-parking-lot-dev)")
else()
    # A copy, since cargo writes a lock file beside the manifest, and which versions there are is up
    # to the machine.
    set(rust "${CMAKE_CURRENT_BINARY_DIR}/rust")
    foreach(file Cargo.toml src/lib.rs src/family.rs src/asleep.rs)
        configure_file(rust/${file} "${rust}/${file}" COPYONLY)
    endforeach()
    set(features "")
    set(rust_peers rust_std)
    if(parking_lot)
        set(features --features parking_lot)
        list(APPEND rust_peers parking_lot)
    else()
        list(APPEND bench_missing "parking_lot (apt-get install librust-parking-lot-dev)")
    endif()
    set(library "${rust}/target/release/liblockword_bench_peers.a")
    add_custom_command(
        OUTPUT "${library}"
        COMMAND ${cargo_build} ${features}
        WORKING_DIRECTORY "${rust}"
        DEPENDS "${rust}/Cargo.toml" "${rust}/src/lib.rs" "${rust}/src/family.rs" "${rust}/src/asleep.rs"
        COMMENT "Building the benchmark's Rust peers"
        VERBATIM)
    add_custom_target(lockword-bench-rust DEPENDS "${library}")
    add_dependencies(lockword-bench lockword-bench-rust)
    target_link_libraries(lockword-bench PRIVATE "${library}")
    foreach(peer ${rust_peers})
        bench_add(bench_${peer})
        bench_add_family(bench_family_${peer})
        bench_add_asleep(bench_asleep_${peer})
    endforeach()
endif()
