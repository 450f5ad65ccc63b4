# Tests of the repository itself, beside those of the layers in tests/.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

add_test(NAME repository.layers COMMAND ${Python3_EXECUTABLE} tools/check_layers.py
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
add_test(NAME repository.layers_checker COMMAND ${Python3_EXECUTABLE} tests/tools/check_layers_test.py
         WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
set_tests_properties(repository.layers repository.layers_checker PROPERTIES LABELS repository)

# Installs, moves the tree, builds README's example against it with find_package and with pkg-config,
# and draws. A sanitized library would need sanitized consumers.
if(PERFUSE_BUILD_APPS AND PERFUSE_SANITIZER STREQUAL "")
  add_test(NAME repository.consumer COMMAND ${PROJECT_SOURCE_DIR}/tests/consumer/run ${PROJECT_BINARY_DIR})
  set_tests_properties(repository.consumer PROPERTIES LABELS repository TIMEOUT 300)
endif()
