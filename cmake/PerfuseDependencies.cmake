# Everything from Debian but oneDNN, which tools/setup fetches as a wheel under build/deps.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(Boost 1.74 REQUIRED)  # headers: the beta distribution's quantiles
find_package(ICU REQUIRED COMPONENTS uc i18n)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)  # SHA-256
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)

# tools/setup fetches oneDNN only where the system has none that fits, so what it fetched comes first.
find_package(dnnl 3.2 CONFIG QUIET HINTS ${PROJECT_SOURCE_DIR}/build/deps/onednn)
if(NOT dnnl_FOUND)
  message(FATAL_ERROR "oneDNN 3.2 or newer was not found: run tools/setup, "
                      "which puts it under build/deps/onednn, or set dnnl_DIR")
endif()
if(NOT DNNL_CPU_THREADING_RUNTIME STREQUAL "OMP")
  message(FATAL_ERROR "oneDNN in ${dnnl_DIR} runs its threads on ${DNNL_CPU_THREADING_RUNTIME}, expected OMP, whose "
                      "pool perfuse shares: run tools/setup and set dnnl_DIR to build/deps/onednn/lib/cmake/dnnl")
endif()

if(PERFUSE_BUILD_APPS)
  find_package(CLI11 REQUIRED)
endif()
if(PERFUSE_BUILD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(PERFUSE_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
