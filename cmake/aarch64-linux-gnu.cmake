# Debian's cross compiler for 64-bit ARM (g++-aarch64-linux-gnu). Used by tools/test_arm.sh.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
