# Generates C++ from the .proto files of perfuse/hlo. The generated code does not follow this project's warnings, so it
# is a library of its own, whose headers count as the system's.
find_package(Protobuf REQUIRED)
set(PERFUSE_GENERATED ${CMAKE_BINARY_DIR}/generated)
foreach(name hlo compile_options)
  set(proto perfuse/hlo/${name}.proto)
  set(output ${PERFUSE_GENERATED}/perfuse/hlo/${name}.pb)
  add_custom_command(
    OUTPUT ${output}.cc ${output}.h ${output}.descriptor
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PERFUSE_GENERATED}
    COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR} --cpp_out=${PERFUSE_GENERATED}
            --descriptor_set_out=${output}.descriptor ${proto}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DEPENDS ${PROJECT_SOURCE_DIR}/${proto}
    VERBATIM)
  list(APPEND generated_sources ${output}.cc)
endforeach()
add_library(perfuse_hlo_proto OBJECT ${generated_sources})
target_include_directories(perfuse_hlo_proto SYSTEM PUBLIC ${PERFUSE_GENERATED})
target_link_libraries(perfuse_hlo_proto PUBLIC protobuf::libprotobuf)
